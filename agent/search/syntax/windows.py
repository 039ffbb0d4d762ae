"""Selects the part of a long text to compile, so that compilations are fast.

A top-level statement compiles alone if and only if it compiles in its place; a method does so after
the head of a class. The smallest part comes first, and the whole text last, since errors may be
elsewhere than reported.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from agent.search.syntax.fault import Fault

_SMALL = 60
_TOP_LEVEL_START = re.compile(r"(?:async\s+def|def|class|import|from)\s|@|if __name__\b")
_METHOD = re.compile(r"(\s+)(?:(?:async\s+)?def\s|@)")
_HEAD = "class Window:\n"


@dataclass(frozen=True)
class Window:
    """A part of a text, and the line that it needs before it to compile alone."""

    start: int
    end: int
    head: str = ""


def windows(text: str, at: Fault) -> list[Window]:
    """The parts of a text that may contain a fault, smallest first."""
    whole = Window(0, len(text))
    lines = text.split("\n")
    if len(lines) <= _SMALL:
        return [whole]
    row = min(max(0, at.line - 1), len(lines) - 1)
    marks = _part_starts(lines, lambda line: _TOP_LEVEL_START.match(line) is not None)
    first, last = _part_bounds(marks, row, len(lines))
    found = []
    if last - first > _SMALL and lines[first].startswith("class "):
        found += _methods(lines, first, last, row)
    found.append(_window(lines, first, last))
    before, _ = _part_bounds(marks, max(0, first - 1), len(lines))
    _, behind = _part_bounds(marks, min(last, len(lines) - 1), len(lines))
    found += [_window(lines, before, last), _window(lines, before, behind), whole]
    return [one for place, one in enumerate(found) if one not in found[:place]]


def _part_starts(lines: list[str], begins: Callable[[str], bool]) -> list[int]:
    """The lines at which parts begin; a decorator belongs to the definition after it."""
    found = [0]
    for row, line in enumerate(lines):
        if begins(line) and not lines[row - 1].lstrip().startswith("@"):
            found.append(row)
    return found


def _part_bounds(marks: list[int], row: int, count: int) -> tuple[int, int]:
    first = max(mark for mark in marks if mark <= row)
    return first, min((mark for mark in marks if mark > row), default=count)


def _methods(lines: list[str], first: int, last: int, row: int) -> list[Window]:
    """The method around a line, and the method with the one before."""
    body = lines[first:last]
    match = next((match for line in body[1:] if (match := _METHOD.match(line))), None)
    if match is None:
        return []
    level = match.group(1)
    marks = _part_starts(body, lambda line: line.startswith(level) and bool(_METHOD.match(line))
                   and not line[len(level)].isspace())
    start, end = _part_bounds(marks, row - first, len(body))
    if start == 0:
        return []
    before, _ = _part_bounds(marks, start - 1, len(body))
    return [
        _window(lines, first + begin, first + end, _HEAD)
        for begin in (start, before) if begin > 0
    ]


def _window(lines: list[str], first: int, last: int, head: str = "") -> Window:
    start = sum(len(line) + 1 for line in lines[:first])
    end = start + sum(len(line) + 1 for line in lines[first:last])
    return Window(start, end - (last >= len(lines)), head)
