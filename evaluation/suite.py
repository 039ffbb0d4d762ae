"""Suites of broken programs and of tasks in words: JSON lines, made into rows that keep two things
apart: what a repair is brought, and the truth, which it never sees.

    {"id", "buggy", "setup"?, "tests": [...], "held_out": [...]?, "kind"?, "author"?,
     "fixed"?, "entry_point"?, "plus_inputs": [[...], ...]?}
    {"id", "task", "buggy"?, "tests"?, ...}

In a row with a `task` the program is written anew from these words; `buggy` is its first draft
where there is no model.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, TypeVar

from pydantic import AfterValidator, BaseModel, Field, ValidationError

from sandbox import Json

T = TypeVar("T")


def _parsed(code: str) -> str:
    """Code that parses. Tests that do not are refused by who reads them; nobody else reads what is
    held out."""
    try:
        ast.parse(code)
    except (SyntaxError, RecursionError, MemoryError) as error:
        raise ValueError(f"it does not parse: {error}") from error
    return code


_Code = Annotated[str, AfterValidator(_parsed)]

GROUPS = ("author", "kind")
"""Keys of a row by whose values figures are told apart."""
LONGEST_ID = 150


class BadSuite(Exception):
    """A suite that cannot be used; the message names the file, and the line where there is one."""


@dataclass(frozen=True)
class Broken:
    """What a repair is brought of a row, and all of it."""

    program: str
    tests: tuple[str, ...]
    words: str = ""
    """The task of a program that is to be written."""


@dataclass(frozen=True)
class Truth:
    """What tells right programs of a row from wrong ones."""

    held_out: tuple[str, ...] = ()
    """Assert code. Where there is none, `fixed` says what is right."""
    fixed: str = ""
    entry_point: str = ""
    inputs: tuple[list[Json], ...] = ()
    """Lists of arguments for the entry point."""

    @property
    def known(self) -> bool:
        """Whether there is anything to tell by."""
        return bool(self.held_out or (self.fixed and self.inputs))


@dataclass(frozen=True)
class Row:
    """One broken program of a suite."""

    id: str
    broken: Broken
    truth: Truth
    groups: tuple[tuple[str, str], ...] = ()
    """Pairs of a key of `GROUPS` and the row's value."""


@dataclass(frozen=True)
class BadRow:
    """A line that has an id, and else not what a row must have."""

    id: str
    why: str
    groups: tuple[tuple[str, str], ...] = ()


def read_suite(path: Path) -> tuple[Row | BadRow, ...]:
    """The rows of a file; raises `BadSuite` for a line that is no JSON object with its own id."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise BadSuite(f"{path} cannot be read: {error}") from error
    rows = tuple(_rows(text, path))
    if not rows:
        raise BadSuite(f"{path} holds no row")
    return rows


def _rows(text: str, path: Path) -> Iterator[Row | BadRow]:
    seen: dict[str, int] = {}
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        place = f"{path}, line {number}"
        try:
            found = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise BadSuite(f"{place} is not JSON: {error}") from error
        if not isinstance(found, dict):
            raise BadSuite(f"{place} is no JSON object")
        key = found.get("id")
        if not isinstance(key, str) or not key.isprintable() or not 0 < len(key) <= LONGEST_ID:
            raise BadSuite(
                f"{place}: a row needs an `id`, a printable text of at most {LONGEST_ID} characters"
            )
        if key in seen:
            raise BadSuite(f"{place}: the id {key!r} is that of line {seen[key]} too")
        seen[key] = number
        yield row_of(key, found)


class _Line(BaseModel):
    """A line's object; what it has besides is left alone."""

    task: str = ""
    buggy: str = ""
    setup: str = ""
    tests: tuple[str, ...] = ()
    held_out: tuple[_Code, ...] = ()
    fixed: str = ""
    entry_point: Annotated[str, Field(pattern=r"^([^\W\d]\w*(\.[^\W\d]\w*)*)?$")] = ""
    plus_inputs: tuple[list[Any], ...] = ()


def row_of(key: str, found: Mapping[str, Json]) -> Row | BadRow:
    """A line's object as a row, or what is wrong with it."""
    groups = tuple(
        (name, value) for name in GROUPS if isinstance(value := found.get(name), str) and value
    )
    try:
        line = _Line.model_validate(
            {name: value for name, value in found.items() if value is not None}
        )
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = ".".join(map(str, first["loc"]))
        return BadRow(key, f"`{place}`: {first['msg']}", groups)
    if not line.task.strip():
        if not line.buggy.strip():
            return BadRow(key, "`buggy`: a row without a `task` needs a program", groups)
        if not line.tests:
            return BadRow(key, "`tests`: a row without a `task` needs one at least", groups)
    if line.plus_inputs and not line.entry_point:
        return BadRow(key, "`entry_point` must be named where there are `plus_inputs`", groups)
    return Row(
        key, Broken(_joined(line.setup, line.buggy), line.tests, line.task.strip()),
        Truth(
            held_out=line.held_out, fixed=_joined(line.setup, line.fixed) if line.fixed else "",
            entry_point=line.entry_point, inputs=line.plus_inputs,
        ),
        groups,
    )


def spread(rows: Sequence[T], limit: int) -> tuple[T, ...]:
    """At most `limit` of the rows, evenly from the first to the last."""
    if len(rows) <= limit:
        return tuple(rows)
    return tuple(rows[index * len(rows) // limit] for index in range(limit))


def _joined(setup: str, program: str) -> str:
    if not setup.strip():
        return program
    return setup + program if setup.endswith("\n") else f"{setup}\n{program}"
