"""Lists the judged programs of a run and compares two runs; pure functions of their logs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from agent.core.domain import Approach, Report, Solution, VerdictStatus, unified
from agent.core.events import IterationEnded, LogEntry, without_retries
from agent.report.result import Result, document, fold
from agent.report.timeline import JudgedProgram
from agent.target.errors import BadInput

COMPARED_KEYS = (
    "run_id", "parent", "outcome", "proof", "strategy", "iterations", "calls", "tokens", "cost_usd",
    "seconds",
)


class UnknownIteration(BadInput, LookupError):
    """The run judged no program in that iteration; the message lists the known iterations."""


@dataclass(frozen=True)
class JudgedIteration:
    """One judged program with its latest report."""

    iteration: int
    approach: Approach | Literal[""]
    solution: Solution
    report: Report
    parent: int | None
    diff: str

    @property
    def by(self) -> str:
        """Where it came from: `user`, `memory`, `search`, `model` or `draft`."""
        return self.solution.origin

    @property
    def passed(self) -> int:
        return self.report.score[0]

    @property
    def of(self) -> int:
        return len(self.report.deciding_verdicts)

    @property
    def document(self) -> dict[str, object]:
        return {
            "iteration": self.iteration, "approach": self.approach or None, "by": self.by,
            "note": self.solution.note, "passed": self.passed, "of": self.of,
            "passes": self.report.passed, "parent": self.parent, "diff": self.diff,
            "files": {file.path: file.text for file in self.solution.files},
            "tests": [
                {"id": one.name, "origin": one.origin, "got": one.got,
                 "status": one.evidence_status, "standing": one.evidence_status}
                for one in self.report.verdicts
            ],
        }


def iterations(log: Iterable[LogEntry]) -> tuple[JudgedIteration, ...]:
    """The judged programs of a run in order; one iteration may have several."""
    log = tuple(log)
    approaches = {
        entry.event.iteration: entry.event.approach for entry in without_retries(log)
        if isinstance(entry.event, IterationEnded)
    }
    tested = fold(log).tested_programs
    return tuple(
        JudgedIteration(
            one.iteration, "" if one.parent is None else approaches.get(one.iteration, ""),
            one.solution, one.report, None if one.parent is None else tested[one.parent].iteration,
            program_diff(tested, place),
        )
        for place, one in enumerate(tested) if one.solution is not None
    )


def program_diff(tested: Sequence[JudgedProgram], place: int, since: int | None = None) -> str:
    """Returns the diff of a program to its parent, or to the program at the index `since`."""
    one = tested[place]
    other = one.parent if since is None else since
    base = None if other is None else tested[other].solution
    return "" if one.solution is None or base is None else one.solution.diff(base)


def program_of(log: Iterable[LogEntry], iteration: int) -> JudgedIteration:
    """The last program of an iteration; raises `UnknownIteration`."""
    found = iterations(log)
    chosen = [one for one in found if one.iteration == iteration]
    if not chosen:
        known = ", ".join(str(one) for one in sorted({one.iteration for one in found}))
        raise UnknownIteration(
            f"No program was judged in iteration {iteration}. "
            + (f"Choose one of: {known}." if known else "This run has judged no program.")
        )
    return chosen[-1]


@dataclass(frozen=True)
class Differing:
    """A test whose status differs between two runs; `None` where it was not run."""

    name: str
    left: VerdictStatus | None
    right: VerdictStatus | None


@dataclass(frozen=True)
class RunComparison:
    left: Result
    right: Result
    related: str
    diff: str
    differences: tuple[Differing, ...]

    @property
    def document(self) -> dict[str, object]:
        return {
            "left": _side(self.left), "right": _side(self.right), "related": self.related or None,
            "diff": self.diff,
            "tests": [
                {"id": one.name, "left": one.left, "right": one.right} for one in self.differences
            ],
        }


def _side(result: Result) -> dict[str, object]:
    fields = document(result)
    return {name: fields[name] for name in COMPARED_KEYS}


def run_comparison(left: Iterable[LogEntry], right: Iterable[LogEntry]) -> RunComparison:
    """Compares the outcomes, final programs and verdicts of two runs."""
    one, other = fold(left), fold(right)
    before, after = dict(one.files), dict(other.files)
    return RunComparison(
        one, other, _related(one, other),
        "".join(
            unified(path, before.get(path, ""), after.get(path, ""))
            for path in sorted(before.keys() | after.keys())
        ),
        differences(one.report, other.report),
    )


def differences(left: Report | None, right: Report | None) -> tuple[Differing, ...]:
    """The tests whose status differs between two reports."""
    before, after = (
        {verdict.name: verdict.evidence_status for verdict in side.verdicts} if side is not None
        else {}
        for side in (left, right)
    )
    return tuple(
        Differing(name, before.get(name), after.get(name)) for name in {**before, **after}
        if before.get(name) != after.get(name)
    )


def _related(left: Result, right: Result) -> str:
    for child, other in ((right, left), (left, right)):
        parent = child.parent
        if parent is not None and parent.run == other.run_id:
            side = "right" if child is right else "left"
            return f"the {side} run is a fork of the other at iteration {parent.iteration}"
    ours, theirs = left.parent, right.parent
    if ours is not None and theirs is not None and ours.run == theirs.run:
        return (
            f"both are forks of {ours.run}, at iterations {ours.iteration} and {theirs.iteration}"
        )
    return ""
