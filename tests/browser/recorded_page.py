"""Serves the page around recorded runs; a task's words choose one and what it says.

`unresolved` plays that run, `fault` one that an internal error ends. `healed saying <b>` plays the
healed run with `<b>` written in the place of the function's name, everywhere. `held by /a/file`
stops before the patch until that file is there.
"""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

from agent.core.domain import Task
from agent.core.events import LogEntry, RunFailed, from_jsonl, to_jsonl
from demo.serving.server import serve
from demo.web import build
from tests.demo.recorded import RecordedSession, hosting, recorded


def chosen(task: Task) -> tuple[LogEntry, ...]:
    """The recorded run that a task asks for."""
    words, _, said = task.text.partition(" held by ")[0].partition(" saying ")
    name = words.strip() or "healed"
    if name == "fault":
        *events, end = recorded("unresolved")
        return (*events, end.model_copy(update={"event": RunFailed(error="KeyError: 'x'")}))
    text = to_jsonl(recorded(name))
    return from_jsonl(text.replace("late_fee", json.dumps(said)[1:-1]) if said else text)


def until_held(task: Task) -> tuple[tuple[LogEntry, ...], tuple[LogEntry, ...]]:
    """The events before the patch, and those from it on; all before it for a run not held."""
    events = chosen(task)
    held = " held by " in task.text
    place = [one.event.kind for one in events].index("patch_proposed") if held else len(events)
    return events[:place], events[place:]


class Session(RecordedSession):
    """Holds the runs whose tasks ask for it."""

    def __init__(self) -> None:
        super().__init__(lambda task: until_held(task)[0], pause_s=0.01)
        self._held: set[asyncio.Task[None]] = set()

    async def start(self, task: Task, **given: Any) -> str:
        run = await super().start(task, **given)
        self._held.add(asyncio.create_task(self._go_on(run, task)))
        return run

    async def _go_on(self, run: str, task: Task) -> None:
        _, rest = until_held(task)
        while rest and not Path(task.text.partition(" held by ")[2]).exists():
            await asyncio.sleep(0.02)
        if rest and not self.log(run)[-1].final:
            self.play(run, rest)


if __name__ == "__main__":
    host = hosting(Session())
    serve(build(host), host, "127.0.0.1", int(sys.argv[1]))
