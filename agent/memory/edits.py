"""Applies a stored edit to another text that contains the changed lines in any layout, and decides
whether an edit is small. Comments, spaces and indentation may differ; other lines stay as they are.
"""

from __future__ import annotations

import io
import keyword
import re
import tokenize
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import lru_cache
from itertools import pairwise

from agent.core.trees import parse
from agent.memory.failures import skeleton

MAX_LINES = 5_000

# The limits of a small edit, counted in words so that programs need not parse.
MIN_UNCHANGED = 0.6
MAX_ADDED = 16
MAX_VALUES = 3

SAFE_BUILTINS = frozenset({
    "abs", "all", "any", "bool", "dict", "divmod", "enumerate", "float", "frozenset", "int", "len",
    "list", "max", "min", "pow", "range", "reversed", "round", "set", "sorted", "str", "sum",
    "tuple", "zip",
})
_EXCLUDED_KEYWORDS = frozenset({"import", "global", "nonlocal", "async", "await"})
_NAME = re.compile(r"\b[^\W\d]\w*")
_WORD = re.compile(r"\w+")
_VALUE = re.compile(r"\b\d[\w.]*|'[^'\n]+'|\"[^\"\n]+\"")

_LAYOUT = frozenset({
    tokenize.COMMENT, tokenize.NL, tokenize.INDENT, tokenize.DEDENT, tokenize.ENCODING,
    tokenize.ENDMARKER,
})
_UNREADABLE = (SyntaxError, ValueError, RecursionError, MemoryError, tokenize.TokenError)


@dataclass(frozen=True)
class _Line:
    """A logical line: its tokens, and its text without indentation and comment."""

    words: tuple[str, ...]
    depth: int
    indent: str
    text: str
    start: int
    """The offset of its first character after the indentation."""

    @property
    def end(self) -> int:
        return self.start + len(self.text)


def reapply_edit(before: str, after: str, text: str, *, anywhere: bool = False) -> str | None:
    """Applies the edit from `before` to `after` to `text`, or returns `None`. `text` must be
    `before` in another layout, or with `anywhere` contain the changed lines exactly once."""
    if text == before:
        return after
    try:
        old, new, current = _lines(before), _lines(after), _lines(text)
        same = len(old) == len(current) and skeleton(before) == skeleton(text)
        if not (same or anywhere) or max(map(len, (old, new, current))) > MAX_LINES:
            return None
        result = _splice(text, old, new, current, same=same)
        if result is None or result == text:
            return None
        parse(result)
        return result if not same or skeleton(result) == skeleton(after) else None
    except _UNREADABLE:
        return None


def _splice(
    text: str, old: Sequence[_Line], new: Sequence[_Line], current: Sequence[_Line], *, same: bool
) -> str | None:
    indents = {line.depth: line.indent for line in reversed(current)}
    newline = "\r\n" if "\r\n" in text else "\n"
    splices: list[tuple[int, int, str]] = []
    for change in _changes(old, new, by_line=same):
        # An insertion is located by the line before it.
        inserts = change.first == change.last
        first = max(0, change.first - inserts)
        anchor = old[first : max(change.last, first + 1)]
        at = first if same else _unique_match(anchor, current)
        if at is None or not anchor:
            return None
        window = current[at : at + len(anchor)]
        shift = window[0].depth - anchor[0].depth
        inserted = newline.join(
            indents.get(depth, indents.get(1, "    ") * max(0, depth)) + line.text
            for line in change.new for depth in (line.depth + shift,)
        )
        start, end = window[0].start - len(window[0].indent), window[-1].end
        if inserts and change.first > 0:
            start = end = _line_end(text, end)
            inserted = newline + inserted
        elif inserts:
            end, inserted = start, inserted + newline
        else:
            end = end if inserted else min(len(text), _line_end(text, end) + 1)
            if any(start <= one < end for one in _comments(text)):
                return None
        splices.append((start, end, inserted))
    splices.sort()
    if any(left[1] > right[0] or left[:2] == right[:2] for left, right in pairwise(splices)):
        return None  # two changed lines match the same place
    for start, end, inserted in reversed(splices):
        text = text[:start] + inserted + text[end:]
    return text


@dataclass(frozen=True)
class _Change:
    """New lines that replace the old ones from `first` up to `last`."""

    first: int
    last: int
    new: Sequence[_Line]


def _changes(old: Sequence[_Line], new: Sequence[_Line], *, by_line: bool) -> Iterator[_Change]:
    matcher = SequenceMatcher(None, _key(old), _key(new), autojunk=False)
    for tag, first, last, start, end in matcher.get_opcodes():
        if by_line and tag == "replace" and last - first == end - start:
            for at in range(first, last):
                yield _Change(at, at + 1, [new[at - first + start]])
        elif tag != "equal":
            yield _Change(first, last, new[start:end])


def _unique_match(lines: Sequence[_Line], current: Sequence[_Line]) -> int | None:
    words = [line.words for line in lines]
    found = [
        at for at in range(len(current) - len(words) + 1)
        if [line.words for line in current[at : at + len(words)]] == words
    ]
    return found[0] if len(found) == 1 else None


def _line_end(text: str, at: int) -> int:
    end = text.find("\n", at)
    return len(text) if end < 0 else end


def _key(lines: Iterable[_Line]) -> list[tuple[int, tuple[str, ...]]]:
    return [(line.depth, line.words) for line in lines]


@lru_cache(maxsize=8)
def _tokens(text: str) -> tuple[tuple[tokenize.TokenInfo, int, int], ...]:
    """The tokens of a program with their start and end offsets; raises errors of `tokenize`."""
    starts = [0]
    for line in text.split("\n"):
        starts.append(starts[-1] + len(line) + 1)
    return tuple(
        (one, starts[one.start[0] - 1] + one.start[1], starts[one.end[0] - 1] + one.end[1])
        for one in tokenize.generate_tokens(io.StringIO(text).readline)
    )


def _comments(text: str) -> list[int]:
    return [start for token, start, _ in _tokens(text) if token.type == tokenize.COMMENT]


@lru_cache(maxsize=8)
def _lines(text: str) -> tuple[_Line, ...]:
    """The logical lines of a program; raises errors of `tokenize`."""
    lines: list[_Line] = []
    words: list[str] = []
    depth = start = end = 0
    for token, begins, ends in _tokens(text):
        depth += (token.type == tokenize.INDENT) - (token.type == tokenize.DEDENT)
        if token.type == tokenize.NEWLINE and words:
            indent = text[text.rfind("\n", 0, start) + 1 : start]
            lines.append(_Line(tuple(words), depth, indent, text[start:end], start))
            words = []
        elif token.type not in (*_LAYOUT, tokenize.NEWLINE):
            start, end = (start if words else begins), ends
            words.append(token.string)
    return tuple(lines)


def is_small_edit(before: str, after: str) -> bool:
    """Whether `after` differs from `before` by a small edit: most words stay, few are new."""
    words, others = Counter(_WORD.findall(before)), Counter(_WORD.findall(after))
    unchanged = (words & others).total()
    if unchanged < MIN_UNCHANGED * words.total() or (others - words).total() > MAX_ADDED:
        return False
    values = Counter(_VALUE.findall(after)) - Counter(_VALUE.findall(before))
    return values.total() <= MAX_VALUES


def uses_only_known_names(before: str, after: str) -> bool:
    """Whether an edit uses only the program's own names, keywords and builtins without effects."""
    added = {*_NAME.findall(after)} - {*_NAME.findall(before)}
    return added <= SAFE_BUILTINS | {*keyword.kwlist} - _EXCLUDED_KEYWORDS
