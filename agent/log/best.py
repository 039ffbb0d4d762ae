"""Chooses the best program of a run: a passing report first, then the score, then the latest.

The user's own program is preferred among equals.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from agent.core.domain import Report, Solution, counted
from agent.core.events import CodeWritten, Critiqued, Judged, LogEntry, RunStarted

Review = Literal["none", "reviewed", "rejected"]
REVIEWS: dict[str, Review] = {
    "approve": "reviewed", "object": "reviewed", "reject": "rejected", "unreviewed": "none",
}


@dataclass(frozen=True)
class BestProgram:
    """The best program of a run with its latest report."""

    solution: Solution
    diff: str
    report: Report | None = None
    iteration: int | None = None
    """The iteration that judged it; `None` if that iteration judged another one last."""
    review: Review = "none"

    @property
    def files(self) -> tuple[tuple[str, str], ...]:
        return tuple((file.path, file.text) for file in self.solution.files)

    @property
    def passed(self) -> int:
        """The number of deciding tests that it passes."""
        return 0 if self.report is None else self.report.score[0]

    @property
    def of(self) -> int:
        return 0 if self.report is None else len(self.report.deciding_verdicts)

    @property
    def label(self) -> str:
        """Its test results and review in words."""
        if self.report is None:
            return "not judged by any test"
        share = f"{self.passed} of {counted(self.of, 'test')}"
        if not self.report.passed:
            return f"passes {share}, not a fix"
        if self.passed == self.of:
            share = f"all {self.of} tests" if self.of > 1 else "the one test"
        review = {"none": "not reviewed, ", "reviewed": "", "rejected": "rejected by the critic, "}
        results = f"passes {share}" if self.of else "finishes without an error"
        return f"{results}, {review[self.review]}not accepted"


def best_of(log: Sequence[LogEntry]) -> BestProgram | None:
    """The best program of a log filtered by `without_retries`; `None` if it has none."""
    written: dict[str, Solution] = {}
    newest: dict[str, tuple[int, Report]] = {}
    judged_in: dict[tuple[int, str], None] = {}
    reviews: dict[str, Review] = {}
    judged, submitted = "", False
    for entry in log:
        match entry.event:
            case RunStarted(code=code):
                submitted = bool(code)
            case CodeWritten(solution=solution):
                written[solution.id] = solution
            case Judged(iteration=number, report=report) if report.solution in written:
                judged = report.solution
                judged_in.setdefault((number, judged))
                newest.pop(judged, None)  # the latest comes last
                newest[judged] = number, report
            case Critiqued(verdict=verdict, tests=tests):
                reviews[judged] = "reviewed" if tests else REVIEWS[verdict]
            case _:
                pass
    if not written:
        return None
    first, *_, last = (*written.values(), *written.values())
    if not newest:
        return BestProgram(last, last.diff(first))

    def rank(key: str) -> tuple[bool, tuple[int, int], bool]:
        report = newest[key][1]
        return report.passed, report.score, submitted and key == first.id

    key = max(reversed(newest), key=rank)
    number, report = newest[key]
    last_of_it = [name for at, name in judged_in if at == number][-1] == key
    return BestProgram(
        written[key], written[key].diff(first), report, number if last_of_it else None,
        reviews.get(key, "none"),
    )
