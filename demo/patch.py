"""A unified diff read into lines with their numbers and the words that changed."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Literal

_HUNK = re.compile(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")
_WORD = re.compile(r"\w+|\s+|[^\w\s]")
_ALIKE = 0.4
"""Lines less alike than this are two lines, not one that was changed."""


@dataclass(frozen=True)
class Piece:
    """A stretch of a line; `changed` where the other side differs."""

    text: str
    changed: bool = False


@dataclass(frozen=True)
class DiffLine:
    """One line; a number is `None` on the side where the line does not stand."""

    kind: Literal["file", "hunk", "same", "gone", "came", "note"]
    old: int | None
    new: int | None
    pieces: tuple[Piece, ...]

    @property
    def text(self) -> str:
        """The line without its sign."""
        return "".join(piece.text for piece in self.pieces)


def diff_lines(diff: str) -> tuple[DiffLine, ...]:
    """The lines of a unified diff; a hunk's own counts say where it ends."""
    return tuple(_lines(diff.split("\n")))


def _lines(lines: list[str]) -> Iterator[DiffLine]:
    if lines and lines[-1] == "":
        lines = lines[:-1]
    old = new = left_old = left_new = 0
    gone: list[str] = []
    came: list[str] = []

    def changes() -> Iterator[DiffLine]:
        befores, afters = _compared(gone, came)
        start_old, start_new = old - len(gone), new - len(came)
        for offset, pieces in enumerate(befores):
            yield DiffLine("gone", start_old + offset, None, pieces)
        for offset, pieces in enumerate(afters):
            yield DiffLine("came", None, start_new + offset, pieces)
        gone.clear()
        came.clear()

    for line in lines:
        sign, rest = line[:1], line[1:]
        if sign == "-" and left_old > 0:
            gone.append(rest)
            old, left_old = old + 1, left_old - 1
            continue
        if sign == "+" and left_new > 0:
            came.append(rest)
            new, left_new = new + 1, left_new - 1
            continue
        if sign == "\\" and gone and left_new > 0:
            continue
        yield from changes()
        if left_old > 0 and left_new > 0 and sign in (" ", ""):
            yield DiffLine("same", old, new, (Piece(rest),))
            old, new = old + 1, new + 1
            left_old, left_new = left_old - 1, left_new - 1
        elif (hunk := _HUNK.match(line)) is not None:
            old, new = int(hunk[1]), int(hunk[3])
            left_old, left_new = int(hunk[2] or 1), int(hunk[4] or 1)
            yield DiffLine("hunk", None, None, (Piece(line),))
        else:
            kind: Literal["note", "file"] = "note" if sign == "\\" else "file"
            yield DiffLine(kind, None, None, (Piece(line),))
    yield from changes()


def _compared(
    gone: list[str], came: list[str]
) -> tuple[list[tuple[Piece, ...]], list[tuple[Piece, ...]]]:
    """Both sides of a change in pieces; only line by line, where the sides are as long."""
    if len(gone) != len(came):
        return [(Piece(line),) for line in gone], [(Piece(line),) for line in came]
    pairs = [_pair(before, after) for before, after in zip(gone, came, strict=True)]
    return [before for before, _ in pairs], [after for _, after in pairs]


def _pair(before: str, after: str) -> tuple[tuple[Piece, ...], tuple[Piece, ...]]:
    olds, news = _WORD.findall(before), _WORD.findall(after)
    if len(olds) + len(news) > 800:
        return (Piece(before),), (Piece(after),)
    matcher = SequenceMatcher(a=olds, b=news, autojunk=False)
    if matcher.ratio() < _ALIKE:
        return (Piece(before),), (Piece(after),)
    lefts: list[Piece] = []
    rights: list[Piece] = []
    for tag, i, j, k, m in matcher.get_opcodes():
        changed = tag != "equal"
        if j > i:
            lefts.append(Piece("".join(olds[i:j]), changed))
        if m > k:
            rights.append(Piece("".join(news[k:m]), changed))
    return tuple(lefts), tuple(rights)
