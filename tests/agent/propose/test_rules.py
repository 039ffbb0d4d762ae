"""The rules that answer without a model, and the wording of what models read."""

from __future__ import annotations

import json

import pytest

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
from agent.propose.roles import MAX_CALLS, RootCause
from agent.propose.rules import adversarial_calls, critique, draft, lesson, rules, spec_tests
from llm import Message, NoModel, Request, RulesProvider
from llm.asking.ask import complete_reply
from llm.asking.prompts import load
from tests.agent.values import program, verdict


def calls(code: str, *tests: Example) -> list[str]:
    answer = adversarial_calls({"code": code, "tests": "", "test_cases": tests})
    return [call["call"] for call in json.loads(answer)["calls"]]


def example(call: str) -> Example:
    return Example(name=call, origin="user", call=call, expected="0")


@pytest.mark.parametrize("role", ["arbiter", "planner"])
async def test_a_role_without_a_rule_needs_a_model(role: str) -> None:
    request = Request(role, "", (Message("user", ""),))
    with pytest.raises(NoModel, match=repr(role)):
        await complete_reply(RulesProvider(rules({})), request)


async def test_no_rule_rewrites_a_program() -> None:
    request = Request("generator", "", (), variables={"code": "x = 1", "task": ""})
    with pytest.raises(NoModel):
        await complete_reply(RulesProvider(rules({"": "x = 2\n"})), request)


def test_calls_of_the_tests_are_made_with_other_arguments_small_ones_first() -> None:
    found = calls("def f(n, text):\n    return n\n", example("f(3, 'ab')"))
    assert len(found) == MAX_CALLS
    assert "f(0, 'ab')" in found and "f(3, '')" in found and "f(4, 'ab')" in found
    assert "f(3, 'ab')" not in found


def test_what_no_test_calls_private_functions_and_broken_programs_get_no_calls() -> None:
    assert calls("def f(n: int):\n    return n\n") == []
    assert calls("def _f(n: int):\n    return n\n", example("_f(3)")) == []
    assert calls("def f(n: int:\n", example("f(3)")) == []


def test_the_critic_rejects_a_changed_test() -> None:
    before = program("def f():\n    return 1\n\n\nassert f() == 2\n")
    after = program("def f():\n    return 1\n\n\nassert f() == 1\n")
    answer = json.loads(
        critique({"before_solution": before, "after_solution": after, "has_no_tests": False})
    )
    assert (answer["approve"], answer["objections"]) == (False, [])


@pytest.mark.parametrize("end", ["raise ValueError('no')", "sys.exit(3)", "exit()"])
def test_the_critic_rejects_a_silenced_deliberate_end(end: str) -> None:
    variables = {
        "before_solution": program(f"import sys\n{end}\n"),
        "after_solution": program("import sys\npass\n"),
        "has_no_tests": True,
    }
    assert json.loads(critique(variables))["approve"] is False


def test_the_critic_approves_a_plain_repair() -> None:
    variables = {
        "before_solution": program("def f():\n    return 1\n"),
        "after_solution": program("def f():\n    return 2\n"),
        "has_no_tests": False,
    }
    assert json.loads(critique(variables))["approve"] is True


def test_a_draft_is_found_by_its_tasks_words_whatever_their_spacing() -> None:
    assert draft({"Write  f.": "x = 1\n"}, " Write f.\n") == "```python\nx = 1\n```\n"
    with pytest.raises(NoModel):
        draft({"Write f.": "x = 1\n"}, "Write g.")


def test_a_lesson_names_cause_and_help_and_is_no_longer_than_one_may_be() -> None:
    answer = json.loads(lesson({"category": "crash", "cause": "Too far.", "note": "n - 1"}))
    assert answer["category"] == "crash"
    assert "Too far" in answer["text"] and "n - 1" in answer["text"]
    answer = json.loads(lesson({"category": "crash", "cause": "x" * 900, "note": "\ud800"}))
    assert len(answer["text"]) == 600


def test_calls_that_are_longer_than_an_answer_may_hold_are_left_out() -> None:
    found = calls("def f(text, n):\n    return n\n", example(f"f({'a' * 250!r}, 3)"))
    assert "f('', 3)" in found
    assert max(map(len, found)) <= 200
    words = f"double({'1' * 250}) returns 8, double(0) == 0."
    assert [one["call"] for one in json.loads(spec_tests({"task": words}))["examples"]] == [
        "double(0)"
    ]


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
