"""The moments of a run, one after each of its events, as a page leafs through them; pure.

A page asks once and then shows any of them by itself. Most of a moment stands in the one before it
too, so each piece of HTML is told once, and of a moment which pieces are other than before.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial

from agent.core.events import Stamped
from agent.report.result import Folding
from agent.report.words import event_lines
from demo.views.bench import moment
from demo.views.escape import escaped
from demo.views.matrix import matrix
from demo.views.required import required
from demo.views.timeline import judged_last, step_text


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
    """The pieces of each moment; what is as it was is not drawn again."""
    folding = Folding()
    drawn: dict[object, tuple[tuple[object, ...], str]] = {}

    def kept(key: object, of: tuple[object, ...], draw: Callable[[], str]) -> str:
        """A piece, drawn where one of those objects that it is drawn of is another than before."""
        before = drawn.get(key)
        if before is None or any(one is not two for one, two in zip(before[0], of, strict=True)):
            before = drawn[key] = of, draw()
        return before[1]

    for entry in log:
        result = required(folding.after([entry]))
        said = "; ".join(" ".join(line.text.split()) for line in event_lines(entry.event))
        words = escaped(said or entry.event.kind.replace("_", " "), 300)
        lead = f"<b>{entry.at - log[0].at:.1f} s</b> {words}"
        colours, verdict, patch = moment(result)
        table = kept("table", (result.tests, result.columns), partial(matrix, result, opens=False))
        now, judged = result.current, judged_last(result)
        yield [colours, lead, verdict, patch, table, *(
            kept((place, step is now), (step, judged),
                 partial(step_text, step, step is now, judged, result.start))
            for place, step in enumerate(result.timeline)
        )]
