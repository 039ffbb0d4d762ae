"""The moments of a run, one after each of its events, as a page leafs through them; pure.

A page asks once and then shows any of them by itself. Most of a moment stands in the one before it
too, so each piece of HTML is told once, and of a moment which pieces are other than before.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from agent.core.domain import Report
from agent.core.events import RunStarted, Stamped
from agent.log.result import Folding, Result
from agent.log.timeline import TimelineStep
from agent.log.words import event_lines
from demo.shown.bench import moment
from demo.shown.escape import escaped
from demo.shown.matrix import matrix
from demo.shown.required import required
from demo.shown.timeline import judged_last, step_shown


def moments(log: Sequence[Stamped]) -> dict[str, object]:
    """`pieces` of HTML, and `moments`: of each the places that change, with the piece that comes
    there. Places are those of the colours, the event, verdict, patch and tests, and then of the
    steps."""
    pieces: dict[str, int] = {}
    changes: list[dict[int, int]] = []
    before: list[int] = []
    for shown in _shown(log):
        now = [pieces.setdefault(piece, len(pieces)) for piece in shown]
        changes.append({
            place: piece for place, piece in enumerate(now) if before[place : place + 1] != [piece]
        })
        before = now
    return {"pieces": [*pieces], "moments": changes}


def _shown(log: Sequence[Stamped]) -> Iterator[list[str]]:
    """The pieces of each moment; what is as it was is not drawn anew."""
    folding, table, steps = Folding(), _Table(), _Steps()
    for entry in log:
        result = required(folding.after([entry]))
        said = "; ".join(" ".join(line.text.split()) for line in event_lines(entry.event))
        words = escaped(said or entry.event.kind.replace("_", " "), 300)
        lead = f"<b>{entry.at - log[0].at:.1f} s</b> {words}"
        colours, verdict, patch = moment(result)
        yield [colours, lead, verdict, patch, table.of(result), *steps.of(result)]


class _Table:
    """The tests, drawn where they are other than before."""

    def __init__(self) -> None:
        self._of: tuple[object, ...] = ()
        self._drawn = ""

    def of(self, result: Result) -> str:
        of = (result.tests, result.columns)
        if len(self._of) != 2 or any(one is not two for one, two in zip(of, self._of, strict=True)):
            self._of, self._drawn = of, matrix(result, opens=False)
        return self._drawn


class _Steps:
    """The steps, each drawn where it is other than before."""

    def __init__(self) -> None:
        self._judged: Report | None = None
        self._drawn: dict[tuple[int, bool], tuple[TimelineStep, str]] = {}

    def of(self, result: Result) -> list[str]:
        now, judged = result.current, judged_last(result)
        if judged is not self._judged:
            self._judged, self._drawn = judged, {}
        return [
            self._one(place, step, step is now, result.start)
            for place, step in enumerate(result.timeline)
        ]

    def _one(self, place: int, step: TimelineStep, now: bool, start: RunStarted | None) -> str:
        known = self._drawn.get((place, now))
        if known is None or known[0] is not step:
            known = self._drawn[place, now] = step, step_shown(
                step, now, self._judged, start
            )
        return known[1]
