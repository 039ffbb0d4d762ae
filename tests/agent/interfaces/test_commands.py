"""Commands over a replayed session: what is parsed, shown, written, and exited with."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from agent.core.domain import (
    Behaviour,
    CompetingPatches,
    Diagnosis,
    Evidence,
    File,
    Report,
    Solution,
    SuspiciousLine,
    Verdict,
)
from agent.core.events import (
    Ambiguous,
    CodeWritten,
    Critiqued,
    Diagnosed,
    Event,
    Judged,
    LogEntry,
    PartialFound,
    Proved,
    RunFailed,
    Waiting,
    to_jsonl,
)
from agent.interfaces.exits import BELOW_REQUIREMENT, EXIT_CODES, HEALED
from agent.interfaces.next_step import TERMINAL
from agent.interfaces.terminal import commands
from agent.interfaces.terminal.cli import app
from agent.interfaces.terminal.display import Terminal
from agent.report.result import fold
from agent.report.schema import document_schema
from agent.target.errors import NotFixable
from demo.views.programs import changes
from llm import NoProvider
from sandbox import SandboxUnavailable
from tests.agent.interfaces.conftest import BROKEN, REPAIRED, a_line_has, judged, started

SOLUTION = Solution(files=(File(path="sum.py", text=REPAIRED),), entry="sum.py")
TEST = ("--tests", "assert add(2, 3) == 5")

KEYS = {*document_schema()["properties"]}


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HEAL_DATA_DIR", str(tmp_path / "data"))
    path = tmp_path / "sum.py"
    path.write_text(BROKEN)
    return path


def invoke(session: Any, *arguments: object, **fields: Any) -> Result:
    return CliRunner().invoke(
        app, [str(argument) for argument in arguments],
        obj=None if session is None else session.open, **fields,
    )


def files(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir() if path.is_file()}


def test_a_file_in_place_of_a_command_names_the_right_command(program: Path, healing: Any) -> None:
    result = invoke(healing, program.name, "--tests", "assert total([1, 2]) == 3")

    assert result.exit_code == 2
    assert "heal run sum.py --tests 'assert total([1, 2]) == 3'" in result.stderr


@pytest.mark.parametrize("more", [(), ("--dry-run",)])
def test_only_stdout_is_written(program: Path, healing: Any, more: tuple[str, ...]) -> None:
    result = invoke(healing, "run", program, *TEST, *more)

    assert result.exit_code == 0, result.output
    assert result.stdout == healing.events[-1].diff
    assert a_line_has(result.stderr, "E1", "isolated")
    assert program.read_text() == BROKEN
    assert files(program.parent) == {"sum.py"}


def test_a_patch_has_the_path_from_the_current_folder(
    program: Path, healing: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    inner = program.parent / "src" / "adding"
    inner.mkdir(parents=True)
    program.rename(inner / "sum.py")

    result = invoke(healing, "run", "src/adding/sum.py", *TEST)
    assert result.stdout.splitlines()[:2] == ["--- a/src/adding/sum.py", "+++ b/src/adding/sum.py"]
    assert result.stdout.splitlines()[2:] == healing.events[-1].diff.splitlines()[2:]

    (program.parent / "other").mkdir()
    monkeypatch.chdir(program.parent / "other")
    elsewhere = invoke(healing, "run", "../src/adding/sum.py", *TEST)
    assert elsewhere.stdout == healing.events[-1].diff


@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
def test_apply_keeps_line_ends_and_a_backup(program: Path, healing: Any, line_end: str) -> None:
    program.write_bytes(BROKEN.replace("\n", line_end).encode())

    result = invoke(healing, "run", program, *TEST, "--apply")

    assert result.exit_code == 0, result.output
    assert program.read_bytes() == REPAIRED.replace("\n", line_end).encode()
    backup = program.parent / "sum.py.heal-backup"
    assert backup.read_bytes() == BROKEN.replace("\n", line_end).encode()


@pytest.mark.parametrize(("outcome", "proof", "code"), [
    ("healthy", "E1", 0),
    ("unresolved", None, 1),
    ("not_fixable", None, 4),
    ("needs_model", None, 4),
    ("budget", None, 5),
    ("crash_stopped", "E0", 6),
    ("cancelled", None, 130),
])
def test_each_outcome_has_its_exit_code_and_only_a_heal_is_written(
    program: Path, ending: Callable[..., Any], outcome: str, proof: str | None, code: int
) -> None:
    session = ending(outcome, proof=proof, diff="" if outcome == "healthy" else "--- a\n+++ b\n")

    result = invoke(session, "run", program, *TEST, "--apply", "--json")

    assert result.exit_code == code, result.output
    assert json.loads(result.stdout)["outcome"] == outcome
    assert program.read_text() == BROKEN
    assert files(program.parent) == {"sum.py"}


def test_a_heal_below_the_required_proof_is_not_written(program: Path, healing: Any) -> None:
    asked = ("run", program, *TEST, "--require-proof")

    shown = invoke(healing, *asked, "E3", "--apply")
    written = invoke(healing, *asked, "E3", "--json")
    reached = invoke(healing, *asked, "E1")

    assert (shown.exit_code, written.exit_code, reached.exit_code) == (6, 6, 0)
    assert (shown.stdout, program.read_text()) == (healing.events[-1].diff, BROKEN)
    reason = json.loads(written.stdout)["reason"]
    assert a_line_has(reason, "E3", "E1", TERMINAL["E1"]) and "E3" not in reached.stderr


def in_one_process() -> tuple[Event, ...]:
    """What a run tells of a repair whose only pass is believed as `in-process`."""
    verdict = Verdict(
        name="t", test="t", origin="user", status="passed", integrity="in-process",
        reason="the test uses caplog",
    )
    report = Report(solution=SOLUTION.id, verdicts=(verdict,))
    return CodeWritten(iteration=1, solution=SOLUTION), Judged(iteration=1, report=report)


@pytest.mark.parametrize(("asked", "code"), [
    ([], 0), (["in-process"], 0), (["isolated"], 6),
])
def test_a_heal_that_is_believed_too_little_is_shown_but_not_written(
    program: Path, ending: Callable[..., Any], asked: list[str], code: int
) -> None:
    session = ending("healed", *in_one_process())
    options = ["--require-integrity", *asked] if asked else []

    result = invoke(session, "run", program, *TEST, "--apply", "--json", *options)

    found = json.loads(result.stdout)
    assert result.exit_code == code
    assert (found["proof"], found["integrity"], found["integrity_reason"]) == (
        "E1", "in-process", "the test uses caplog"
    )
    next_step = "--require-integrity in-process"
    assert a_line_has(found["reason"], "isolated", "in-process", next_step) == (code == 6)
    assert program.read_text() == (BROKEN if code else REPAIRED)


def test_an_unresolved_run_shows_its_evidence_and_keeps_stdout_empty(
    program: Path, ending: Callable[..., Any], healing: Any
) -> None:
    line = SuspiciousLine(line=2, suspicion=1.0, text="    return a - b", values=(("a", "2"),))
    diagnosis = Diagnosis(category="wrong_result", cause="it is wrong", suspicious_lines=(line,))
    session = ending(
        "unresolved", healing.events[1], Diagnosed(iteration=1, diagnosis=diagnosis),
        PartialFound(diff="-    return a - b\n", passed=1, total=2, note=""),
        proof=None, diff="", code=BROKEN,
    )

    result = invoke(session, "run", program, *TEST)

    assert result.stdout == ""
    assert "NOT HEALED" in result.stderr
    assert "add(2, 3)\n  expected  5\n  got       -1" in result.stderr
    assert "line 2: return a - b\n    with a = 2" in result.stderr
    assert "not a fix: 1 of 2 tests pass" in result.stderr


def test_a_failure_refers_to_the_users_own_file(program: Path, ending: Callable[..., Any]) -> None:
    partly = BROKEN.replace("a - b", "abs(a - b)")
    first, second = (
        Solution(files=(File(path="sum.py", text=text),), entry="sum.py")
        for text in (BROKEN, partly)
    )

    def seen(solution: Solution, iteration: int, *got: str) -> Judged:
        return Judged(iteration=iteration, report=Report(solution=solution.id, verdicts=tuple(
            Verdict(name=f"add({n}, 0)", test=f"add({n}, 0)", origin="user", expected=str(n),
                    call=f"add({n}, 0)", got=value,
                    status="passed" if value == str(n) else "failed")
            for n, value in enumerate(got)
        )))

    def found(solution: Solution, iteration: int, line: str) -> Diagnosed:
        return Diagnosed(iteration=iteration, solution=solution.id, diagnosis=Diagnosis(
            category="wrong_result", cause="wrong",
            suspicious_lines=(SuspiciousLine(line=2, suspicion=1.0, text=line),),
        ))

    session = ending(
        "unresolved", CodeWritten(iteration=0, solution=first), seen(first, 0, "7", "8"),
        found(first, 0, "return a - b"),
        CodeWritten(iteration=1, solution=second), seen(second, 1, "0", "9"),
        found(second, 1, "return abs(a - b)"), proof=None, diff="", code=BROKEN,
    )

    result = invoke(session, "run", program, *TEST)

    assert a_line_has(result.stderr, "line 2", "return a - b")
    assert not a_line_has(result.stderr, "line 2", "return abs(a - b)")
    assert a_line_has(result.stderr, "got", 7) and not a_line_has(result.stderr, "passed", "add")
    assert a_line_has(result.stderr, "1 of 2")


def test_an_unapplied_patch_has_its_own_verdicts(program: Path, ending: Callable[..., Any]) -> None:
    first = Solution(files=(File(path="sum.py", text=BROKEN),), entry="sum.py")
    session = ending(
        "model_failed", CodeWritten(iteration=0, solution=first), judged(BROKEN, "failed"),
        CodeWritten(iteration=2, solution=SOLUTION), judged(REPAIRED, "passed", iteration=2),
        Critiqued(verdict="unreviewed", note="no answer"), proof=None, diff="", code=BROKEN,
    )

    result = invoke(session, "run", program, *TEST, "--out", program.parent / "out.py")
    document = json.loads(invoke(session, "run", program, *TEST, "--json").stdout)

    taking = "python -m agent show r1 --iteration 2"
    assert (result.exit_code, result.stdout, files(program.parent)) == (7, "", {"sum.py"})
    assert a_line_has(result.stderr, "passed", "add(2, 3) == 5")
    assert not a_line_has(result.stderr, "failed", "add(2, 3) == 5")
    assert "+    return a + b" in result.stderr and taking in result.stderr
    assert (document["diff"], document["files"]) == ("", {"sum.py": BROKEN})
    best = document["best"]
    assert (best["iteration"], best["files"]) == (2, {"sum.py": REPAIRED})
    assert [test["status"] for test in best["tests"]] == ["passed"]
    assert best["diff"] == document["not_a_fix"]["diff"] != ""


@pytest.mark.parametrize(("outcome", "code"), [
    ("unresolved", 1), ("not_fixable", 4), ("budget", 5), ("model_failed", 7), ("cancelled", 130),
])
@pytest.mark.parametrize("is_judged", [True, False])
def test_of_a_task_in_words_the_best_program_is_given_at_every_stop(
    program: Path, ending: Callable[..., Any], outcome: str, code: int, is_judged: bool
) -> None:
    draft = Solution(files=(File(path="sum.py", text=BROKEN),), entry="sum.py")
    session = ending(
        outcome, started().model_copy(update={"code": ""}),
        CodeWritten(iteration=0, solution=draft),
        *([judged(BROKEN, "failed")] if is_judged else []), proof=None, diff="", code=BROKEN,
    )

    result = invoke(session, "run", "--task", "add two", "--out", program.parent / "out.py")

    assert (result.exit_code, result.stdout) == (code, BROKEN), result.stderr
    assert a_line_has(result.stderr, "0 of 1") is is_judged
    assert ("show r1 --iteration 0" in result.stderr) is is_judged
    assert files(program.parent) == {"sum.py"}


def test_a_program_in_words_is_shown(program: Path, ending: Callable[..., Any]) -> None:
    out = program.parent / "out.py"
    session = ending("healed", proof="E0", code=REPAIRED)

    result = invoke(session, "run", "--task", "add two", "--out", out)
    assert (result.exit_code, result.stdout) == (BELOW_REQUIREMENT, REPAIRED), result.stderr
    assert "--require-proof E0" in result.stderr and not out.exists()

    result = invoke(session, "run", "--task", "add two", "--out", out, "--require-proof", "E0")
    assert result.exit_code == HEALED, result.stderr
    assert out.read_text() == REPAIRED


@pytest.mark.parametrize("arguments", [
    ["run", ".", "--task", "words"],
    ["run"],
    ["run", "--task", "  "],
    ["run", "-", "--apply"],
    ["run", "--task", "words", "--apply"],
    ["run", "sum.py", "--apply", "--dry-run"],
    ["run", "sum.py", "--out", "new.py", "--dry-run"],
    ["run", "sum.py", "--out", "sum.py"],
    ["run", "sum.py", "--log", "nowhere/log.jsonl"],
    ["run", "missing.py"],
    ["run", "sum.py", "--tests-file", "missing.py"],
    ["run", "sum.py", "--tests", "sum.py"],
    ["check", "sum.py", "--tests", "sum.py"],
    ["run", "sum.py", "--with", "missing.py"],
    ["run", "sum.py", "--stdin", "@missing.txt"],
    ["check"],
    ["check", "missing.py"],
    ["replay", "missing.jsonl"],
    ["resume", "unknown"],
    ["example", "unknown"],
])
def test_unusable_input_exits_with_2(program: Path, healing: Any, arguments: list[str]) -> None:
    result = invoke(healing, *arguments, "--json")

    assert result.exit_code == 2, result.output
    document = json.loads(result.stdout)
    assert document["outcome"] is None
    assert document["error"]
    assert "Traceback" not in result.output
    assert healing.started == []
    assert program.read_text() == BROKEN


@pytest.mark.parametrize(("fault", "code", "outcome"), [
    (NoProvider("set LLM_PROVIDER"), 2, None),
    (NotFixable("missing_package", "install it"), 4, "not_fixable"),
    (SandboxUnavailable("no jail on this system"), 4, "not_fixable"),
    (ZeroDivisionError("ours"), 3, None),
])
def test_every_early_end_is_a_sentence_with_its_exit_code(
    program: Path, healing: Any, fault: Exception, code: int, outcome: str | None
) -> None:
    healing.fault = fault

    result = invoke(healing, "run", program, *TEST, "--json")

    assert result.exit_code == code
    document = json.loads(result.stdout)
    assert document.keys() == KEYS
    assert document["outcome"] == outcome
    assert str(fault) in document["error"]
    assert str(fault) in result.stderr
    assert "Traceback" not in result.output


def test_a_fault_of_ours_leaves_its_traceback_in_a_file(program: Path, healing: Any) -> None:
    healing.fault = ZeroDivisionError("ours")

    quiet = invoke(healing, "run", program, *TEST)
    loud = invoke(healing, "run", program, *TEST, "--verbose")

    healing.fault = None
    healing.events = [healing.events[0], RunFailed(error="KeyError: 'x'")]
    amid = invoke(healing, "run", program, *TEST, "--json")

    assert (amid.exit_code, json.loads(amid.stdout)["error"]) == (3, "KeyError: 'x'")
    log = program.parent / "data" / "faults.log"
    assert "Traceback" not in quiet.stderr
    assert str(log) in quiet.stderr.replace("\n", "")
    assert "Traceback" in log.read_text()
    assert "Traceback" in loud.stderr


def test_a_file_that_changed_meanwhile_is_left_alone(program: Path, healing: Any) -> None:
    start = healing.start

    async def start_late(*arguments: Any, **fields: Any) -> str:
        program.write_text("mine = 1\n")
        return await start(*arguments, **fields)

    healing.start = start_late

    result = invoke(healing, "run", program, *TEST, "--apply", "--json")

    assert (result.exit_code, "sum.py" in json.loads(result.stdout)["error"]) == (2, True)
    assert program.read_text() == "mine = 1\n"
    assert files(program.parent) == {"sum.py"}


def test_ctrl_c_ends_the_run_and_reports_what_was_found(program: Path, healing: Any) -> None:
    healing.events = healing.events[:2]
    healing.interrupted = True

    result = invoke(healing, "run", program, *TEST, "--apply", "--json", "--log", "run.jsonl")

    document = json.loads(result.stdout)
    assert result.exit_code == 130
    assert healing.cancelled == ["r1"]
    assert (document["outcome"], document["tests"][0]["got"]) == ("cancelled", "-1")
    assert program.read_text() == BROKEN
    assert (program.parent / "run.jsonl").read_text() == to_jsonl(healing.log("r1"))


def test_ctrl_c_stops_the_runs_that_resume_has_yet_to_show(program: Path, healing: Any) -> None:
    healing.events = healing.events[:2]
    healing.orphans = ("a", "b")
    healing.interrupted = True

    assert invoke(healing, "resume").exit_code == 130
    assert healing.cancelled == ["a"]


def test_without_a_person_a_question_stays_open(program: Path, healing: Any) -> None:
    question = Waiting(interrupt="i", question="Keep this repair?", diff="the diff")
    healing.events = [*healing.events[:2], question]

    result = invoke(healing, "run", program, *TEST)

    assert (result.exit_code, result.stdout) == (1, "")
    assert "Keep this repair?" in result.stderr and "resume r1" in result.stderr


def test_out_and_log_overwrite_only_by_force(program: Path, healing: Any) -> None:
    out = program.parent / "out.py"
    out.write_text("mine")
    asked = ("run", "-", *TEST, "--out", out)

    refused = invoke(healing, *asked, input=BROKEN)
    assert (refused.exit_code, out.read_text()) == (2, "mine")
    forced = invoke(healing, *asked, "--force", input=BROKEN)
    assert (forced.exit_code, out.read_text()) == (0, REPAIRED)
    assert healing.started[0][0].solution.text == BROKEN


def test_a_task_in_words_puts_the_program_on_stdout(program: Path, healing: Any) -> None:
    result = invoke(healing, "run", "--task", "add(2, 3) returns 5")

    assert result.exit_code == 0, result.output
    assert result.stdout == REPAIRED
    assert healing.started[0][0].text == "add(2, 3) returns 5"
    assert healing.started[0][0].solution is None


def test_a_file_is_submitted_with_words(program: Path, healing: Any) -> None:
    result = invoke(healing, "run", program, "--task", "add(2, 3) returns 5", "--apply")

    assert (result.exit_code, program.read_text()) == (0, REPAIRED), result.output
    task = healing.started[0][0]
    assert (task.text, task.solution.text) == ("add(2, 3) returns 5", BROKEN)
    assert [one.origin for one in task.tests] == ["task"]


def test_arguments_and_stdin_reach_the_program(program: Path, healing: Any) -> None:
    (program.parent / "in.txt").write_text("from a file\n")

    invoke(healing, "run", program, *TEST, "--stdin", "typed", "--", "-x", "1")
    invoke(healing, "run", program, *TEST, "--stdin", "@in.txt")

    first, second = (task for task, _ in healing.started)
    assert (first.stdin, first.argv) == ("typed", ("-x", "1"))
    assert second.stdin == "from a file\n"


def test_a_resumed_run_is_measured_by_what_it_was_started_with(healing: Any) -> None:
    began, *rest = healing.events
    session = replace(
        healing, orphans=("r1",), events=[began.model_copy(update={"require_proof": "E2"}), *rest]
    )
    assert invoke(session, "resume").exit_code == BELOW_REQUIREMENT
    assert invoke(session, "resume", "--require-proof", "E1").exit_code == HEALED


def test_a_worked_task_is_run_with_its_draft(program: Path, healing: Any) -> None:
    listed = json.loads(invoke(healing, "example", "--list", "--json").stdout)

    result = invoke(healing, "example", listed[1]["id"])

    assert result.exit_code == 0, result.output
    assert healing.started[0][0].text == listed[1]["task"]
    assert listed[1]["task"] in healing.settings.drafts


def test_a_saved_log_is_shown_again_without_a_session(program: Path, healing: Any) -> None:
    log = program.parent / "run.jsonl"
    live = invoke(healing, "run", program, *TEST, "--log", log)

    shown = invoke(None, "replay", log)
    document = json.loads(invoke(None, "replay", log, "--json").stdout)

    assert shown.exit_code == 0
    assert shown.stdout == live.stdout
    assert a_line_has(shown.stderr, "E1")
    assert document.keys() == KEYS and document["run_id"] == "r1"
    assert (document["outcome"], document["files"]) == ("healed", {"sum.py": REPAIRED})
    assert log.read_text() == to_jsonl(healing.log("r1"))
    log.write_text(log.read_text()[:-40])  # cut in the middle of a line
    cut = invoke(None, "replay", log)
    assert (cut.exit_code, "line 5" in cut.stderr) == (2, True)


def test_resume_continues_interrupted_and_shows_finished_runs(program: Path, healing: Any) -> None:
    finished, none = invoke(healing, "resume", "r1"), invoke(healing, "resume")
    assert (finished.exit_code, finished.stdout) == (0, healing.events[-1].diff)
    assert (none.exit_code, none.stdout, bool(none.stderr)) == (0, "", True)

    healing.orphans = ("a", "b")
    result = invoke(healing, "resume", "--json")
    assert result.exit_code == 0
    assert [run["run_id"] for run in json.loads(result.stdout)["runs"]] == ["a", "b"]


def test_the_plan_is_said(program: Path, healing: Any) -> None:
    document = json.loads(invoke(healing, "plan", "--json").stdout)
    shown = invoke(healing, "plan")

    assert document["provider"] == "mock"
    assert (document["sandbox"], document["level"]) == ("replayed sandbox", "L4")
    assert document["data_dir"] == str(program.parent / "data")
    assert "replayed sandbox" in shown.stdout and "mock" in shown.stdout


def test_program_output_cannot_move_the_cursor(program: Path, ending: Callable[..., Any]) -> None:
    session = ending("unresolved", proof=None, reason="\x1b[2Jwiped\x07 \u202eback")

    result = invoke(session, "run", program, *TEST)

    assert "\x1b" not in result.stderr
    assert "\\x1b[2Jwiped\\x07 \\u202eback" in result.stderr


def test_the_help_and_the_guide_list_every_exit_code() -> None:
    shown = invoke(None, "run", "--help").output
    guide = (Path(__file__).parents[3] / "docs/use-it-in-ci.md").read_text("utf-8")

    assert all(f"{code}  {words}" in shown for code, words in EXIT_CODES.items())
    assert re.findall(r"^\| (\d+) \| (.+) \|$", guide, re.MULTILINE) == [
        (str(code), words) for code, words in EXIT_CODES.items()
    ]


RIVALS = CompetingPatches(call="add(0, 1)", behaviours=(
    Behaviour(label="A", gives="1", solution=SOLUTION, note="plus", diff="-a\n+b\n"),
    Behaviour(
        label="B", raises="KeyError", solution=SOLUTION, note="other", diff="-a\n+c\n"
    ),
))


def test_all_patches_that_pass_and_are_unlikely_are_shown(program: Path, healing: Any) -> None:
    unlikely = healing.events[-1].model_copy(update={
        "outcome": "unresolved", "confidence": 0.1, "diff": "", "proof": None,
    })
    found = PartialFound(diff="-a\n+b\n", passed=1, total=1, note="plus")
    several = Ambiguous(iteration=1, competing=RIVALS)
    healing.events = [*healing.events[:2], several, found, unlikely]
    result = invoke(healing, "run", program, *TEST)
    shown = result.stderr

    assert result.exit_code == 1
    assert shown.index("+b\n") < shown.rindex("other") < shown.index("+c\n")
    log = tuple(
        LogEntry(run="r", seq=n, task="t", attempt=1, ordinal=n, at=n, event=event)
        for n, event in enumerate(healing.events, start=1)
    )
    assert "other</summary>" in changes(fold(log))


def test_ambiguous_behaviours_are_reported_at_the_end(program: Path, healing: Any) -> None:
    healing.events = [*healing.events[:2], Ambiguous(iteration=1, competing=RIVALS),
                      *healing.events[2:]]

    result = invoke(healing, "run", program, *TEST)

    assert a_line_has(result.stderr, 2, "add(0, 1)", 1, "KeyError")
    assert a_line_has(result.stderr, "A:", "plus") and a_line_has(result.stderr, "B:", "other")
    assert result.stdout == healing.events[-1].diff
    document = json.loads(invoke(healing, "run", program, *TEST, "--json").stdout)
    assert document["rivals"]["call"] == "add(0, 1)"

    known = Proved(level="E1", why="w", evidence=Evidence(competing_patches=3))
    healing.events = [*healing.events[:-1], known, healing.events[-1]]
    told = invoke(healing, "run", program, *TEST).stderr
    assert a_line_has(told, 4, 2, "add(0, 1)")


@pytest.mark.parametrize(("typed", "answer"), [
    ("Z\nnone\n[\nnone\n7\n\n", "7"), ("none\n\n", "skip"), ("7\n1\n", "1"), ("b\n", "b"),
])
def test_a_person_is_asked_until_the_answer_is_one(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], typed: str, answer: str
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(typed))

    assert commands._ask_value("Which is right?", RIVALS, commands.Display(Terminal())) == answer
    shown = capsys.readouterr().err
    assert a_line_has(shown, "A", "plus")
    assert all(f"'{wrong}'" in shown for wrong in ("Z", "[") if wrong in typed)


def test_an_unchanged_edit_is_asked_for_again(monkeypatch: pytest.MonkeyPatch) -> None:
    said, edits = ["e", "e", "n"], [None, "x = 2\n"]
    monkeypatch.setattr("typer.prompt", lambda *_given, **_named: said.pop(0))
    monkeypatch.setattr("click.edit", lambda *_given, **_named: edits.pop(0))
    question = Waiting(interrupt="i", question="keep?", code="x = 1\n")
    assert commands._ask_for_review(question) == {"code": "x = 2\n"}
    assert (said, edits) == (["n"], [])


def test_a_missing_project_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(app, [])
    assert done.exit_code == 2 and "Usage: " in done.stdout and str(tmp_path) in done.stderr


def test_version_prints_the_installed_version_alone() -> None:
    done = CliRunner().invoke(app, ["--version"])
    assert (done.exit_code, done.stderr) == (0, "")
    assert done.stdout.startswith("heal") and done.stdout.count("\n") == 1
