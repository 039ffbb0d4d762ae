"""Renders the state of a run after each of its events, for replay on the page. Pure functions.

The page loads all states once and then shows any of them. Successive states share most of their
HTML, so each piece is sent once, and each state lists only the pieces that change.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial

from agent.core.events import LogEntry
from agent.report.result import LogFold
from agent.report.words import event_lines
from demo.views.bench import replay_frame
from demo.views.escape import escaped
from demo.views.matrix import matrix
from demo.views.required import required
from demo.views.timeline import judged_last, step_text


def moments(log: Sequence[LogEntry]) -> dict[str, object]:
    """Returns `pieces` of HTML, and `moments`: for each state a map from the changed places to
    their pieces. Places are the colours, event, verdict, patch, tests, and then the steps."""
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


def _shown(log: Sequence[LogEntry]) -> Iterator[list[str]]:
    """Yields the pieces of each state. Unchanged pieces are not rendered again."""
    folding = LogFold()
    rendered: dict[object, tuple[tuple[object, ...], str]] = {}

    def cached(key: object, inputs: tuple[object, ...], render: Callable[[], str]) -> str:
        """Renders a piece if one of its input objects has changed."""
        last = rendered.get(key)
        if last is None or any(one is not two for one, two in zip(last[0], inputs, strict=True)):
            last = rendered[key] = inputs, render()
        return last[1]

    for entry in log:
        result = required(folding.after([entry]))
        text = "; ".join(" ".join(line.text.split()) for line in event_lines(entry.event))
        words = escaped(text or entry.event.kind.replace("_", " "), 300)
        lead = f"<b>{entry.at - log[0].at:.1f} s</b> {words}"
        colours, verdict, patch = replay_frame(result)
        table = cached(
            "table", (result.tests, result.tested_programs), partial(matrix, result, opens=False)
        )
        now, judged = result.current, judged_last(result)
        yield [colours, lead, verdict, patch, table, *(
            cached((place, step is now), (step, judged),
                 partial(step_text, step, step is now, judged, result.start))
            for place, step in enumerate(result.timeline)
        )]
