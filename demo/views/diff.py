"""Parses a unified diff, and renders it as HTML with line numbers and marks on changed words."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from itertools import groupby, pairwise
from typing import Literal

from demo.views.escape import escaped

_HUNK = re.compile(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")
_TOKEN = re.compile(r"\w+|\s+|[^\w\s]")
_ALIKE = 0.4
"""Lines with a lower similarity ratio are not compared word by word."""
_MAX_WORDS = 800
"""Longer pairs of lines are not compared."""
_MAX_PAIRS = 2_000_000
"""Maximum word comparisons of one diff, about 0.1 s; later lines get no marks."""

Kind = Literal["file", "hunk", "same", "removed", "added", "note"]


@dataclass(frozen=True)
class Piece:
    """A part of a line; `changed` if the other side differs."""

    text: str
    changed: bool = False


@dataclass(frozen=True)
class DiffLine:
    """One line; a number is `None` on the side that does not have the line."""

    kind: Kind
    old: int | None
    new: int | None
    pieces: tuple[Piece, ...]

    @property
    def text(self) -> str:
        """The line without its `+`, `-` or space."""
        return "".join(piece.text for piece in self.pieces)


def diff_lines(diff: str) -> tuple[DiffLine, ...]:
    """Parses a unified diff. Words are compared only where equally many lines were removed and
    added."""
    left = _MAX_PAIRS
    groups = [list(group) for _, group in groupby(_read(diff), key=lambda line: line.kind)]
    for removed, added in pairwise(groups):
        if (removed[0].kind, added[0].kind, len(removed)) == ("removed", "added", len(added)):
            for place, (before, after) in enumerate(zip(removed, added, strict=True)):
                olds, news = _TOKEN.findall(before.text), _TOKEN.findall(after.text)
                left -= len(olds) * len(news)
                if left < 0:
                    break
                if len(olds) + len(news) <= _MAX_WORDS:
                    removed[place], added[place] = _mark_changed_words(before, after, olds, news)
    return tuple(line for group in groups for line in group)


def _read(diff: str) -> Iterator[DiffLine]:
    """Parses the lines; the counts in a hunk's header determine its end."""
    old = new = old_end = new_end = 0
    before = ""
    for line in diff.removesuffix("\n").split("\n"):
        inside = old < old_end or new < new_end
        if line.startswith("\\"):
            # Inside a hunk, added lines follow; after an unchanged line nothing changed.
            if not inside and before != " ":
                yield DiffLine("note", None, None, (Piece(line),))
        elif inside:
            text = (Piece(line[1:]),)
            if line.startswith("-"):
                yield DiffLine("removed", old, None, text)
            elif line.startswith("+"):
                yield DiffLine("added", None, new, text)
            else:
                yield DiffLine("same", old, new, text)
            old += not line.startswith("+")
            new += not line.startswith("-")
            before = line[:1]
        elif (hunk := _HUNK.match(line)) is not None:
            old, new = int(hunk[1]), int(hunk[3])
            old_end, new_end = old + int(hunk[2] or 1), new + int(hunk[4] or 1)
            yield DiffLine("hunk", None, None, (Piece(line),))
        else:
            yield DiffLine("file", None, None, (Piece(line),))


def _mark_changed_words(
    before: DiffLine, after: DiffLine, olds: list[str], news: list[str]
) -> tuple[DiffLine, DiffLine]:
    matcher = SequenceMatcher(a=olds, b=news, autojunk=False)
    if matcher.ratio() < _ALIKE:
        return before, after
    blocks = matcher.get_opcodes()
    removed = (Piece("".join(olds[i:j]), tag != "equal") for tag, i, j, _, _ in blocks if j > i)
    added = (Piece("".join(news[k:m]), tag != "equal") for tag, _, _, k, m in blocks if m > k)
    return replace(before, pieces=tuple(removed)), replace(after, pieces=tuple(added))


DEEPEST = 4
"""Maximum indentation levels kept by a wrapped line."""
LONGEST_DIFF = 600
"""Maximum shown lines of a diff; the downloaded patch has all."""


def diff(text: str) -> str:
    lines = diff_lines(text)
    body = "".join(_diff_line(line) for line in lines[:LONGEST_DIFF] if line.kind != "file")
    more = len(lines) - LONGEST_DIFF
    rest = f'<p class="note">{more:,} more lines are in the downloaded patch.</p>' \
        if more > 0 else ""
    return f'<div class="diff">{body}</div>{rest}'


_INDICATORS = {"removed": ("\u2212", "removed"), "added": ("+", "added")}


def _diff_line(line: DiffLine) -> str:
    if line.kind == "hunk":
        at_start = line.text.startswith(("@@ -1,", "@@ -1 ", "@@ -0,"))
        return "" if at_start else '<p class="hunk">⋯</p>'
    sign, spoken = _INDICATORS.get(line.kind, ("", ""))
    words = f'<i class="sr">{spoken}</i>' if spoken else ""
    old = "" if line.old is None else str(line.old)
    new = "" if line.new is None else str(line.new)
    deep = min((len(line.text) - len(line.text.lstrip())) // 4, DEEPEST)
    return (
        f'<div class="{line.kind}"><span class="number">{old}</span>'
        f'<span class="number">{new}</span><b>{sign}{words}</b>'
        f'<code class="deep-{deep}">{_content(line)}</code></div>'
    )


def _content(line: DiffLine) -> str:
    return "".join(
        f"<mark>{escaped(piece.text)}</mark>" if piece.changed else escaped(piece.text)
        for piece in line.pieces
    )
