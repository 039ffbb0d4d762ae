from __future__ import annotations

import pytest

from agent.domain import Example, Integrity, ProofLevel, Report, Script, TestCase, Verdict
from agent.nodes.prove import proof_of
from agent.nodes.specify import hold_out
from agent.state import Suite


def example(name: str) -> Example:
    return Example(name=name, origin="user", call=f"f({name})", expected="0")


def verdict(name: str, passed: bool, **changes: object) -> Verdict:
    values: dict[str, object] = {
        "name": name, "test": name, "origin": "user", "integrity": "outside",
        "status": "passed" if passed else "failed",
    }
    return Verdict.model_validate(values | changes)


def report(**passed: bool) -> Report:
    verdicts = tuple(verdict(name, value) for name, value in passed.items())
    return Report(solution="s", verdicts=verdicts)


FOUR = tuple(example(name) for name in "abcd")


def names(tests: tuple[TestCase, ...]) -> list[str]:
    return [test.name for test in tests]


def test_a_failing_test_is_held_out_where_another_failing_one_stays() -> None:
    visible, held = hold_out(FOUR, report(a=True, b=False, c=False, d=True))
    assert (names(visible), names(held), held[0].origin) == (["a", "b", "d"], ["c"], "held-out")


def test_the_only_failing_test_stays_visible() -> None:
    visible, held = hold_out(FOUR, report(a=True, b=False, c=True, d=True))
    assert (names(visible), names(held)) == (["a", "b", "c"], ["d"])


def test_three_tests_are_all_shown() -> None:
    assert hold_out(FOUR[:3], report(a=False, b=False, c=False)) == (FOUR[:3], ())


def test_a_passing_program_holds_nothing_out() -> None:
    assert hold_out(FOUR, report(a=True, b=True, c=True, d=True)) == (FOUR, ())


def test_tests_of_a_file_are_not_held_out() -> None:
    nodes = tuple(
        Script(name=name, origin="user", code="...", node=f"test_{name}") for name in "abcd"
    )
    assert hold_out(nodes, report(a=False, b=False, c=False, d=False)) == (nodes, ())


HELD = Suite(visible=FOUR[:3], held_out=FOUR[3:])


@pytest.mark.parametrize(
    ("suite", "level"),
    [
        (Suite(visible=FOUR), "E1"),
        (HELD, "E2"),
        (Suite(visible=FOUR, consulted=True), "E1"),
    ],
)
def test_a_test_never_seen_lifts_the_proof(suite: Suite, level: ProofLevel) -> None:
    assert proof_of(report(a=True, b=True, c=True, d=True), suite).level == level


@pytest.mark.parametrize(
    ("integrity", "differs", "level"),
    [("observed", False, "E2"), ("in-process", False, "E1"), ("outside", True, "E1")],
)
def test_weak_verdicts_and_other_types_never_lift_the_proof(
    integrity: Integrity, differs: bool, level: ProofLevel
) -> None:
    seen = Report(
        solution="s",
        verdicts=(
            verdict("a", True, integrity=integrity, type_differs=differs),
            verdict("d", True, origin="held-out"),
        ),
    )
    assert proof_of(seen, HELD).level == level


def test_no_test_proves_nothing() -> None:
    assert proof_of(Report(solution="s"), Suite()).level == "E0"


def test_adversarial_verdicts_alone_prove_nothing() -> None:
    seen = Report(solution="s", verdicts=(verdict("a", True, origin="adversarial"),))
    assert proof_of(seen, Suite()).level == "E0"
