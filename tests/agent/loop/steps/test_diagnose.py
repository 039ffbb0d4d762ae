from __future__ import annotations

from agent.core.domain import Diagnosis, Example, Report, SuspiciousLine, Verdict
from agent.core.state import Suite
from agent.iteration.context import PROMPTS
from agent.loop.steps.diagnose import combined
from agent.propose.roles import DEBUGGER, RootCause
from agent.propose.rules import diagnosis
from agent.propose.wording import suspects
from llm.asking.prompts import load


def test_held_out_failures_are_kept_from_repair() -> None:
    one, held = (
        Example(name=name, origin=origin, call="f(1)", expected="2")
        for name, origin in (("one", "user"), ("held", "held-out"))
    )
    first, second = (
        Verdict(
            name=test.name, test=test.name, origin=test.origin, status="failed",
            integrity="isolated", message="expected 2",
        )
        for test in (one, held)
    )
    report = Report(solution="s", verdicts=(first, second))
    assert Suite(visible=(one,), held_out=(held,)).without_held_out(report).verdicts == (first,)
    assert Suite(visible=(one, held)).without_held_out(report) == report


def test_the_debugger_sees_suspects_and_values() -> None:
    lines = (
        SuspiciousLine(line=3, suspicion=1, text="return a - b", values=(("a", "2"), ("b", "[3]"))),
        SuspiciousLine(line=2, suspicion=0.5, text="a += 1"),
    )

    told = load(PROMPTS, DEBUGGER.name).render(
        DEBUGGER.template,
        {"code": "", "task": "", "tests": "", "failures": "", "suspects": suspects(lines)},
    )

    assert "line 3 (1.00): return a - b\n    a = 2\n    b = [3]\nline 2 (0.50): a += 1" in told


FOUND = Diagnosis(
    category="wrong_result", cause="f(1) gives 1", confidence=0.6, evidence=("seen",),
    suspicious_lines=tuple(
        SuspiciousLine(line=line, suspicion=1 / line, text=f"x{line}", values=(("a", "1"),))
        for line in (2, 1, 4, 3, 5, 6)
    ),
)
TEXT = "\n".join(f"x{line}" for line in range(1, 9))


def test_the_debuggers_answer_is_combined_with_what_was_found() -> None:
    answer = RootCause(
        cause="off by one", category="crash", lines=(8, 4, 99, 4), fixable=True, confidence=85
    )
    now = combined(FOUND, answer, TEXT)
    assert (now.cause, now.category, now.confidence) == ("off by one", "crash", 0.85)
    assert [one.line for one in now.suspicious_lines] == [8, 4, 2, 1, 3, 5, 6]
    assert now.suspicious_lines[0] == SuspiciousLine(line=8, suspicion=0.85, text="x8")
    assert now.suspicious_lines[1].values == (("a", "1"),)
    assert now.evidence[0] == "seen" and "f(1) gives 1" in now.evidence[1]

    answer = RootCause(
        cause="hopeless", category="environment", lines=(), fixable=False, confidence=100
    )
    now = combined(FOUND, answer, TEXT)
    assert now.fixable and len(now.evidence) > len(FOUND.evidence)

    for found in (FOUND, FOUND.model_copy(update={"cause": "long " * 100, "confidence": 0.85})):
        answer = RootCause.model_validate_json(diagnosis({"found": found}))
        assert combined(found, answer, TEXT) is found
