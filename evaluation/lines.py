"""Shared parts of the benchmarks: JSON lines on disk that an interrupted benchmark resumes from,
parallel work, and command-line numbers."""

from __future__ import annotations

import argparse
import asyncio
import json
from collections.abc import Awaitable, Callable, Iterable
from pathlib import Path
from typing import Any, Generic, TypeVar, cast

Line = TypeVar("Line", bound=Any)  # a `TypedDict` with an `id`
Item = TypeVar("Item")


class JsonLinesFile(Generic[Line]):
    """The lines of a file by id; lines are only added."""

    def __init__(self, path: Path | None) -> None:
        """Reads the existing lines; without a path, lines are kept only in memory."""
        self.path = path
        self.by_id: dict[str, Line] = {}
        if path is None:
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.exists():
            with path.open("r+b") as file:  # drops a partial line of a killed process
                content = file.read()
                file.truncate(content.rfind(b"\n") + 1)
            found = map(json.loads, path.read_text("utf-8").splitlines())
            self.by_id = {line["id"]: cast(Line, line) for line in found}

    def add(self, line: Line) -> None:
        if self.path is not None:
            with self.path.open("ab") as file:
                file.write(json.dumps(line).encode("ascii") + b"\n")
        self.by_id[line["id"]] = line


async def for_each(
    items: Iterable[Item], act: Callable[[Item], Awaitable[None]], workers: int
) -> None:
    """Acts on all items, `workers` at a time."""
    pending = iter(items)

    async def work() -> None:
        for item in pending:
            await act(item)

    async with asyncio.TaskGroup() as group:
        for _ in range(workers):
            group.create_task(work())


def positive(text: str) -> float:
    """Parses a number above 0."""
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < float("inf"):
        raise argparse.ArgumentTypeError(f"{text!r} is not a number above 0")
    return value


def not_negative(text: str) -> float:
    """Parses 0 or a number above 0."""
    return 0.0 if text.strip("0.") == "" and text.strip(".") else positive(text)


def count(text: str) -> int:
    """Parses a whole number above 0."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number above 0")
    return int(text)
