from __future__ import annotations

from agent.context import PROMPTS
from agent.domain import BlamedLine, Example, Report, Verdict
from agent.nodes.diagnose import shown, suspects
from agent.roles import DEBUGGER
from agent.state import Suite
from llm.prompts import load


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


def test_the_debugger_is_told_the_suspects_and_what_their_variables_held() -> None:
    prompt = load(PROMPTS, DEBUGGER.name)
    lines = (
        BlamedLine(line=3, suspicion=1, text="return a - b", values=(("a", "2"), ("b", "[3]"))),
        BlamedLine(line=2, suspicion=0.5, text="a += 1"),
    )

    told = prompt.render({"code": "", "failures": "", "suspects": suspects(lines)})

    assert "line 3 (1.00): return a - b\n    a = 2\n    b = [3]\nline 2 (0.50): a += 1" in told
