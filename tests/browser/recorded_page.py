"""Serves the page around recorded runs; a task's words choose one and what it says.

`unresolved` plays that run. `healed saying <b>` plays the healed run with `<b>` written in
the place of the function's name, everywhere. `slowly` pauses before each event, `very slowly`
for longer.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from agent.domain import Task
from agent.events import Stamped, from_jsonl
from demo.host import Host
from demo.recorded import RecordedSession, recorded_engine
from demo.web import build, serve

RUNS = Path(__file__).parent.parent / "demo" / "runs"


def chosen(task: Task) -> tuple[Stamped, ...]:
    """The recorded run that a task asks for."""
    words, _, said = task.text.partition(" saying ")
    name = words.replace("very", "").replace("slowly", "").strip() or "healed"
    text = (RUNS / f"{name}.jsonl").read_text(encoding="utf-8")
    if said:
        text = text.replace("late_fee", json.dumps(said)[1:-1])
    return from_jsonl(text)


class Session(RecordedSession):
    """Pauses only where a task's words ask for it."""

    async def start(self, task: Task, **given: Any) -> str:
        pauses = {"very slowly": 2.0, "slowly": 0.4}
        self._pause_s = next((s for words, s in pauses.items() if words in task.text), 0.01)
        return await super().start(task, **given)


if __name__ == "__main__":
    session = Session(chosen)
    host = Host(lambda: recorded_engine(session))
    serve(build(host), host, "127.0.0.1", int(sys.argv[1]))
