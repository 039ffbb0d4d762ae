"""A result is a pure fold of a run's events."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent.core import domain as d
from agent.core import events as e
from agent.core.domain import File, Report, Solution, Verdict
from agent.core.events import CodeWritten, Event, Judged, LogEntry, ModelCalled, Notice, StepStarted
from agent.interfaces.exits import Requirements, exit_code, missed_words
from agent.report.metrics import Degraded, NodeMetrics
from agent.report.result import LogFold, Result, document, fold
from tests.demo.recorded import recorded

BROKEN = "def add(a, b):\n    return a - b\n"
REPAIRED = "def add(a, b):\n    return a + b\n"


def solution(text: str, **fields: str) -> Solution:
    return Solution(files=(File(path="sum.py", text=text),), entry="sum.py", **fields)


def verdict(name: str, status: str = "passed", **fields: object) -> Verdict:
    return Verdict(
        name=name, test=name, status=status,
        **{"origin": "user", "integrity": "isolated", **fields},
    )


def log_of(*events: Event, task: str = "session", attempt: int = 1) -> tuple[LogEntry, ...]:
    return tuple(
        LogEntry(run="r1", seq=seq, task=task, attempt=attempt, ordinal=seq, at=seq, event=event)
        for seq, event in enumerate(events, start=1)
    )


def judged(iteration: int, solution: str, *verdicts: Verdict) -> Judged:
    return Judged(iteration=iteration, report=Report(solution=solution, verdicts=verdicts))


STARTED = e.RunStarted(
    title="sum.py", code=BROKEN, entry="sum.py", provider="mock", provider_why="no model",
    sandbox="subprocess",
)
FINISHED = e.RunFinished(
    outcome="healed", proof="E1", strategy="search", reason="- became +", diff="--- a\n+++ b\n",
    code=REPAIRED, iterations=1, candidates=12, tokens=0, cost_usd=0.0, seconds=1.5,
)


def test_of_programs_with_one_entry_the_kept_one_gives_the_files_and_the_report() -> None:
    def package(text: str) -> Solution:
        files = (File(path="sum.py", text=BROKEN), File(path="beside.py", text=text))
        return Solution(files=files, entry="sum.py")

    wrong, kept = package("x = 1\n"), package("x = 2\n")
    passing, failing = (
        Report(solution=one.id, verdicts=(verdict("add", status),))
        for one, status in ((kept, "passed"), (wrong, "failed"))
    )
    result = fold(log_of(
        STARTED, CodeWritten(iteration=1, solution=kept), Judged(iteration=1, report=passing),
        CodeWritten(iteration=2, solution=wrong), Judged(iteration=2, report=failing),
        FINISHED.model_copy(update={"code": BROKEN, "solution": kept.id}),
    ))
    assert (dict(result.files)["beside.py"], result.report) == ("x = 2\n", passing)


def test_neither_waiting_nor_the_time_in_which_no_process_drove_a_run_is_work() -> None:
    result = fold(log_of(
        STARTED, judged(0, "s"), judged(1, "t"), e.Waiting(interrupt="ask-1", question="?"),
        e.Answered(interrupt="ask-1", answer="A"), FINISHED.model_copy(update={"seconds": 5.0}),
    ))
    assert (result.seconds, result.waited_s, result.worked_s) == (5.0, 1.0, 4.0)
    *log, resumed = log_of(STARTED, judged(0, "s"), e.Resumed(note="its process was gone"))
    late = resumed.model_copy(update={"at": resumed.at + 99})
    result = fold([*log, late])
    assert (result.seconds, result.worked_s) == (101.0, 1.0)


@pytest.mark.parametrize("healed", [True, False])
def test_a_run_carries_the_report_of_the_program_that_it_leaves(healed: bool) -> None:
    before, after = solution(BROKEN), solution(REPAIRED, origin="search")
    aside = verdict("remote", "error", integrity=None, excluded="the jail allows no network")
    first = judged(0, before.id, verdict("add", "failed"), aside)
    second = judged(1, after.id, verdict("add", "passed" if healed else "error"))
    end = FINISHED if healed else FINISHED.model_copy(
        update={"outcome": "unresolved", "proof": None, "code": BROKEN, "diff": ""}
    )
    result = fold(log_of(STARTED, first, CodeWritten(iteration=1, solution=after), second, end))
    assert (result.outcome, result.proof, result.healed) == (end.outcome, end.proof, healed)
    assert result.code == (REPAIRED if healed else BROKEN)
    assert result.report is not None and result.report.passed is healed
    assert [(one.name, one.evidence_status) for one in result.report.verdicts] == [
        ("add", "passed" if healed else "failed"), ("remote", "excluded"),
    ]
    if healed:
        assert result.files == (("sum.py", REPAIRED),)
        assert fold(log_of(STARTED, first, end)).report is None  # never another program's
    else:
        assert (result.claim, result.integrity, result.integrity_reason) == ("", None, "")


def test_an_unfinished_run_adds_up_what_it_spent() -> None:
    call = ModelCalled(call=0, role="x", provider="p", model="m", tokens=7, cost_usd=0.5, wall_s=1)
    unpriced = call.model_copy(update={"cost_usd": None})
    twice = fold(log_of(STARTED, call, call))
    assert (twice.tokens, twice.cost_usd, twice.seconds) == (14, 1.0, 2.0)
    assert fold(log_of(STARTED, call, unpriced)).cost_usd is None


def test_a_held_out_test_is_listed_once_under_its_new_origin() -> None:
    held = e.TestInfo(name="a", origin="held-out", code="assert 1")
    shown = held.model_copy(update={"origin": "user"})
    log = log_of(*(e.TestsFrozen(tests=(one,)) for one in (shown, held)))
    assert fold(log).tests == (held,)


@pytest.mark.parametrize(("verdicts", "smallest"), [
    ([verdict("a", "failed", call="add(1000, 2000)"), verdict("b", "failed", call="add(1, 2)"),
      verdict("c", call="add(0)"), verdict("d", "failed", call="x()", origin="adversarial")], "b"),
    ([verdict("a", "failed", wall_s=2.0), verdict("quick", "failed", wall_s=0.1)], "quick"),
    # A pass that is not believed heals nothing; what sets itself aside neither passes nor fails.
    ([verdict("a"), verdict("b", integrity=None, doubt="it looks")], "b"),
    ([verdict("a"), *(verdict(one, one, integrity=None) for one in d.NEUTRAL_STATUSES)], None),
    ([verdict("a"), verdict("b", "failed", call="x()", origin="adversarial")], None),
], ids=["the shortest call", "the quickest", "not believed", "excluded", "only adversarial"])
def test_the_smallest_failure_decides(verdicts: list[Verdict], smallest: str | None) -> None:
    report = Report(solution="s", verdicts=tuple(verdicts))
    failure = Result(report=report).smallest_failure
    assert (failure and failure.name, report.passed) == (smallest, smallest is None)


def believed(*integrities: str, **fields: object) -> Report:
    """A report whose passes are believed so far."""
    return Report(solution="s", verdicts=tuple(
        verdict(
            str(number), integrity=one, reason="" if one == "isolated" else f"by {one}", **fields
        )
        for number, one in enumerate(integrities)
    ))


@pytest.mark.parametrize(("report", "integrity", "why"), [
    (believed("isolated", "isolated"), "isolated", ""),
    (believed("isolated", "in-process", "isolated"), "in-process", "by in-process"),
    (believed("in-process", vacuous=True), None, ""), (believed(), None, ""), (None, None, ""),
])
def test_proof_and_integrity_are_claimed_together(
    report: Report | None, integrity: d.Integrity | None, why: str
) -> None:
    result = Result(outcome="healed", proof="E2", report=report)
    assert (result.integrity, result.integrity_reason) == (integrity, why)
    assert result.claim.startswith("E2") and (integrity or "") in result.claim
    assert why in result.claim


@pytest.mark.parametrize(("verdicts", "integrity", "why"), [
    ([verdict("a", integrity="in-process", reason="the test replaces sys.stdin for a while"),
      verdict("b", integrity="in-process", reason="uses caplog"), verdict("c")],
     "in-process", "uses caplog"),
    # Nothing but passes that decide and show something is looked at.
    ([verdict("a"), verdict("b", integrity="in-process", vacuous=True),
      verdict("c", "skipped", integrity=None),
      verdict("d", "passed", integrity=None, doubt="it looks into frames"),
      verdict("e", "failed", integrity="in-process"),
      verdict("f", integrity="in-process", origin="adversarial")], "isolated", ""),
])
def test_integrity_and_its_reason(verdicts: list[Verdict], integrity: str, why: str) -> None:
    report = Report(solution="s", verdicts=tuple(verdicts))
    assert (report.integrity, report.integrity_reason) == (integrity, why)


ISOLATED, IN_PROCESS = believed("isolated"), believed("in-process")
WRITTEN, SUBMITTED = (STARTED.model_copy(update={"code": code}) for code in ("", "x = 1"))


@pytest.mark.parametrize(("result", "required", "code"), [
    *((Result(outcome=outcome, proof=proof), Requirements(required), code)
      for outcome, proof, required, code in (
          ("healthy", None, "E1", 0), ("healed", "E1", "E1", 0), ("healed", "E2", "E1", 0),
          ("unresolved", None, "E1", 1), (None, None, "E1", 1), ("not_fixable", None, "E1", 4),
          ("needs_model", None, "E1", 4), ("budget", None, "E1", 5), ("healed", "E1", "E2", 6),
          ("crash_stopped", "E0", "E1", 6), ("crash_stopped", "E0", "E0", 0),
          ("cancelled", None, "E1", 130),
      )),
    # What was written needs proof though it was right at once.
    (Result(outcome="healthy", proof="E0", start=WRITTEN), Requirements(), 6),
    (Result(outcome="healthy", proof="E1", start=WRITTEN), Requirements(), 0),
    (Result(outcome="healthy", proof="E0", start=SUBMITTED), Requirements(), 0),
    *((Result(outcome=outcome, proof="E1", report=report), Requirements(integrity=asked), code)
      for outcome in ("healthy", "healed") for report, asked, code in (
          (ISOLATED, "isolated", 0), (ISOLATED, "in-process", 0), (ISOLATED, None, 0),
          (IN_PROCESS, "isolated", 6), (IN_PROCESS, "in-process", 0), (IN_PROCESS, None, 0),
      )),
    # Where no test shows anything, no integrity that is asked for is reached.
    *((Result(outcome="healthy", proof="E0", report=believed("isolated", vacuous=True)),
       Requirements(integrity=asked), code) for asked, code in ((None, 0), ("in-process", 6))),
])
def test_exit_codes_follow_the_outcome(result: Result, required: Requirements, code: int) -> None:
    assert exit_code(result, required) == code
    assert exit_code(replace(result, error="KeyError"), required) == 3
    assert (code != 6) or missed_words(result, required)


def test_the_document_lists_each_verdict() -> None:
    report = Report(solution="s", verdicts=(
        verdict("a", "failed", integrity=None, expected="3", got="'\ud800'", message="m"),
    ))
    shown = json.loads(json.dumps(document(Result(report=report))))
    assert shown["tests"] == [{
        "id": "a", "origin": "user", "status": "failed", "integrity": None, "reason": "",
        "disbelieved": "", "doubt": "", "vacuous": False, "excluded": "", "aside": "",
        "expected": "3", "got": "'\ud800'", "message": "m",
    }]


@given(st.data())
def test_any_events_in_any_order_fold(data: st.DataObject) -> None:
    events: list[Event] = [
        StepStarted(step="execute", iteration=0),
        e.StepFinished(step="execute", iteration=0, wall_ms=1.0),
        e.StepFinished(step="repair", iteration=3, wall_ms=1.0),
        e.TestsFrozen(tests=(e.TestInfo(name="t", origin="spec", code="assert f() == 1"),)),
        judged(0, "a", verdict("t", "failed", origin="spec")),
        judged(1, "b", verdict("u", "timeout"), verdict("t", origin="spec")),
        e.Searched(candidates=3, plausible=0, best_passed=0, total=1, wall_s=0.1),
        Notice(level="warning", text="slow"), e.Waiting(interrupt="i", question="keep it?"),
        FINISHED, e.RunFailed(error="lost"),
    ]
    chosen = data.draw(st.lists(st.sampled_from(events), max_size=14))
    tasks = data.draw(st.lists(st.sampled_from("ab"), min_size=14, max_size=14))
    log = tuple(
        LogEntry(run="r", seq=n, task=tasks[n], attempt=1, ordinal=n, at=n, event=event)
        for n, event in enumerate(chosen)
    )
    view = fold(log)
    assert fold(log) == view
    assert all(len(row.cells) == len(view.tested_programs) for row in view.rows)


@settings(max_examples=20)
@given(st.data())
@pytest.mark.nightly
def test_an_incremental_fold_equals_a_whole_fold_at_each_event(data: st.DataObject) -> None:
    names = ("healed", "unresolved", "crash_stopped", "waiting", "rounds", "rivals")
    log = list(recorded(data.draw(st.sampled_from(names))))
    for place in data.draw(st.lists(st.integers(0, len(log) - 1), max_size=3)):
        again = [one for one in log[: place + 1] if one.task == log[place].task]
        attempt = again[-1].attempt + 1  # its step is entered anew where it was cut off
        log[place + 1 : place + 1] = [one.model_copy(update={"attempt": attempt}) for one in again]
    folding = LogFold()
    for place, one in enumerate(log, start=1):
        whole = replace(fold(log[:place]), metrics={}, degraded=())
        assert folding.after([one]) == whole
    assert LogFold().after(log) == whole


def call(**fields: object) -> ModelCalled:
    return ModelCalled.model_validate({
        "call": 0, "role": "critic", "provider": "p", "model": "m", "tokens": 7, "cost_usd": 0.5,
        "wall_s": 1.0, **fields,
    })


def failed(role: str) -> e.ModelFailed:
    return e.ModelFailed(
        call=1, role=role, provider="p", model="m", error="Overloaded", why="it is busy", tokens=3,
        cost_usd=0.25, wall_s=1,
    )


def test_a_step_carries_what_all_its_runs_took_also_one_that_a_crash_cut_short() -> None:
    begun = StepStarted(step="critique", iteration=1)
    ended = e.StepFinished(step="critique", iteration=1, wall_ms=1500)
    log = (
        *log_of(begun, task="c"), *log_of(call(), failed("critic")),
        *log_of(begun, Notice(level="warning", text="no critic", role="critic"), ended, task="c",
                attempt=2),
        *log_of(StepStarted(step="prove", iteration=1), task="p"),
        *log_of(e.FellBack(role="critic", provider="p/m", to="q/n", why="it is gone"),
                call(cost_usd=None)),
    )
    result = fold(log)
    assert result.metrics == {
        "critique": NodeMetrics(runs=2, seconds=1.5, calls=2, failed=1, tokens=10, cost_usd=0.75),
        "prove": NodeMetrics(runs=1, calls=1, tokens=7, cost_usd=None),
    }
    assert sum(one.tokens for one in result.metrics.values()) == result.tokens
    first, second = result.degraded
    assert first == Degraded("critique", "critic", "no critic")
    assert (second.step, second.role) == ("prove", "critic")
    assert [one for one in ("p/m", "q/n", "it is gone") if one not in second.why] == []
    told = document(result)
    assert told["metrics"]["critique"]["tokens"] == 10  # type: ignore[index]  # a JSON object
    assert json.loads(json.dumps(told))["degraded"][0] == {
        "step": "critique", "role": "critic", "why": "no critic",
    }


def test_a_step_shows_the_events_of_its_task_and_of_its_last_attempt() -> None:
    start = StepStarted(step="execute", iteration=0)
    first = log_of(start, Notice(level="info", text="lost"), call(), task="left")
    again = log_of(start, call(), task="left", attempt=2)
    right = log_of(StepStarted(step="diagnose", iteration=1), task="right")
    late = log_of(Notice(level="info", text="from the left"), task="left", attempt=2)
    view = fold((*first, *again, *right, *late))
    assert [[one.kind for one in step.events] for step in view.timeline] == [
        ["model_called", "notice"], [],
    ]
    assert ([one.text for one in view.notices], view.tokens) == (["from the left"], 7)


def test_a_solution_judged_again_in_its_iteration_keeps_its_column() -> None:
    aside = verdict("remote", "error", integrity=None, excluded="the jail allows no network")
    view = fold(log_of(
        judged(0, "a", verdict("t", "failed"), aside),
        judged(0, "a", verdict("t", "failed"), verdict("u")),
        judged(1, "b", verdict("t"), verdict("u")),
    ))
    assert [column.iteration for column in view.tested_programs] == [0, 1]
    statuses = {
        row.name: [cell.evidence_status for cell in row.cells if cell] for row in view.rows
    }
    assert statuses == {
        "t": ["failed", "passed"], "u": ["passed", "passed"], "remote": ["excluded"],
    }


def test_frozen_tests_are_rows_grouped_by_origin_with_the_users_own_first() -> None:
    log = log_of(
        e.TestsFrozen(tests=(
            e.TestInfo(name="edge", origin="adversarial", code=""),
            e.TestInfo(name="mine", origin="user", code=""),
        )),
        judged(0, "a", verdict("edge", "error", origin="adversarial"), verdict("mine")),
    )
    assert [row.name for row in fold(log).rows] == ["mine", "edge"]
    assert [row.latest for row in fold(log[:1]).rows] == [None, None]  # before they are judged


def test_a_run_waits_until_answered_and_shows_its_patch() -> None:
    asked = e.Waiting(interrupt="i", question="keep?")
    log = log_of(STARTED, asked, e.Answered(interrupt="i", answer="yes"), FINISHED)
    assert [fold(log[:length]).phase for length in range(5)] == [
        "empty", "running", "waiting", "running", "finished",
    ]
    assert fold(log_of(STARTED, asked, e.RunFailed(error="x"))).phase == "failed"

    tried = e.PatchProposed(iteration=1, strategy="search", note="n", diff="tried")
    assert fold(log_of(STARTED, tried)).last_diff == "tried"
    assert fold(log_of(STARTED, tried, FINISHED)).last_diff == FINISHED.diff


def test_proofs_and_regressions_are_those_of_the_last_program() -> None:
    weak = verdict("t", integrity="in-process", reason="uses caplog")
    log = log_of(STARTED, judged(0, "a", verdict("t", "failed")), judged(1, "b", weak),
                 e.Proved(level="E1", why="w"))
    claim = fold(log).claim
    assert [one for one in ("E1", "in-process", "uses caplog") if one not in claim] == []

    view = fold(log_of(
        judged(0, "a", verdict("t")), judged(1, "b", verdict("t", "skipped", integrity=None)),
        judged(2, "c", verdict("t", "passed", integrity=None, doubt="it looks into frames")),
    ))
    assert [view.rows[0].regressed_at(index) for index in range(3)] == [False, False, True]
    view = fold(log_of(judged(0, "a", verdict("t")), judged(1, "b", verdict("t", "failed"))))
    assert [view.rows[0].regressed_at(index) for index in (0, 1)] == [False, True]
