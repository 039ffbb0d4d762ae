"""What stands on the page before the first run: a recorded one, which explains what a run gives."""

from __future__ import annotations

from pathlib import Path

from agent.core.events import from_jsonl
from agent.log.result import fold
from demo.shown.bench import example

EXAMPLE = Path(__file__).with_name("assets") / "example.jsonl"
LEAD = (
    "Paste Python that fails and a test that shows it. It is run in a jail, the cause is found, "
    "and a patch is shown with its proof. Below a recorded run of “Off by one day”."
)
CHIP = 0
"""The place of that example among those above the editors."""
FIRST_SCREEN = example(fold(from_jsonl(EXAMPLE.read_text(encoding="utf-8"))), LEAD, CHIP)
