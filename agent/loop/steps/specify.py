"""The specify, attack and branch steps: determine the tests before any repair, and hold one out."""

from __future__ import annotations

import ast
import asyncio
import builtins
import re
from collections import Counter
from collections.abc import Collection, Iterable, Sequence

from agent.core.domain import (
    MIN_TESTS_TO_HOLD_OUT,
    TRUSTED_ORIGINS,
    Example,
    Property,
    Raises,
    Report,
    Solution,
    TestCase,
    counted,
)
from agent.core.events import CodeWritten, Judged, Notice, TestInfo, TestsFrozen
from agent.core.state import State, Suite, is_repaired
from agent.core.trees import expression, is_call, is_literal, normalized, parse_or_empty
from agent.iteration.context import Context
from agent.propose import wording
from agent.propose.roles import QA_ADVERSARY, SPEC_TESTER, ask_or_none
from agent.report.words import USE_A_MODEL
from agent.target.parsing import BUILTIN_NAMES
from agent.target.test_analysis.calls import calls_made, makes_new_calls
from agent.target.test_analysis.claims import specifies_value
from agent.target.test_analysis.held_out import contains_test, file_without_test

RAISED = re.compile(r"raises (\w+)")
_FORBIDDEN_BUILTINS = {
    "id", "hash", "object", "input", "open", "print", "globals", "locals", "vars", "dir", "exec",
    "eval", "compile", "exit", "quit", "breakpoint", "help", "memoryview", "__import__",
}
"""Builtins that no derived test may call."""
MAX_SPLITS = 12
"""The maximum number of test files that are split to hold a test out."""


def log_added_tests(ctx: Context, tests: Sequence[TestCase]) -> None:
    """Logs tests that are added to the suite or held out of it."""
    if tests:
        ctx.emit(TestsFrozen(tests=tuple(
            TestInfo(name=test.name, origin=test.origin, code=test.code) for test in tests
        )))


async def specify(state: State, ctx: Context) -> State:
    """Adds examples derived from the task's text, then holds one trusted test out."""
    suite = ctx.store.get(state["suite_id"], Suite)
    fresh = await _derive_tests(ctx, suite.visible, rules_only=ctx.forbids_models(state))
    log_added_tests(ctx, fresh)
    visible = (*suite.visible, *fresh)
    grown = suite.model_copy(update={"visible": visible})
    if ctx.settings.hold_out and "report_id" in state:
        grown = await asyncio.to_thread(
            hold_out, grown, ctx.store.get(state["report_id"], Report),
            ctx.store.get(state["solution_id"], Solution), ctx.answered_tests,
        )
    elif ctx.settings.hold_out and ctx.task.solution is None:
        grown = hold_out_derived(grown)
    log_added_tests(ctx, grown.held_out)
    return {"suite_id": ctx.store.put(grown)}


def hold_out_derived(suite: Suite) -> Suite:
    """Holds a derived test out if enough remain; it proves nothing above E0."""
    derived = [test for test in suite.visible if test.origin == "spec"]
    if len(derived) < MIN_TESTS_TO_HOLD_OUT:
        return suite
    held = derived[-1]
    return suite.model_copy(update={
        "visible": tuple(test for test in suite.visible if test is not held), "held_out": (held,),
    })


async def _derive_tests(
    ctx: Context, known: tuple[TestCase, ...], *, rules_only: bool
) -> tuple[TestCase, ...]:
    if not ctx.task.text or not ctx.settings.enable_spec_tests:
        return ()
    answer = await ask_or_none(
        ctx, SPEC_TESTER, {"task": ctx.task.text}, rules_only=rules_only,
        consequence="The run continues with the existing tests.",
    )
    examples = answer.examples if answer is not None else ()
    if not examples and not known and ctx.plan.of(SPEC_TESTER.name) is None:
        ctx.emit(Notice(level="warning", text=(
            "The task in words was not used: without a model only examples in it are read, such as "
            f"`add(2, 3) == 5`. Add a test, or {USE_A_MODEL}."
        )))
    derived = [derived_test(one.call, one.expected, ctx.task.text) for one in examples]
    tests = [test for test in derived if test is not None]
    usable = [
        one for one in tests if all(one.code == two.code for two in tests if one.call == two.call)
    ]
    if len(usable) < len(examples):
        ctx.emit(Notice(level="info", text=(
            f"{len(examples) - len(usable)} of {counted(len(examples), 'example')} derived from "
            "the task cannot be used: contradictory, or not a plain call with a value."
        )))
    fresh = {test.code: test for test in usable if not is_tested(test.call, known)}
    return tuple(test for test in fresh.values() if test.code not in {one.code for one in known})


def is_tested(call: str, tests: Iterable[TestCase]) -> bool:
    """Whether a trusted test makes a call already."""
    pattern = re.compile(rf"(?<!\w){re.escape(call)}")
    return any(
        pattern.search(f"{test.code}\n{ast.unparse(parse_or_empty(test.code))}")
        for test in tests if test.origin in TRUSTED_ORIGINS
    )


def derived_test(call: str, expected: str, words: str) -> Example | Raises | None:
    """Returns a test derived from a task's text; `None` if the expected value is not a literal or
    the text does not name what is called."""
    if not uses_names_of_text(call, words):
        return None
    call = normalized(call)
    raised = RAISED.fullmatch(expected.strip())
    if raised is not None:
        exception = raised.group(1)
        if exception not in BUILTIN_NAMES:
            return None
        return Raises(
            name=f"{call} raises {exception}", origin="spec", call=call, exception=exception
        )
    value = expression(expected)
    if value is None or not is_literal(value):
        return None
    expected = normalized(expected)
    return Example(name=f"{call} == {expected}", origin="spec", call=call, expected=expected)


def uses_names_of_text(code: str, words: str) -> bool:
    """Whether an expression uses a name of the text, and only such names and safe builtins."""
    call = expression(code)
    if call is None:
        return False
    named = {*re.findall(r"\w+", words)}
    bound = {
        node.id if isinstance(node, ast.Name) else node.arg for node in ast.walk(call)
        if isinstance(node, ast.arg)
        or (isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store))
    }
    used = {node.id for node in ast.walk(call) if isinstance(node, ast.Name)}
    own = (used & named) - {*vars(builtins)} - bound
    safe = {*vars(builtins)} - _FORBIDDEN_BUILTINS
    return bool(own) and used <= (named - _FORBIDDEN_BUILTINS) | safe | bound


def hold_out(
    suite: Suite, report: Report, program: Solution, answered: Collection[str] = ()
) -> Suite:
    """Holds a trusted test out, preferably the last failing one if several fail.

    The test must specify a value and make a call that no other test makes. One failing test stays
    visible. Flaky, vacuous and `answered` tests are not held out."""
    if suite.order_dependent:
        return suite.model_copy(update={"not_held_out": "together"})
    names = {verdict.test for verdict in report.failing} - {*suite.flaky}
    evidence_names = {verdict.test for verdict in report.verdicts if verdict.is_evidence}
    trusted = [
        test
        for test in suite.visible
        if test.origin in TRUSTED_ORIGINS and test.name in (names | evidence_names) - {*suite.flaky}
    ]
    failing = [test for test in trusted if test.name in names]
    if len(trusted) < MIN_TESTS_TO_HOLD_OUT or not failing:
        return suite
    if not any(specifies_value(test) for test in suite.visible if test.name in names):
        return suite.model_copy(update={"not_held_out": "no value"})
    passing = [test for test in trusted if test.name not in names]
    candidates = (*reversed(failing if len(failing) > 1 else []), *reversed(passing))
    chosen = _choose_held_out(
        [one for one in candidates if one.name not in answered], suite, program
    )
    if chosen is None:
        return suite.model_copy(update={"not_held_out": "known"})
    test, others = chosen
    return suite.model_copy(update={
        "visible": others,
        "held_out": (test.model_copy(update={"origin": "held-out"}),),
        "held_out_passed": test.name not in names,
    })


def _choose_held_out(
    candidates: Collection[TestCase], suite: Suite, program: Solution
) -> tuple[TestCase, tuple[TestCase, ...]] | None:
    """The first test with a value and a call of its own, and the others without its text."""
    call_counts = Counter(call for test in suite.visible for call in calls_made(test, program))
    splits_left = MAX_SPLITS
    for test in candidates:
        if not specifies_value(test):
            continue
        others = tuple(one for one in suite.visible if one is not test)
        if not _in_file(test):
            if any(call_counts[call] == 1 for call in calls_made(test, program)):
                return test, others
        elif splits_left:
            splits_left -= 1
            without_text = _without_text(others, test, program)
            if without_text is not None and makes_new_calls(test, without_text, program):
                return test, without_text
    return None


def _without_text(
    others: Sequence[TestCase], test: TestCase, program: Solution
) -> tuple[TestCase, ...] | None:
    """The other tests without the test's text; `None` if the program's file contains it."""
    if test.kind != "script" or contains_test(test.code, test.node, program.text):
        return None
    rest = file_without_test(test.code, test.node)
    return None if rest is None else tuple(
        one.model_copy(update={"code": rest}) if _in_file(one) and one.code == test.code else one
        for one in others
    )


def _in_file(test: TestCase) -> bool:
    return test.kind == "script" and bool(test.node)


async def branch(state: State, ctx: Context) -> State:
    """Logs a fork's tests, first program and start program."""
    log_added_tests(ctx, ctx.store.get(state["suite_id"], Suite).all)
    ctx.emit(CodeWritten(iteration=0, solution=ctx.store.get(state["base_id"], Solution)))
    if "report_id" in state:
        ctx.emit(Judged(iteration=0, report=ctx.store.get(state["report_id"], Report)))
    if is_repaired(state):
        ctx.emit(CodeWritten(iteration=0, solution=ctx.store.get(state["solution_id"], Solution)))
    return {}


async def attack(state: State, ctx: Context) -> State:
    """Adds adversarial calls that must return; their expected values are unknown."""
    # A project's own suite decides, and its pytest cannot run further calls.
    if not ctx.settings.enable_adversarial_tests or ctx.task.project is not None:
        return {}
    suite = ctx.store.get(state["suite_id"], Suite)
    solution = ctx.store.get(state["solution_id"], Solution)
    answer = await ask_or_none(
        ctx,
        QA_ADVERSARY,
        {
            "code": solution.text, "task": ctx.task.text,
            "tests": wording.tests(suite.visible),
        },
        {"test_cases": suite.visible},
        rules_only=ctx.forbids_models(state),
        consequence="No adversarial calls are added.",
    )
    if answer is None:
        return {}
    names = {test.name for test in suite.all}
    calls = dict.fromkeys(normalized(one.call) for one in answer.calls if is_call(one.call))
    fresh: tuple[TestCase, ...] = tuple(
        Property(name=f"{call} returns", origin="adversarial", call=call, predicate="True")
        for call in calls if f"{call} returns" not in names
    )
    if not fresh:
        return {}
    log_added_tests(ctx, fresh)
    grown = suite.model_copy(update={"visible": (*suite.visible, *fresh)})
    return {"suite_id": ctx.store.put(grown)}
