"""What is said at the end of a project's heal: next steps, a model's question, a flaky suite."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from agent.core.domain import Diagnosis, Report, SuspectFile, SuspectFunction
from agent.core.events import PartialFound
from agent.core.settings import Settings
from agent.interfaces.next_step import doubtful_test, next_steps
from agent.interfaces.project.discovery import Inspection
from agent.interfaces.project.obstacles import check_suite_runs
from agent.interfaces.project.reports import markdown, project_document, question
from agent.interfaces.request import HealRequest
from agent.interfaces.terminal.display import message_lines
from agent.report.result import Result
from agent.report.timeline import JudgedProgram
from agent.target.errors import NotFixable
from agent.target.interpreter import find_interpreter
from agent.target.repository.layout import find_layout
from agent.target.repository.tree import read_tree
from agent.verify.project.suite_run import SuiteRun
from tests.agent.interfaces.conftest import a_line_has
from tests.agent.interfaces.test_project_words import MONEY, verdict
from tests.agent.search.project.small_project import FAILING, FILES, PROJECT, laid

SPLIT, *OTHERS = sorted(FAILING)
RUN = SuiteRun({one: {"status": "failed", "message": "assert 1"} for one in sorted(FAILING)})
SUSPECT = SuspectFile(
    file=MONEY, suspicion=1.0, functions=(SuspectFunction(name="split", line=11, suspicion=1.0),)
)


@pytest.fixture
def inspected(tmp_path: Path) -> Inspection:
    tree = read_tree(find_layout(laid(tmp_path)))
    return Inspection(
        tree, PROJECT.model_copy(update={"root": str(tmp_path)}),
        find_interpreter(tmp_path, ""), Settings.from_env({}), RUN, [SPLIT], [], 1.0,
        HealRequest(str(tmp_path)),
    )


@pytest.fixture
def unhealed() -> Result:
    return Result(
        run_id="r", outcome="unresolved", provider="mock", reason="nothing", suspects=(SUSPECT,),
        report=Report(solution="", verdicts=(verdict(SPLIT, "failed", "assert 1"),)),
        diagnosis=Diagnosis(category="wrong_result", fixable=True, cause="it is one short",
                            confidence=0.5),
    )


@pytest.mark.parametrize(("result", "seen_so", "named"), [
    ({}, {}, {"--since", "--only", "python -m agent run", "use-a-model"}),
    ({"cut_after": 10.0}, {"to_heal": [SPLIT, *OTHERS]},
     {"--timeout", "--since", "--only", "python -m agent run", "use-a-model"}),
    ({"outcome": "budget", "stopped": "time", "provider": "openai"}, {},
     {"--timeout", "--since", "--only", "python -m agent run"}),
    ({"outcome": "budget", "provider": "openai"}, {},
     {"--since", "--only", "python -m agent run"}),
    ({}, {"project": PROJECT.model_copy(update={"changed": (("src/till/__init__.py", (1,)),)})},
     {"--only", "python -m agent run", "use-a-model"}),
    ({}, {"request": HealRequest(".", only=["src"], since="HEAD~1")},
     {"python -m agent run", "use-a-model"}),
])
def test_what_would_help_is_named_and_what_would_not_is_left_out(
    result: dict[str, object], seen_so: dict[str, object], named: set[str],
    inspected: Inspection, unhealed: Result,
) -> None:
    words = "\n".join(next_steps(replace(unhealed, **result), replace(inspected, **seen_so)))
    known = {"--timeout", "--since", "--only", "python -m agent run", "use-a-model"}
    assert {one for one in known if one in words} == named
    if "--timeout" in named:
        # Without the option a search ends long before the run's limit.
        assert ("--timeout 600" if "stopped" in result else "--timeout 120; without it") in words


@pytest.mark.parametrize(("changes", "doubted"), [
    ({}, True), ({"outcome": "proposed", "confidence": 0.5}, True),
    ({"outcome": "proposed", "confidence": 0.8}, False), ({"outcome": "healed"}, False),
])
def test_an_unmet_value_of_one_test_may_be_wrong(
    changes: dict[str, object], doubted: bool, inspected: Inspection, unhealed: Result
) -> None:
    assert unhealed.report is not None
    for status, count in (("failed", 1), ("failed", 2), ("error", 1)):
        verdicts = [verdict(one, status, "assert 1") for one in (SPLIT, *OTHERS)[:count]]
        first = JudgedProgram("initial", 0, Report(solution="", verdicts=tuple(verdicts)))
        result = replace(unhealed, tested_programs=(first,), **changes)
        expected = SPLIT if doubted and (status, count) == ("failed", 1) else ""
        assert doubtful_test(result) == expected
        if result.outcome == "unresolved":
            words = "\n".join(next_steps(result, inspected))
            assert ("correct the test" in words) == bool(expected)


@pytest.mark.parametrize(("module", "meant"), [
    ("tll", "till"), ("till.mony", "till.money"), ("jsonn", "json"),
])
def test_misspelt_modules_get_suggestions(module: str, meant: str, inspected: Inspection) -> None:
    problem = f"tests/test_money.py: ModuleNotFoundError: No module named '{module}' at {MONEY}:1"
    with pytest.raises(NotFixable, match=rf"{MONEY}:1.* {meant}\W"):
        check_suite_runs(SuiteRun(problems=[problem]), inspected.tree, "Python 3")


def test_a_reason_with_advice_gets_no_next_step(inspected: Inspection, unhealed: Result) -> None:
    for outcome in ("healed", "healthy", "not_fixable"):
        assert next_steps(replace(unhealed, outcome=outcome, proof="E1"), inspected) == []
    (told,) = next_steps(replace(unhealed, unanswered="the key is refused."), inspected)
    assert "the key is refused." in told


def test_a_models_question_is_in_report_and_json(inspected: Inspection, unhealed: Result) -> None:
    asked = question(unhealed, inspected)
    for part in (
        f"FILE {MONEY}\n{FILES[MONEY]}", "FILE tests/test_money.py\n", f"{SPLIT}: assert 1",
        "it is one short", f"{MONEY}, line 11 (1.00): split",
    ):
        assert part in asked
    assert asked in markdown(unhealed, "till", inspected)
    told = project_document(unhealed, inspected)["project"]
    assert isinstance(told, dict) and told["model_question"] == asked
    assert told["next"] == next_steps(unhealed, inspected)
    healed = replace(unhealed, outcome="healed")
    assert question(healed, inspected) == ""
    assert "<<<<<<< SEARCH" not in markdown(healed, "till", inspected)


def test_a_report_of_an_unhealed_project_shows_the_best_patch(inspected: Inspection) -> None:
    failing = verdict("tests/a.py::b[`x`]", "failed", "said ``` and\nmore")
    result = Result(
        outcome="unresolved", reason="nothing found", suspects=(SUSPECT,),
        report=Report(solution="", verdicts=(failing,)),
        partial=PartialFound(diff="--- a\n", passed=1, total=2, note="it"),
    )
    run = SuiteRun(outcomes={failing.name: {
        "status": "failed", "message": failing.message, "file": "tests/a.py", "line": 3,
    }})
    text = markdown(result, "till", replace(inspected, run=run, to_heal=[failing.name]))
    assert "- `` tests/a.py::b[`x`] `` at `tests/a.py:3`\n  ```` said ``` and more ````" in text
    assert a_line_has(text, "1 of 2") and a_line_has(text, MONEY, "line 11")
    assert "git apply" not in text
    assert "python -m pytest 'tests/a.py::b[`x`]'\n" in text


def test_of_a_failing_doctest_its_example_is_shown() -> None:
    said = "012 About.\n014     >>> split(2, 1)\nExpected:\n    [2]\nGot:\n    []\n\nm.py:14: x"
    assert message_lines(said) == [
        "    014     >>> split(2, 1)", "    Expected:", "        [2]", "    Got:", "        []",
        "    … 1 more line",
    ]
