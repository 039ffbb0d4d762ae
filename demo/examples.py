"""The worked examples of the page, read from `examples.yaml`.

A `Card` is code to mend; a draft is a task in words with the scripted first draft that the mode
without a model starts from. The engine reads the drafts too.
"""

from __future__ import annotations

import yaml
from pydantic import BaseModel, ConfigDict

from agent.thinking.drafts import DRAFTS_FILE, Draft, read_drafts


class Card(BaseModel):
    """A broken program with the tests that show it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: str
    title: str
    blurb: str
    code: str
    tests: str = ""


def load() -> tuple[tuple[Card, ...], tuple[Draft, ...]]:
    """The cards and the drafts that ship with the page."""
    document = yaml.safe_load(DRAFTS_FILE.read_text(encoding="utf-8"))
    return tuple(Card.model_validate(card) for card in document["cards"]), read_drafts()
