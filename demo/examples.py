"""The worked examples of the page, read from `examples.yaml` and checked.

`Card` is code to mend; `Draft` is a task in words with the scripted first draft that the
mode without a model starts from. Both are data: the engine is given the drafts.
"""

from __future__ import annotations

from pathlib import Path

import yaml
from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator


class _Item(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    id: str = Field(pattern=r"^[a-z][a-z0-9-]*$")
    title: str = Field(min_length=1)


class Card(_Item):
    """A broken program with the tests that show it."""

    blurb: str = Field(min_length=1)
    code: str = Field(min_length=1)
    tests: str = ""


class Draft(_Item):
    """A task in words, and the first draft that is written for it without a model."""

    task: str = Field(min_length=1)
    draft: str = Field(min_length=1)

    @field_validator("task")
    @classmethod
    def _joined(cls, task: str) -> str:
        """A task is one paragraph; YAML keeps the newline at its end."""
        return task.strip()


class Examples(BaseModel):
    """All examples; identifiers are unique."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    cards: tuple[Card, ...] = Field(min_length=1)
    drafts: tuple[Draft, ...] = Field(min_length=1)

    @model_validator(mode="after")
    def _distinct(self) -> Examples:
        items: tuple[_Item, ...] = (*self.cards, *self.drafts)
        names = [item.id for item in items]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise ValueError(f"these examples share an id: {', '.join(twice)}")
        return self


def examples_file() -> Path:
    """The file that holds the examples."""
    return Path(__file__).with_name("examples.yaml")


def parse(text: str) -> Examples:
    """The examples of a YAML text; raises `ValueError` naming what is wrong with it."""
    try:
        document = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise ValueError(f"the examples are not YAML: {error}") from error
    return Examples.model_validate(document)


def load() -> Examples:
    """The examples that ship with the page."""
    return parse(examples_file().read_text(encoding="utf-8"))
