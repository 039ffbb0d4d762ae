"""What answers each role where there is no model: rules over the real run.

None of them knows a task or a program beforehand. The generator's rule is the one exception
by design: it looks a task up in the scripted drafts it was given, and says that a model is
needed for any other.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence

from agent.core.domain import Diagnosis, Solution
from agent.core.settings import GENERATOR
from agent.core.trees import readable, readable_nodes
from agent.propose.roles import (
    CRITIC,
    DEBUGGER,
    MAX_CALLS,
    MEMORY_SUMMARISER,
    QA_ADVERSARY,
    SPEC_TESTER,
    AdversarialCall,
    AdversarialCalls,
    Critique,
    RootCause,
    SpecTest,
    SpecTests,
    Summary,
    brief,
)
from agent.search.variants.inputs import probes
from agent.target.discovery.words import tests_from_words
from agent.target.program import protected_lines
from llm import NoModel, Rules

LONGEST = 200
"""Characters of an expression that a rule writes down, as a model may."""
WHY = "a test's own call with other arguments"

Rule = Callable[[Mapping[str, object]], str]


def rules(drafts: Mapping[str, str]) -> Rules:
    """The rules by role, with the scripted drafts the generator may look up."""
    table: dict[str, Rule] = {
        GENERATOR: lambda variables: written(drafts, variables),
        SPEC_TESTER.name: spec_tests,
        QA_ADVERSARY.name: adversarial_calls,
        DEBUGGER.name: diagnosis,
        CRITIC.name: critique,
        MEMORY_SUMMARISER.name: lesson,
    }
    return table


def written(drafts: Mapping[str, str], variables: Mapping[str, object]) -> str:
    """The scripted first draft of a task; a repair in words has no rule and raises `NoModel`."""
    if "code" in variables:
        raise NoModel("Rewriting a program needs a model, and none is configured.")
    return draft(drafts, str(variables["task"]))


def draft(drafts: Mapping[str, str], task: str) -> str:
    """The scripted first draft of a known demo task, fenced; raises `NoModel` for any other."""
    wanted = " ".join(task.split())
    for words, code in drafts.items():
        if " ".join(words.split()) == wanted:
            return f"```python\n{code.rstrip()}\n```\n"
    raise NoModel(
        "Writing code from words needs a model, and none is configured. Healing code you bring "
        "needs none."
    )


def spec_tests(variables: Mapping[str, object]) -> str:
    """Examples that stand in the task's own words."""
    examples = [
        SpecTest(call=test.call, expected=test.expected)
        for test in tests_from_words(str(variables["task"]))
        if test.kind == "example" and max(len(test.call), len(test.expected)) <= LONGEST
    ]
    return SpecTests(examples=tuple(examples[:MAX_CALLS])).model_dump_json()


def diagnosis(variables: Mapping[str, object]) -> str:
    """What was already found from the traceback and the localisation."""
    found = variables["found"]
    assert isinstance(found, Diagnosis)
    return RootCause.of(found).model_dump_json()


def critique(variables: Mapping[str, object]) -> str:
    """Approves a repair unless it touches a test or silences a deliberate end."""
    before, after = variables["before_solution"], variables["after_solution"]
    assert isinstance(before, Solution) and isinstance(after, Solution)
    changed = after.changed_from(before)
    if any(_tests_in(one.before) != _tests_in(one.after) for one in changed):
        return Critique(approve=False, note="the repair changes a test").model_dump_json()
    if variables["crash_only"] and any(
        _ends_in(one.after) < _ends_in(one.before) for one in changed
    ):
        note = "the repair removes a deliberate raise or exit"
        return Critique(approve=False, note=note).model_dump_json()
    note = "reviewed by rule: no test is touched and no deliberate exit is removed"
    return Critique(approve=True, note=note).model_dump_json()


def _tests_in(text: str) -> list[str]:
    lines = text.split("\n")
    return [lines[number - 1].strip() for number in sorted(protected_lines(text))]


def _ends_in(text: str) -> int:
    """How many deliberate ends the program has; 0 where it does not parse."""
    nodes = readable_nodes(text)
    return sum(
        isinstance(node, ast.Raise)
        or (isinstance(node, ast.Call) and ast.unparse(node.func) in ("exit", "quit", "sys.exit"))
        for node in nodes
    )


def lesson(variables: Mapping[str, object]) -> str:
    """What was wrong and what helped, in one sentence."""
    cause = str(variables["cause"]).strip().rstrip(".")
    text = brief(f"{cause}; what helped: {variables['note']}", 600)
    return Summary.model_validate(
        {"text": text, "category": variables["category"]}
    ).model_dump_json()


def adversarial_calls(variables: Mapping[str, object]) -> str:
    """Calls like the tests' own with other arguments: small ones, and some near those seen."""
    cases = variables["test_cases"]
    assert isinstance(cases, Sequence)
    names = [
        node.name for node in readable(str(variables["code"])).body
        if isinstance(node, ast.FunctionDef) and not node.name.startswith(("_", "test"))
    ]
    made = probes(names, [case.code for case in cases], 2 * MAX_CALLS)
    calls = [AdversarialCall(call=call, why=WHY) for call in made if len(call) <= LONGEST]
    return AdversarialCalls(calls=tuple(calls[:MAX_CALLS])).model_dump_json()
