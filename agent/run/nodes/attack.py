"""Attack: adversarial calls aimed at this program. They are evidence and never veto."""

from __future__ import annotations

from agent.core.domain import Property, Solution, TestCase
from agent.core.state import State, Suite
from agent.core.trees import is_call, plain
from agent.healing.context import Context
from agent.run.nodes.specify import announce
from agent.thinking.roles import QA_ADVERSARY, ask_if_it_answers
from agent.thinking.wording import tests


async def attack(state: State, ctx: Context) -> State:
    """Adds calls that must return at all; nobody knows yet what they should return."""
    # A project's own suite decides, and its pytest knows no calls beyond that.
    if not ctx.settings.enable_adversarial_tests or ctx.task.project is not None:
        return {}
    suite = ctx.store.get(state["suite_id"], Suite)
    solution = ctx.store.get(state["solution_id"], Solution)
    answer = await ask_if_it_answers(
        ctx,
        QA_ADVERSARY,
        {
            "code": solution.text,
            "task": ctx.task.text,
            "tests": tests(suite.visible),
        },
        {"test_cases": suite.visible},
        free=ctx.free(state),
        without="No adversarial calls are added.",
    )
    if answer is None:
        return {}
    names = {test.name for test in suite.all}
    calls = dict.fromkeys(plain(one.call) for one in answer.calls if is_call(one.call))
    fresh: tuple[TestCase, ...] = tuple(
        Property(name=f"{call} returns", origin="adversarial", call=call, predicate="True")
        for call in calls if f"{call} returns" not in names
    )
    if not fresh:
        return {}
    announce(ctx, fresh)
    grown = suite.model_copy(update={"visible": (*suite.visible, *fresh)})
    return {"suite_id": ctx.store.put(grown)}
