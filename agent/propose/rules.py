"""Rules that answer each role without a model, from the results of the run.

Only the generator's rule depends on known tasks: it returns the scripted draft of a demo task, and
raises `NoModel` for any other task.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence

from agent.core.domain import Diagnosis, Solution
from agent.core.settings import GENERATOR
from agent.core.trees import nodes_or_empty, parse_or_empty
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
"""The maximum characters of an expression, as for a model."""
WHY = "a test's own call with other arguments"

Rule = Callable[[Mapping[str, object]], str]


def rules(drafts: Mapping[str, str]) -> Rules:
    """The rules by role, with the scripted drafts for the generator."""
    table: dict[str, Rule] = {
        GENERATOR: lambda variables: program(drafts, variables),
        SPEC_TESTER.name: spec_tests,
        QA_ADVERSARY.name: adversarial_calls,
        DEBUGGER.name: diagnosis,
        CRITIC.name: critique,
        MEMORY_SUMMARISER.name: lesson,
    }
    return table


def program(drafts: Mapping[str, str], variables: Mapping[str, object]) -> str:
    """The scripted first draft of a task; raises `NoModel` for a repair."""
    if "code" in variables:
        raise NoModel("Rewriting a program needs a model, and none is configured.")
    return draft(drafts, str(variables["task"]))


def draft(drafts: Mapping[str, str], task: str) -> str:
    """The fenced first draft of a demo task; raises `NoModel` for any other task."""
    normalized = " ".join(task.split())
    for words, code in drafts.items():
        if " ".join(words.split()) == normalized:
            return f"```python\n{code.rstrip()}\n```\n"
    raise NoModel(
        "Writing a program from a task text needs a model, and none is configured. Repairing "
        "existing code needs none."
    )


def spec_tests(variables: Mapping[str, object]) -> str:
    examples = [
        SpecTest(call=test.call, expected=test.expected)
        for test in tests_from_words(str(variables["task"]))
        if test.kind == "example" and max(len(test.call), len(test.expected)) <= LONGEST
    ]
    return SpecTests(examples=tuple(examples[:MAX_CALLS])).model_dump_json()


def diagnosis(variables: Mapping[str, object]) -> str:
    found = variables["found"]
    assert isinstance(found, Diagnosis)
    return RootCause.of(found).model_dump_json()


def critique(variables: Mapping[str, object]) -> str:
    """Approves a repair unless it changes a test or removes a deliberate exit."""
    before, after = variables["before_solution"], variables["after_solution"]
    assert isinstance(before, Solution) and isinstance(after, Solution)
    changed = after.changed_from(before)
    if any(_tests_in(one.before) != _tests_in(one.after) for one in changed):
        return Critique(approve=False, note="the repair changes a test").model_dump_json()
    if variables["has_no_tests"] and any(
        _exits_in(one.after) < _exits_in(one.before) for one in changed
    ):
        note = "the repair removes a deliberate raise or exit"
        return Critique(approve=False, note=note).model_dump_json()
    note = "reviewed by rule: no test is changed and no deliberate exit is removed"
    return Critique(approve=True, note=note).model_dump_json()


def _tests_in(text: str) -> list[str]:
    lines = text.split("\n")
    return [lines[number - 1].strip() for number in sorted(protected_lines(text))]


def _exits_in(text: str) -> int:
    """The number of deliberate exits; 0 if the program does not parse."""
    nodes = nodes_or_empty(text)
    return sum(
        isinstance(node, ast.Raise)
        or (isinstance(node, ast.Call) and ast.unparse(node.func) in ("exit", "quit", "sys.exit"))
        for node in nodes
    )


def lesson(variables: Mapping[str, object]) -> str:
    cause = str(variables["cause"]).strip().rstrip(".")
    text = brief(f"{cause}; what helped: {variables['note']}", 600)
    return Summary.model_validate(
        {"text": text, "category": variables["category"]}
    ).model_dump_json()


def adversarial_calls(variables: Mapping[str, object]) -> str:
    """The tests' calls with other arguments: small values and values near the tests' own."""
    cases = variables["test_cases"]
    assert isinstance(cases, Sequence)
    names = [
        node.name for node in parse_or_empty(str(variables["code"])).body
        if isinstance(node, ast.FunctionDef) and not node.name.startswith(("_", "test"))
    ]
    found = probes(names, [case.code for case in cases], 2 * MAX_CALLS)
    calls = [AdversarialCall(call=call, why=WHY) for call in found if len(call) <= LONGEST]
    return AdversarialCalls(calls=tuple(calls[:MAX_CALLS])).model_dump_json()
