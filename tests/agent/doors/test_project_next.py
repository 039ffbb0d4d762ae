"""What is said at the end of a project's heal: next steps, a model's question, a flaky suite."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from agent.core.domain import Diagnosis, Report, SuspectFile, SuspectFunction
from agent.core.events import Judged
from agent.core.settings import Settings
from agent.doors.commands import Display, RunOptions
from agent.doors.exits import Requirements
from agent.doors.library import SelfHealingAgent
from agent.doors.project.choice import ProjectInputs
from agent.doors.project.heal import _healed, markdown_of, project_document
from agent.doors.project.look import Seen, concluded
from agent.doors.project.next_step import next_steps, question
from agent.doors.project.obstacles import refuse_what_does_not_run
from agent.doors.project.shown import evidence_words, message_lines
from agent.doors.terminal import Terminal
from agent.intake.errors import NotFixable
from agent.judge.project_run import SuiteRun
from agent.log.result import Result
from agent.project.interpreter import find_interpreter
from agent.project.layout import find_layout
from agent.project.tree import read_tree
from agent.run.run import Options
from llm import Plan
from tests.agent.doors.conftest import BROKEN, ReplayedSession, judged
from tests.agent.doors.test_project_words import MONEY, verdict
from tests.agent.project.small_project import FAILING, FILES, PROJECT

SPLIT, *OTHERS = sorted(FAILING)
RUN = SuiteRun(rows={one: {"status": "failed", "message": "assert 1"} for one in sorted(FAILING)})
SUSPECT = SuspectFile(
    file=MONEY, suspicion=1.0, functions=(SuspectFunction(name="split", line=11, suspicion=1.0),)
)


@pytest.fixture
def seen(tmp_path: Path) -> Seen:
    for path, text in FILES.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    tree = read_tree(find_layout(tmp_path))
    return Seen(
        tree, PROJECT.model_copy(update={"root": str(tmp_path)}),
        find_interpreter(tmp_path, ""), Settings.from_env({}), RUN, [SPLIT], [], 1.0,
        ProjectInputs(tmp_path),
    )


@pytest.fixture
def unhealed() -> Result:
    return Result(
        run_id="r", outcome="unresolved", provider="mock", reason="nothing", suspects=(SUSPECT,),
        report=Report(solution="", verdicts=(verdict(SPLIT, "failed", "assert 1"),)),
        diagnosis=Diagnosis(category="wrong_result", fixable=True, cause="it is one short",
                            confidence=0.5),
    )


@pytest.mark.parametrize("attended", [False, True])
def test_a_projects_run_pauses_at_a_cap_where_a_person_sits_and_knows_what_is_required(
    attended: bool, seen: Seen, healing: ReplayedSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("agent.doors.commands.attended", lambda _face: attended)
    _healed(healing.open, seen, Requirements("E2"), Display(Terminal()))
    assert healing.how == [
        {"pauses": attended, "require_proof": "E2", "require_integrity": None}
    ]


@pytest.mark.parametrize(("result", "seen_so", "told", "untold"), [
    ({}, {}, ["heal all that fails, as 2 more tests fail", "--since REV", f"--only {MONEY}",
              "ask a model"], ["--timeout", "one test alone"]),
    ({"cut_after": 10.0}, {"wanted": [SPLIT, *OTHERS]},
     ["--timeout 600", f"one test alone, if the causes differ: `python -m agent run '{SPLIT}'`"],
     ["heal all that fails"]),
    ({"outcome": "budget", "stopped": "time", "provider": "openai"}, {}, ["--timeout 600"],
     ["ask a model"]),
    ({"outcome": "budget", "provider": "openai"}, {}, ["by hand"], ["--timeout"]),
    ({}, {"project": PROJECT.model_copy(update={"changed": (("src/till/__init__.py", (1,)),)})},
     ["--only src/till/__init__.py"], ["--since"]),
    ({}, {"inputs": ProjectInputs(Path("."), only=["src"], since="HEAD~1")}, ["by hand"],
     ["--since", "--only"]),
])
def test_what_would_help_is_named_and_what_would_not_is_left_out(
    result: dict[str, object], seen_so: dict[str, object], told: list[str], untold: list[str],
    seen: Seen, unhealed: Result,
) -> None:
    words = "\n".join(next_steps(replace(unhealed, **result), replace(seen, **seen_so)))
    assert words.startswith("Next, any of these:\n  - ")
    assert [one for one in told if one not in words] == []
    assert [one for one in untold if one in words] == []


@pytest.mark.parametrize(("module", "meant"), [
    ("tll", "till"), ("till.mony", "till.money"), ("jsonn", "json"),
])
def test_a_misspelt_module_of_a_project_is_answered_with_what_may_be_meant(
    module: str, meant: str, seen: Seen
) -> None:
    problem = f"tests/test_money.py: ModuleNotFoundError: No module named '{module}' at {MONEY}:1"
    with pytest.raises(NotFixable, match=rf"{MONEY}:1.*did you mean {meant}\?"):
        refuse_what_does_not_run(SuiteRun(problems=[problem]), seen.tree, "Python 3")


def test_where_the_reason_says_what_to_do_nothing_is_added(seen: Seen, unhealed: Result) -> None:
    for outcome in ("healed", "healthy", "not_fixable"):
        assert next_steps(replace(unhealed, outcome=outcome), seen) == []
    asked = replace(unhealed, unanswered="the key is refused.")
    (told,) = next_steps(asked, seen)
    assert told.startswith("Next: a model gave no answer: the key is refused.")


def test_a_models_question_is_in_the_report_and_the_document(seen: Seen, unhealed: Result) -> None:
    asked = question(unhealed, seen)
    for part in (
        f"FILE {MONEY}\n{FILES[MONEY]}", "FILE tests/test_money.py\n", f"{SPLIT}: assert 1",
        "wrong_result: it is one short", f"{MONEY}, line 11 (1.00): split",
        "<<<<<<< SEARCH", "You write and repair Python programs",
    ):
        assert part in asked
    assert markdown_of(unhealed, seen).endswith(
        f"## What a model would be asked\n\n```\n{asked}```\n"
    )
    told = project_document(unhealed, seen)["project"]
    assert isinstance(told, dict) and told["model_question"] == asked
    assert told["next"] == next_steps(unhealed, seen)
    healed = replace(unhealed, outcome="healed")
    assert question(healed, seen) == "" and "would be asked" not in markdown_of(healed, seen)


def test_a_statement_that_does_nothing_is_told_among_the_places(unhealed: Result) -> None:
    idle = FILES[MONEY].replace("    return [", "    rest = amount - share\n    return [")
    words = [*evidence_words(unhealed, {MONEY: idle})]
    assert "    line 13 does nothing: it sets `rest`, which nothing reads" in words
    assert not any("does nothing" in one for one in evidence_words(unhealed, FILES))


def test_what_failed_and_passes_now_is_flaky_and_not_healthy(
    seen: Seen, ending: Callable[..., ReplayedSession]
) -> None:
    result = concluded(seen, ending("healthy").log("r1"))
    assert (result.outcome, result.proof) == ("not_fixable", None)
    assert result.reason.startswith(f"{SPLIT} failed, and passes now although nothing was changed")


def test_what_the_jail_has_not_is_told_in_the_place_of_a_flaky_suite(
    seen: Seen, ending: Callable[..., ReplayedSession]
) -> None:
    begun = judged(BROKEN, "failed").report
    report = Report(solution=begun.solution, verdicts=(
        verdict(SPLIT, "failed", aside="the jail has no display"),
        verdict(OTHERS[0], "failed", aside="it failed before"),
    ))
    log = ending("healthy", Judged(iteration=0, report=report), code=BROKEN).log("r1")
    result = concluded(seen, log)
    assert (result.outcome, result.reason) == ("not_fixable", (
        f"nothing of the program was seen to be wrong: `{SPLIT}` is set aside: the jail has no "
        "display"
    ))


def test_of_a_failing_doctest_its_example_is_shown() -> None:
    said = "012 About.\n014     >>> split(2, 1)\nExpected:\n    [2]\nGot:\n    []\n\nm.py:14: x"
    assert message_lines(said) == [
        "    014     >>> split(2, 1)", "    Expected:", "        [2]", "    Got:", "        []",
        "    … 1 more line",
    ]


def test_more_time_is_more_for_the_search_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEAL_BUDGET_S", "60")
    longer = RunOptions(budget_s=240).settings()
    assert (longer.budget_s, longer.search_s) == (240, 40)
    assert RunOptions().settings().search_s == 10


def test_seconds_mean_the_same_at_the_terminal_in_the_library_and_on_the_page(
    monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HEAL_BUDGET_S", "60")
    monkeypatch.setenv("HEAL_SEARCH_S", "6")
    typed = RunOptions(budget_s=30).settings()
    made = SelfHealingAgent(budget_s=30).settings()
    sent = Options.of(Settings.from_env(), Plan("mock", ""), budget_s=30)
    usual = Options.of(Settings.from_env(), Plan("mock", ""))
    assert typed.search_s == made.search_s == sent.search_s == 3.0
    assert (usual.budget_s, usual.search_s) == (60.0, None)
