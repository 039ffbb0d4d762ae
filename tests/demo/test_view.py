from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.domain import Ending, Report, RunOutcome, Verdict
from agent.events import (
    Event,
    Extended,
    FellBack,
    Judged,
    ModelCalled,
    ModelFailed,
    Notice,
    RunFailed,
    RunFinished,
    Searched,
    Stamped,
    StepFinished,
    StepStarted,
    TestInfo,
    TestsFrozen,
    Waiting,
)
from demo.render import workbench
from demo.view import cost, fold, headline, told

Log = tuple[Stamped, ...]
NAMES = ["healed", "unresolved", "crash_stopped", "waiting"]


def log_of(*events: Event, task: str = "step", attempt: int = 1) -> Log:
    return tuple(
        Stamped(run="run", seq=seq, task=task, attempt=attempt, ordinal=seq, at=seq, event=event)
        for seq, event in enumerate(events, start=1)
    )


def verdict(
    name: str, status: str, *, origin: str = "user", call: str = "f()", **fields: object
) -> Verdict:
    return Verdict.model_validate({
        "name": name, "test": name, "origin": origin, "status": status, "integrity": "outside",
        "call": call, **fields,
    })


def judged(iteration: int, solution: str, *verdicts: Verdict) -> Judged:
    return Judged(iteration=iteration, report=Report(solution=solution, verdicts=verdicts))


def finished(outcome: RunOutcome, **changes: object) -> RunFinished:
    event = RunFinished(
        outcome=outcome, proof="E1", strategy="search", reason="", diff="", iterations=1,
        candidates=9, tokens=0, cost_usd=0.0, seconds=1.24,
    )
    return event.model_copy(update=changes)


@pytest.mark.parametrize("name", NAMES)
def test_every_prefix_of_a_run_folds_and_renders(
    recorded: Callable[[str], Log], name: str
) -> None:
    log = recorded(name)
    for length in range(len(log) + 1):
        view = fold(log[:length])
        assert len(view.rows) >= len(view.tests)
        assert fold(log[:length]) == view
        assert view.phase == "empty" if length == 0 else view.phase != "empty"
        assert workbench(view).count("<div") == workbench(view).count("</div>")


@given(st.data())
def test_any_events_in_any_order_fold(data: st.DataObject) -> None:
    events: list[Event] = [
        StepStarted(step="execute", iteration=0),
        StepFinished(step="execute", iteration=0, wall_ms=1.0),
        StepFinished(step="repair", iteration=3, wall_ms=1.0),
        TestsFrozen(tests=(TestInfo(name="t", origin="spec", code="assert f() == 1"),)),
        judged(0, "a", verdict("t", "failed", origin="spec")),
        judged(1, "b", verdict("u", "timeout"), verdict("t", "passed", origin="spec")),
        Searched(candidates=3, plausible=0, best_passed=0, total=1, wall_s=0.1),
        Notice(level="warning", text="slow"),
        Waiting(interrupt="i", question="keep it?"),
        finished("healed"),
        RunFailed(error="lost"),
    ]
    chosen = data.draw(st.lists(st.sampled_from(events), max_size=14))
    tasks = data.draw(st.lists(st.sampled_from("ab"), min_size=14, max_size=14))
    log = tuple(
        Stamped(run="r", seq=n, task=tasks[n], attempt=1, ordinal=n, at=n, event=event)
        for n, event in enumerate(chosen)
    )
    view = fold(log)
    assert fold(log) == view
    assert all(len(row.cells) == len(view.columns) for row in view.rows)
    assert workbench(view)


def test_a_step_tried_again_replaces_what_its_first_attempt_showed() -> None:
    first = log_of(StepStarted(step="execute", iteration=0), Notice(level="info", text="lost"))
    again = log_of(StepStarted(step="execute", iteration=0), attempt=2)
    view = fold((*first, *again))
    assert [moment.remarks for moment in view.moments] == [()]
    assert view.notices == ()


def test_remarks_go_to_the_step_whose_task_they_name() -> None:
    left = log_of(StepStarted(step="repair", iteration=1), task="left")
    right = log_of(StepStarted(step="diagnose", iteration=1), task="right")
    late = log_of(Notice(level="info", text="from the left"), task="left")
    view = fold((*left, *right, *late))
    assert [[r.text for r in moment.remarks] for moment in view.moments] == [["from the left"], []]


def test_a_solution_judged_again_in_its_iteration_keeps_its_column() -> None:
    view = fold(log_of(
        judged(0, "a", verdict("t", "failed")),
        judged(0, "a", verdict("t", "failed"), verdict("u", "passed")),
        judged(1, "b", verdict("t", "passed"), verdict("u", "passed")),
    ))
    assert [column.label for column in view.columns] == ["before", "try 1"]
    assert [[cell.status for cell in row.cells if cell] for row in view.rows] == [
        ["failed", "passed"], ["passed", "passed"],
    ]


def test_a_test_that_passed_and_fails_again_is_a_regression() -> None:
    view = fold(log_of(
        judged(0, "a", verdict("t", "passed")),
        judged(1, "b", verdict("t", "failed")),
    ))
    assert [view.rows[0].regressed_at(index) for index in (0, 1)] == [False, True]


def test_rows_are_grouped_by_origin_with_the_users_own_first() -> None:
    view = fold(log_of(
        TestsFrozen(tests=(
            TestInfo(name="edge", origin="adversarial", code=""),
            TestInfo(name="mine", origin="user", code=""),
        )),
        judged(0, "a", verdict("edge", "error", origin="adversarial"), verdict("mine", "passed")),
    ))
    assert [row.name for row in view.rows] == ["mine", "edge"]


def test_a_frozen_test_is_a_row_before_it_is_judged() -> None:
    view = fold(log_of(TestsFrozen(tests=(TestInfo(name="t", origin="user", code="x"),))))
    assert [(row.name, row.latest) for row in view.rows] == [("t", None)]


def test_the_smallest_failing_call_is_that_of_the_program_as_given() -> None:
    view = fold(log_of(
        judged(0, "a", verdict("t", "failed", call="f([1, 2, 3])"), verdict("u", "failed"),
               verdict("v", "failed", origin="adversarial", call="g")),
        judged(1, "b", verdict("t", "failed", call="f")),
    ))
    assert view.smallest_failing is not None
    assert view.smallest_failing.call == "f()"


def test_the_headline_names_outcome_proof_cost_and_time() -> None:
    assert headline(fold(log_of(finished("healed")))) == (
        "HEALED",
        ("proof E1", "your tests pass", "search, no model, $0.00", "1 iteration", "1.2 s"),
    )


def test_the_headline_says_how_far_the_proof_is_believed() -> None:
    weak = verdict("t", "passed", integrity="in-process", reason="uses caplog")
    log = log_of(judged(0, "a", verdict("t", "failed")), judged(1, "b", weak), finished("healed"))
    assert headline(fold(log))[1][0] == "proof E1 · in-process: uses caplog"


def test_a_test_that_sets_itself_aside_has_not_broken() -> None:
    view = fold(log_of(
        judged(0, "a", verdict("t", "passed")),
        judged(1, "b", verdict("t", "skipped", integrity=None)),
        judged(2, "c", verdict("t", "passed", integrity=None, doubt="it looks into frames")),
    ))
    assert [view.rows[0].regressed_at(index) for index in range(3)] == [False, False, True]


def test_an_unproven_end_claims_no_proof() -> None:
    word, facts = headline(fold(log_of(finished("not_fixable", proof=None, strategy=None))))
    assert word == "NOT FIXABLE BY CODE"
    assert not any("proof" in fact for fact in facts)


def test_the_headline_of_a_running_search_counts_its_candidates() -> None:
    view = fold(log_of(
        StepStarted(step="repair", iteration=1),
        Searched(candidates=1_200, plausible=0, best_passed=0, total=1, wall_s=0.1),
    ))
    assert headline(view) == ("RUNNING", ("repair", "1,200 candidates"))


def test_a_search_that_was_cut_says_so_on_the_page() -> None:
    log = [
        StepStarted(step="repair", iteration=1),
        Searched(candidates=9, plausible=0, best_passed=0, total=1, wall_s=8.1, cut_after=8.04),
    ]

    assert "the best passes 0 of 1; its time was over after 8.0 s" in workbench(
        fold(log_of(*log))
    )


@pytest.mark.parametrize(("tokens", "dollars", "said"), [
    (0, None, "$0.00"), (1_500, None, "1,500 tokens, cost unknown"),
    (10, 0.5, "10 tokens, $0.50"), (10, 0.0004, "10 tokens, $0.0004"),
    (10, 0.0, "10 tokens, $0.00"),
])
def test_a_cost_is_told_only_where_it_is_known(
    tokens: int, dollars: float | None, said: str
) -> None:
    assert cost(tokens, dollars) == said


def test_an_answered_question_is_no_longer_waited_for(recorded: Callable[[str], Log]) -> None:
    log = recorded("waiting")
    asked = next(n for n, entry in enumerate(log) if isinstance(entry.event, Waiting))
    assert fold(log[: asked + 1]).phase == "waiting"
    assert fold(log).phase == "finished"


@pytest.mark.parametrize(("message", "said"), [("in:", ": in:"), ("", "")])
def test_what_a_program_says_of_its_end_is_told_whole(message: str, said: str) -> None:
    exited = Ending(kind="exited", exit_code=1, message=message)
    raised = Ending(kind="raised", exception="ValueError", message=message, line=2)
    assert told(exited) == f"the program ended itself with exit code 1{said}"
    assert told(raised) == f"ValueError on line 2{said}"


CALLED = ModelCalled(role="critic", provider="anthropic", model="m", tokens=300, cost_usd=0.02,
                     wall_s=1.0)
FAILED = ModelFailed(call=1, role="critic", provider="anthropic", model="m", error="TimedOut",
                     why="no answer within 9 seconds", tokens=200, cost_usd=0.01, wall_s=9.0)


def test_what_models_cost_so_far_stands_beside_the_running_step() -> None:
    events = [StepStarted(step="critique", iteration=1), FAILED, CALLED]
    assert headline(fold(log_of(*events))) == (
        "RUNNING", ("critique", "500 tokens, $0.03")
    )
    unpriced = CALLED.model_copy(update={"cost_usd": None})
    assert fold(log_of(*events, unpriced)).spent == "800 tokens, cost unknown"
    assert fold(log_of(*events[:1])).spent == ""


def test_calls_without_an_answer_and_stand_ins_are_listed_with_the_others() -> None:
    fell = FellBack(role="critic", provider="anthropic/m", to="groq/n", why="overloaded")
    shown = workbench(fold(log_of(
        StepStarted(step="critique", iteration=1), FAILED, fell, CALLED,
    )))
    listed = shown[shown.index("Model calls"):]
    for words in (
        "critic: anthropic/m gave no answer: no answer within 9 seconds (200 tokens, $0.01)",
        "critic: groq/n answers instead of anthropic/m: overloaded",
        "critic: anthropic/m, 300 tokens, $0.02, 1.0 s",
    ):
        assert words in listed


def test_raised_caps_are_told_in_the_timeline() -> None:
    shown = workbench(fold(log_of(
        StepStarted(step="repair", iteration=1), Extended(usd=0.5, calls=40, seconds=60.0),
    )))
    assert "the caps were raised by $0.50, 40 calls, 60 s" in shown
