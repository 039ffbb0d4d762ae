"""Which program of a run is the best so far, and how it came out."""

from __future__ import annotations

from typing import Literal

import pytest

from agent.core.domain import File, Report, Solution, Verdict
from agent.core.events import CodeWritten, Critiqued, Event, Judged, LogEntry, RunStarted
from agent.log.best import best_of

Origin = Literal["user", "model"]


def program(name: str, origin: Origin = "model") -> Solution:
    return Solution(files=(File(path="a.py", text=f"# {name}\n"),), entry="a.py", origin=origin)


def written(name: str, origin: Origin = "model") -> CodeWritten:
    return CodeWritten(iteration=0, solution=program(name, origin))


def judged(name: str, iteration: int, tests: str, origin: Origin = "model") -> Judged:
    """A report with a test for each letter: `+` passes, `-` fails."""
    verdicts = tuple(
        Verdict(
            name=str(place), test=str(place), origin="user", integrity="isolated",
            status="passed" if sign == "+" else "failed",
        )
        for place, sign in enumerate(tests)
    )
    report = Report(solution=program(name, origin).id, verdicts=verdicts)
    return Judged(iteration=iteration, report=report)


def log(*events: Event, submitted: str = "") -> list[LogEntry]:
    begun = RunStarted(title="", code=submitted, provider="mock", provider_why="", sandbox="")
    return [
        LogEntry(run="r", seq=seq, task="t", attempt=0, ordinal=seq, at=seq, event=event)
        for seq, event in enumerate((begun, *events), 1)
    ]


A, B, C = (written(name) for name in "ABC")
OWN = written("A", "user")


@pytest.mark.parametrize(("events", "submitted", "text", "iteration"), [
    pytest.param((A, judged("A", 0, "+-"), B, judged("B", 1, "--")), "", "# A\n", 0, id="score"),
    pytest.param(
        (A, judged("A", 0, "+++-"), B, judged("B", 1, "++")), "", "# B\n", 1,
        id="one that passes comes before a higher score",
    ),
    pytest.param(
        (A, judged("A", 0, "+-"), B, judged("B", 1, "-+"), C, judged("C", 2, "+-")), "",
        "# C\n", 2, id="the latest of several alike",
    ),
    pytest.param(
        (OWN, judged("A", 0, "+-", "user"), B, judged("B", 1, "-+")), "# A\n", "# A\n", 0,
        id="input is not replaced by its like",
    ),
    pytest.param(
        (OWN, judged("A", 0, "+-", "user"), B, judged("B", 1, "++")), "# A\n", "# B\n", 1,
        id="input is replaced by what is better",
    ),
    pytest.param(
        (A, judged("A", 0, "++"), B, judged("B", 1, "+-"), judged("A", 2, "--")), "", "# B\n", 1,
        id="the newest report of each counts",
    ),
    pytest.param(
        (A, judged("A", 0, "++"), B, judged("B", 0, "--")), "", "# A\n", None,
        id="another one stands in its iteration",
    ),
    pytest.param(
        (A, judged("A", 0, "+-"), B, judged("B", 0, "--"), judged("A", 0, "++")), "", "# A\n",
        None, id="it keeps its place where it is judged again",
    ),
    pytest.param((A, B), "", "# B\n", None, id="none was judged"),
])
def test_the_report_decides_which_program_is_the_best(
    events: tuple[Event, ...], submitted: str, text: str, iteration: int | None
) -> None:
    best = best_of(log(*events, submitted=submitted))
    assert best is not None
    assert (best.solution.text, best.iteration) == (text, iteration)
    assert (best.report is None) == (len(events) == 2)
    assert bool(best.diff) == (best.solution.text != "# A\n")
    assert best_of(log()) is None


@pytest.mark.parametrize(("tests", "critic", "passed", "review"), [
    ("++", None, 2, "none"), ("++", Critiqued(verdict="unreviewed", note="n"), 2, "none"),
    ("++", Critiqued(verdict="approve", note="n"), 2, "reviewed"),
    ("++", Critiqued(verdict="reject", note="n", tests=("t",)), 2, "reviewed"),
    ("+", Critiqued(verdict="reject", note="n"), 1, "rejected"), ("+-", None, 1, "none"),
    ("", None, 0, "none"),
])
def test_how_it_came_out_and_was_reviewed_is_known(
    tests: str, critic: Critiqued | None, passed: int, review: str
) -> None:
    best = best_of(log(A, judged("A", 0, tests), *((critic,) if critic is not None else ())))
    assert best is not None
    assert (best.passed, best.of, best.review) == (passed, len(tests), review)
