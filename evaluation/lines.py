"""What all measurements have in common: lines of JSON on disk, so that an interrupted one goes
on later, several at a time, and numbers of the command line."""

from __future__ import annotations

import argparse
import asyncio
import json
from collections.abc import Awaitable, Callable, Iterable
from pathlib import Path
from typing import Any, Generic, TypeVar, cast

Line = TypeVar("Line", bound=Any)  # a `TypedDict` with an `id`
Item = TypeVar("Item")


class Lines(Generic[Line]):
    """The lines of a file by their ids; lines are added and never changed."""

    def __init__(self, path: Path | None) -> None:
        """Takes up the lines that are there; without a path they are kept in memory alone."""
        self.path = path
        self.by_id: dict[str, Line] = {}
        if path is None:
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.exists():
            with path.open("r+b") as file:  # half a line: its process was killed while it wrote
                written = file.read()
                file.truncate(written.rfind(b"\n") + 1)
            found = map(json.loads, path.read_text("utf-8").splitlines())
            self.by_id = {line["id"]: cast(Line, line) for line in found}

    def add(self, line: Line) -> None:
        """Writes a line."""
        if self.path is not None:
            with self.path.open("ab") as file:
                file.write(json.dumps(line).encode("ascii") + b"\n")
        self.by_id[line["id"]] = line


async def for_each(
    items: Iterable[Item], act: Callable[[Item], Awaitable[None]], workers: int
) -> None:
    """Acts on all items, so many at a time."""
    waiting = iter(items)

    async def work() -> None:
        for item in waiting:
            await act(item)

    async with asyncio.TaskGroup() as group:
        for _ in range(workers):
            group.create_task(work())


def positive(text: str) -> float:
    """A number of the command line that is above 0."""
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < float("inf"):
        raise argparse.ArgumentTypeError(f"{text!r} is no number above 0")
    return value


def count(text: str) -> int:
    """A whole number of the command line that is above 0."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number above 0")
    return int(text)
