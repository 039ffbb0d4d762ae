from __future__ import annotations

from agent.domain import Example, Report, Verdict
from agent.nodes.diagnose import shown
from agent.state import Suite


def test_how_a_held_out_test_fails_is_not_told_to_whoever_repairs() -> None:
    one, held = (
        Example(name=name, origin=origin, call="f(1)", expected="2")
        for name, origin in (("one", "user"), ("held", "held-out"))
    )
    first, second = (
        Verdict(
            name=test.name, test=test.name, origin=test.origin, status="failed",
            integrity="outside", message="expected 2",
        )
        for test in (one, held)
    )
    report = Report(solution="s", verdicts=(first, second))
    assert shown(report, Suite(visible=(one,), held_out=(held,))).verdicts == (first,)
    assert shown(report, Suite(visible=(one, held))) == report
