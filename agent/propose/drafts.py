"""The worked tasks in words, with the scripted first draft that stands in for a model."""

from __future__ import annotations

from pathlib import Path

import yaml
from pydantic import BaseModel, ConfigDict, ValidationError

DRAFTS_FILE = Path(__file__).parents[2] / "demo" / "examples.yaml"


class Draft(BaseModel):
    """A task in words and the program text to begin with; the text has a real bug."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: str
    title: str
    task: str
    draft: str


def read_drafts(path: Path = DRAFTS_FILE) -> tuple[Draft, ...]:
    """The drafts of an examples file; raises `ValueError` naming what is wrong with it."""
    try:
        document = yaml.safe_load(path.read_text(encoding="utf-8"))
        drafts = tuple(Draft.model_validate(entry) for entry in document["drafts"])
    except (OSError, yaml.YAMLError, KeyError, TypeError, ValidationError) as error:
        raise ValueError(f"the worked tasks in {path} cannot be read: {error}") from error
    return tuple(draft.model_copy(update={"task": draft.task.strip()}) for draft in drafts)


def by_words(drafts: tuple[Draft, ...]) -> dict[str, str]:
    """The form that settings take: a task's words to its draft."""
    return {draft.task: draft.draft for draft in drafts}
