"""Suites of broken programs: JSON lines, made into rows that keep two things apart: what a
repair is brought, and the truth, which it never sees.

    {"id", "buggy", "setup"?, "tests": [...], "held_out": [...]?, "kind"?, "author"?,
     "fixed"?, "entry_point"?, "plus_inputs": [[...], ...]?}
"""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from sandbox import Json

T = TypeVar("T")

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


def row_of(key: str, found: Mapping[str, Json]) -> Row | BadRow:
    """A line's object as a row, or what is wrong with it."""
    groups = tuple(
        (name, value) for name in GROUPS if isinstance(value := found.get(name), str) and value
    )
    try:
        setup, fixed = _text(found, "setup"), _text(found, "fixed")
        broken = Broken(
            program=_joined(setup, _text(found, "buggy", needed=True)),
            tests=_codes(found, "tests"),
        )
        if not broken.tests:
            raise ValueError("`tests` is empty: there is nothing to repair by")
        truth = Truth(
            held_out=_codes(found, "held_out"),
            fixed=_joined(setup, fixed) if fixed else "",
            entry_point=_text(found, "entry_point"),
            inputs=_inputs(found),
        )
        name = truth.entry_point
        if (name or truth.inputs) and not all(part.isidentifier() for part in name.split(".")):
            raise ValueError(f"`entry_point` is no name: {name!r}")
    except ValueError as error:
        return BadRow(key, str(error), groups)
    return Row(key, broken, truth, groups)


def spread(rows: Sequence[T], limit: int) -> tuple[T, ...]:
    """At most `limit` of the rows, evenly from the first to the last."""
    if len(rows) <= limit:
        return tuple(rows)
    return tuple(rows[index * len(rows) // limit] for index in range(limit))


def _joined(setup: str, program: str) -> str:
    if not setup.strip():
        return program
    return setup + program if setup.endswith("\n") else f"{setup}\n{program}"


def _text(found: Mapping[str, Json], key: str, needed: bool = False) -> str:
    value = found.get(key)
    if value is None and not needed:
        return ""
    if not isinstance(value, str) or (needed and not value.strip()):
        raise ValueError(f"`{key}` must be {'a text that is not empty' if needed else 'a text'}")
    return value


def _codes(found: Mapping[str, Json], key: str) -> tuple[str, ...]:
    """A list of pieces of Python."""
    value = found.get(key)
    if value is None:
        return ()
    if not isinstance(value, list):
        raise ValueError(f"`{key}` must be a list of texts")
    codes = []
    for number, code in enumerate(value):
        if not isinstance(code, str):
            raise ValueError(f"`{key}[{number}]` is no text")
        if key == "held_out":
            # Tests that do not parse are refused by who reads them; nobody else reads these.
            _parse(code, f"{key}[{number}]")
        codes.append(code)
    return tuple(codes)


def _parse(code: str, name: str) -> None:
    try:
        ast.parse(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise ValueError(f"`{name}` does not parse: {error}") from error


def _inputs(found: Mapping[str, Json]) -> tuple[list[Json], ...]:
    value = found.get("plus_inputs")
    if value is None:
        return ()
    if not isinstance(value, list):
        raise ValueError("`plus_inputs` must be a list of lists of arguments")
    inputs = []
    for number, given in enumerate(value):
        if not isinstance(given, list):
            raise ValueError(f"`plus_inputs[{number}]` is no list of arguments")
        inputs.append(given)
    return tuple(inputs)
