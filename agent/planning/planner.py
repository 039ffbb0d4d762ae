"""Creates plans: by rules if they know every part of a task, otherwise by the planner's model."""

from __future__ import annotations

import asyncio
import json

from agent.core.events import Notice
from agent.iteration.context import Context
from agent.planning.plan import BadPlan, Plan, PlanStep
from agent.planning.rules import KNOWN, add_by_rule
from agent.propose.roles import PLANNER, PlannedSteps, ask
from agent.tools.workspace import Workspace
from llm import BadReply, LlmError, NoModel
from llm.errors import TimedOut

MAX_REPLANS = 2
CHECKS = frozenset({"run_tests"})
"""Tools that check whether the work is done: a replan may not omit them."""
MAX_FILES = 200
"""The maximum number of paths in the planner's prompt."""


class Planner:
    """Plans a task over the tools of a workspace, and replans the rest after a failure."""

    def __init__(self, task: str, workspace: Workspace, ctx: Context) -> None:
        self._task = task
        self._workspace = workspace
        self._ctx = ctx
        self._replans = MAX_REPLANS

    async def add_task_steps(self, plan: Plan) -> None:
        """Adds the steps of the task.

        Raises:
            NoModel: The rules do not know every part, and no model is configured.
            LlmError: The model gave no plan.
        """
        unknown = add_by_rule(plan, self._task)
        if not unknown:
            return
        if self._ctx.plan.of(PLANNER.name) is None:
            raise NoModel(
                f"Planning this needs a model, and none is configured: {'; '.join(unknown)}. "
                f"Without a model, use these, joined by `then`: {KNOWN}."
            )
        await self._add_models_steps(plan, "")

    async def replan(self, plan: Plan) -> bool:
        """Replaces failed and pending steps by steps of the model; returns whether it did."""
        if not self._replans or self._ctx.plan.of(PLANNER.name) is None:
            return False
        self._replans -= 1
        unfinished = [one for one in plan.steps if one.status in ("failed", "pending")]
        before = len(plan.steps)
        try:
            await self._add_models_steps(plan, plan.summary())
        except LlmError as error:
            self._ctx.emit(Notice(level="warning", role=PLANNER.name, text=(
                f"The planner gave no other plan: {error} The remaining steps are not done."
            )))
            return False
        for one in unfinished:
            if one.tool not in CHECKS or _is_checked_again(plan, one, before):
                plan.mark(one.number, "replaced", one.report)
        return True

    async def _add_models_steps(self, plan: Plan, done: str) -> None:
        """Adds the model's steps; raises `TimedOut` after the time budget of a run."""
        seconds = self._ctx.settings.budget_s
        try:
            async with asyncio.timeout(seconds) as clock:
                await self._ask_twice(plan, done)
        except TimeoutError as error:
            if not clock.expired():
                raise
            raise TimedOut(
                f"The planner gave no plan within {seconds:g} seconds. Choose a faster model, or "
                "set a higher HEAL_BUDGET_S."
            ) from error

    async def _ask_twice(self, plan: Plan, done: str) -> None:
        """Adds the model's steps. If they are invalid, the model gets the error and is asked once
        more."""
        for last in (False, True):
            steps = await ask(self._ctx, PLANNER, {
                "task": self._task, "tools": "\n".join(map(json.dumps, plan.tools.get_schemas())),
                "files": "\n".join(sorted(self._workspace.files)[:MAX_FILES]), "done": done,
            })
            try:
                _add_all(plan, steps)
                return
            except BadPlan as error:
                if last:
                    raise BadReply(f"The planner's steps cannot be run: {error}") from error
                done = f"{done}\nThese steps were refused: {error}".strip()


def _is_checked_again(plan: Plan, check: PlanStep, before: int) -> bool:
    """Whether a failed check is among the steps after `before`; if it is omitted, adds it there."""
    fresh = plan.steps[before:]
    if any((one.tool, one.arguments) == (check.tool, check.arguments) for one in fresh):
        return True
    try:
        plan.add_step(
            check.tool, check.arguments, needs=[one.number for one in fresh], what=check.what,
        )
    except BadPlan:  # the plan is full: the check stays failed
        return False
    return True


def _add_all(plan: Plan, steps: PlannedSteps) -> None:
    trial = Plan(plan.tools, plan.max_steps - len(plan.steps))
    for one in steps.steps:
        trial.add_step(one.tool, _arguments(one.arguments), needs=one.needs, what=one.what)
    before = len(plan.steps)
    for step in trial.steps:
        plan.add_step(
            step.tool, step.arguments, what=step.what,
            needs=[before + need for need in step.needs],
        )


def _arguments(text: str) -> dict[str, object]:
    try:
        found = json.loads(text or "{}")
    except ValueError as error:
        raise BadPlan(f"arguments {text[:80]!r} are not JSON: {error}") from error
    if not isinstance(found, dict):
        raise BadPlan(f"arguments {text[:80]!r} are not a JSON object")
    return found

