"""The demo tasks, each with a scripted first draft that replaces a model's."""

from __future__ import annotations

from pathlib import Path

import yaml
from pydantic import BaseModel, ConfigDict, ValidationError

DRAFTS_FILE = Path(__file__).parents[2] / "demo" / "examples.yaml"


class Draft(BaseModel):
    """A task's text and a first program with a real bug."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: str
    title: str
    task: str
    draft: str


def read_drafts(path: Path = DRAFTS_FILE) -> tuple[Draft, ...]:
    """Reads the drafts of an examples file. Raises `ValueError` if the file is not valid."""
    try:
        document = yaml.safe_load(path.read_text(encoding="utf-8"))
        drafts = tuple(Draft.model_validate(entry) for entry in document["drafts"])
    except (OSError, yaml.YAMLError, KeyError, TypeError, ValidationError) as error:
        raise ValueError(f"the demo tasks in {path} cannot be read: {error}") from error
    return tuple(draft.model_copy(update={"task": draft.task.strip()}) for draft in drafts)


def by_words(drafts: tuple[Draft, ...]) -> dict[str, str]:
    """Maps each task's text to its draft, as the settings need it."""
    return {draft.task: draft.draft for draft in drafts}
