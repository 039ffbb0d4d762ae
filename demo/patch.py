"""A unified diff read into lines with their numbers and the words that changed."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from itertools import groupby, pairwise
from typing import Literal

_HUNK = re.compile(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")
_WORD = re.compile(r"\w+|\s+|[^\w\s]")
_ALIKE = 0.4
"""Lines less alike than this are two lines, not one that was changed."""
_MOST_WORDS = 800
"""Longer pairs of lines are not compared."""

Kind = Literal["file", "hunk", "same", "gone", "came", "note"]


@dataclass(frozen=True)
class Piece:
    """A stretch of a line; `changed` where the other side differs."""

    text: str
    changed: bool = False


@dataclass(frozen=True)
class DiffLine:
    """One line; a number is `None` on the side where the line does not stand."""

    kind: Kind
    old: int | None
    new: int | None
    pieces: tuple[Piece, ...]

    @property
    def text(self) -> str:
        """The line without its sign."""
        return "".join(piece.text for piece in self.pieces)


def diff_lines(diff: str) -> tuple[DiffLine, ...]:
    """The lines of a unified diff. Only where as many lines came as had gone are their words
    compared."""
    groups = [list(group) for _, group in groupby(_read(diff), key=lambda line: line.kind)]
    for gone, came in pairwise(groups):
        if (gone[0].kind, came[0].kind, len(gone)) == ("gone", "came", len(came)):
            for place, (before, after) in enumerate(zip(gone, came, strict=True)):
                olds, news = _compared(before.text, after.text)
                gone[place], came[place] = replace(before, pieces=olds), replace(after, pieces=news)
    return tuple(line for group in groups for line in group)


def _read(diff: str) -> Iterator[DiffLine]:
    """The lines as they stand; a hunk's own counts say where it ends."""
    old = new = old_end = new_end = 0
    for line in diff.removesuffix("\n").split("\n"):
        inside = old < old_end or new < new_end
        if line.startswith("\\"):
            if not inside:  # else what came follows what had gone
                yield DiffLine("note", None, None, (Piece(line),))
        elif inside:
            text = (Piece(line[1:]),)
            if line.startswith("-"):
                yield DiffLine("gone", old, None, text)
            elif line.startswith("+"):
                yield DiffLine("came", None, new, text)
            else:
                yield DiffLine("same", old, new, text)
            old += not line.startswith("+")
            new += not line.startswith("-")
        elif (hunk := _HUNK.match(line)) is not None:
            old, new = int(hunk[1]), int(hunk[3])
            old_end, new_end = old + int(hunk[2] or 1), new + int(hunk[4] or 1)
            yield DiffLine("hunk", None, None, (Piece(line),))
        else:
            yield DiffLine("file", None, None, (Piece(line),))


def _compared(before: str, after: str) -> tuple[tuple[Piece, ...], tuple[Piece, ...]]:
    """Both sides of a changed line in pieces."""
    olds, news = _WORD.findall(before), _WORD.findall(after)
    matcher = SequenceMatcher(a=olds, b=news, autojunk=False)
    if len(olds) + len(news) > _MOST_WORDS or matcher.ratio() < _ALIKE:
        return (Piece(before),), (Piece(after),)
    blocks = matcher.get_opcodes()
    return (
        tuple(Piece("".join(olds[i:j]), tag != "equal") for tag, i, j, _, _ in blocks if j > i),
        tuple(Piece("".join(news[k:m]), tag != "equal") for tag, _, _, k, m in blocks if m > k),
    )
