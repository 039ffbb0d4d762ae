"""The programs that a run judged, and two runs side by side, are read from their logs alone."""

from __future__ import annotations

import pytest

from agent.core.domain import Diagnosis
from agent.core.events import (
    CodeWritten,
    Diagnosed,
    Event,
    IterationEnded,
    Parent,
    RunStarted,
)
from agent.report.iterations import UnknownIteration, iterations, program_of, run_comparison
from agent.report.timeline import with_diagnosis
from tests.agent.log import test_result as t
from tests.agent.log.test_result import BROKEN, FINISHED, STARTED, judged, log_of, verdict

FIRST = t.solution(BROKEN)
WORSE = t.solution(BROKEN.replace("a - b", "0"), origin="model", note="by m", parent=FIRST.id)
RIGHT = t.solution(t.REPAIRED, origin="model", parent=WORSE.id)
ITERATIONS: tuple[Event, ...] = (
    STARTED, CodeWritten(iteration=0, solution=FIRST),
    judged(0, FIRST.id, verdict("one", "failed"), verdict("two")),
    IterationEnded(iteration=1, approach="minimal", better=False),
    CodeWritten(iteration=1, solution=WORSE),
    judged(1, WORSE.id, verdict("one", "failed"), verdict("two", "failed")),
    IterationEnded(iteration=2, approach="rewrite", better=True),
    CodeWritten(iteration=2, solution=RIGHT),
    judged(2, RIGHT.id, verdict("one")), judged(2, RIGHT.id, verdict("one"), verdict("two")),
)


def test_each_judged_program_is_listed_with_its_way_its_parent_and_its_newest_verdict() -> None:
    found = iterations(log_of(*ITERATIONS))
    assert [(one.iteration, one.approach, one.by, one.passed, one.of) for one in found] == [
        (0, "", "user", 1, 2), (1, "minimal", "model", 0, 2), (2, "rewrite", "model", 2, 2),
    ]
    assert [one.parent for one in found] == [None, 0, 1]
    assert [one.diff for one in found] == ["", WORSE.diff(FIRST), RIGHT.diff(WORSE)]
    assert found[1].document["note"] == "by m"


def test_a_program_that_no_judged_one_led_to_is_told_beside_the_first() -> None:
    lost = RIGHT.model_copy(update={"parent": "0123456789abcdef"})
    log = log_of(*ITERATIONS[:6], CodeWritten(iteration=2, solution=lost), judged(2, lost.id))
    assert (iterations(log)[-1].parent, iterations(log)[-1].diff) == (0, RIGHT.diff(FIRST))


def test_the_last_program_of_an_iteration_is_meant_and_one_that_is_not_there_is_named() -> None:
    log = log_of(*ITERATIONS[:3], CodeWritten(iteration=0, solution=RIGHT), judged(0, RIGHT.id))
    assert program_of(log, 0).solution == RIGHT
    with pytest.raises(UnknownIteration, match=r"3.* 0"):
        program_of(log, 3)
    with pytest.raises(UnknownIteration):
        program_of(log_of(STARTED), 0)


def test_two_runs_are_compared_by_what_differs() -> None:
    fork = STARTED.model_copy(update={"parent": Parent(run="r1", iteration=1)})
    left = log_of(*ITERATIONS, FINISHED)
    right = tuple(
        entry.model_copy(update={"run": "r2"}) for entry in log_of(
            fork, *ITERATIONS[1:6],
            FINISHED.model_copy(update={"outcome": "unresolved", "code": BROKEN, "proof": None}),
        )
    )
    found = run_comparison(left, right)

    assert "right" in found.related and "1" in found.related
    assert "left" in run_comparison(right, left).related
    assert "r1" in run_comparison(right, right).related
    assert [(one.name, one.left, one.right) for one in found.differences] == [
        ("one", "passed", "failed")
    ]
    assert (found.diff, run_comparison(left, left).related) == (FIRST.diff(RIGHT), "")
    assert (found.left.parent, found.right.parent) == (None, Parent(run="r1", iteration=1))
    assert isinstance(found.right.start, RunStarted)


def test_a_diagnosis_of_no_listed_program_changes_none() -> None:
    event = Diagnosed(iteration=0, diagnosis=Diagnosis(category="crash", cause="why"))
    assert with_diagnosis((), event) == ()
