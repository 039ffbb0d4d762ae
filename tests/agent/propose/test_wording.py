from __future__ import annotations

from agent.core.domain import (
    Diagnosis,
    Ending,
    Example,
    File,
    Report,
    Script,
    Solution,
    SuspiciousLine,
    Task,
)
from agent.iteration.context import PROMPTS
from agent.loop.steps.diagnose import combined
from agent.propose import wording
from agent.propose.roles import RootCause
from llm.asking.prompts import load
from tests.agent.values import verdict


def test_a_file_that_several_tests_come_from_is_shown_once() -> None:
    cases = [Script(name=name, origin="user", code="def test(): ...", node=name) for name in "ab"]
    example = Example(name="c", origin="user", call="f(1)", expected="2")
    assert wording.tests([*cases, example]) == "def test(): ...\n\nassert f(1) == 2"


def test_the_numbers_of_lines_are_those_of_the_suspicious_lines() -> None:
    code = "\n".join(f"x{number} = ' '" for number in range(1, 12)) + "\n"
    told = wording.numbered(code).split("\n")
    assert (told[0], told[10], len(told)) == (" 1 | x1 = ' '", "11 | x11 = ' '", 11)
    found = Diagnosis(category="crash", cause="c")
    answer = RootCause(cause="d", category="crash", lines=(11,), fixable=True, confidence=50)
    (line,) = combined(found, answer, code).suspicious_lines
    assert told[line.line - 1] == f"{line.line} | {line.text}"


def test_a_failure_has_values_or_its_message() -> None:
    report = Report(
        solution="s",
        verdicts=(
            verdict(name="one", call="f(1)", got="1", expected="2"),
            verdict(name="two", message="IndexError: too far"),
            verdict("passed", "right"),
            verdict(name="guess", origin="adversarial", message="no veto"),
        ),
        ending=Ending(
            kind="raised", exception="IndexError", message="too far", line=3, traceback="Trace\n"
        ),
    )
    told = wording.failures(report)
    for facts in (("one", "f(1)", "1", "2"), ("two", "too far"), ("IndexError", "line 3")):
        assert any(all(fact in line for fact in facts) for line in told.splitlines())
    assert "Trace" in told and "right" not in told and "no veto" not in told


def test_the_question_for_a_repair_fills_both_templates_of_it() -> None:
    program = Solution(
        files=(File(path="a.py", text="def f(a):\n    return a\n"),), entry="a.py"
    )
    found = Diagnosis(category="wrong_result", cause="f(1) gives 1", evidence=("always",))
    question = wording.repair_question(
        Task(text="f(1) is 2"), program,
        Report(solution="s", verdicts=(verdict(name="c", call="f(1)", got="1", expected="2"),)),
        [Example(name="c", origin="user", call="f(1)", expected="2")],
        found=wording.diagnosis(found),
        suspicious_lines=(SuspiciousLine(line=2, suspicion=1, text="return a"),),
        known=["Look at the borders.", "Count again."],
        attempts=["- return a\n+ return -a"],
    )
    prompt = load(PROMPTS, "generator")
    for template in ("repair", "edit"):
        told = prompt.render(template, question)
        for fact in (
            "return a\n", "f(1) is 2", "assert f(1) == 2", "f(1) gives 1", "always", "line 2",
            "Look at the borders.", "Count again.", "+ return -a",
        ):
            assert fact in told
