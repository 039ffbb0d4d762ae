"""What an operator may read of an event: names from closed lists and numbers, no text of a user."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping

from agent.core import events as e
from agent.core.settings import ROLES
from llm.provider import PROVIDERS

Fact = str | int | float
_CLASS = re.compile(r"[A-Za-z_]\w{0,60}")
_NAMED = frozenset(
    "level step iteration needs outcome strategy proof iterations candidates tokens cost_usd "
    "seconds wall_s input output".split()
)
"""Fields of events with a name from a closed list or a number; names of models are typed."""
_LOGGED = frozenset(
    "run_started step_finished model_called model_failed waiting answered resumed run_finished "
    "run_failed".split()
)


def facts(event: e.Event) -> Mapping[str, Fact]:
    """The facts of an event; empty for events that operators need not see."""
    if event.kind not in _LOGGED:
        return {}
    found = {name: value for name, value in event if name in _NAMED and value is not None}
    if isinstance(event, e.ModelCall):
        found["role"] = event.role if event.role in ROLES else "other"
        found["provider"] = event.provider if event.provider in PROVIDERS else "other"
    if isinstance(event, e.ModelFailed | e.RunFailed):
        error = event.error.partition(":")[0]
        found["error"] = error if _CLASS.fullmatch(error) else "other"
    if isinstance(event, e.StepFinished):
        found["seconds"] = event.wall_ms / 1e3
    return found


class StepTimes:
    """Finds the end of each step in the events of all runs."""

    def __init__(self) -> None:
        self._open: defaultdict[str, dict[str, tuple[str, float]]] = defaultdict(dict)

    def ended(self, entry: e.LogEntry) -> Iterator[tuple[str, str, float]]:
        """The steps that end with this event, also those that an end of their run cut off, each
        with its outcome (finished, stopped or failed) and seconds."""
        match entry.event:
            case e.StepStarted() as start:
                self._open[entry.run][entry.task] = start.step, entry.at
            case e.StepFinished() as end:
                self._open[entry.run].pop(entry.task, None)
                yield end.step, "finished", end.wall_ms / 1e3
            case e.RunFinished() | e.RunFailed() | e.Waiting() | e.Resumed() as cut:
                outcome = "failed" if cut.kind == "run_failed" else "stopped"
                for step, started in self._open.pop(entry.run, {}).values():
                    yield step, outcome, max(0.0, entry.at - started)
