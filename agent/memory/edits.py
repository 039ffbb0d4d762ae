"""Makes a remembered edit again in another text that has the lines which it changed, whatever their
comments, spaces and indentation; every other line stays. And whether an edit is a small one."""

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

from agent.core.trees import parse
from agent.memory.failures import skeleton

MAX_LINES = 5_000

# A small edit, counted in words, so that it works for programs that do not parse.
LEAST_KEPT = 0.6
MAX_ADDED = 16
MAX_VALUES = 3

COMPUTING = frozenset({
    "abs", "all", "any", "bool", "dict", "divmod", "enumerate", "float", "frozenset", "int", "len",
    "list", "max", "min", "pow", "range", "reversed", "round", "set", "sorted", "str", "sum",
    "tuple", "zip",
})
_REACHING_OUT = frozenset({"import", "global", "nonlocal", "async", "await"})
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
    """A logical line: what it says, and its text without its indentation and comment."""

    words: tuple[str, ...]
    depth: int
    indent: str
    text: str
    start: int
    """The character of the program at which it begins, behind its indentation."""

    @property
    def end(self) -> int:
        return self.start + len(self.text)


def remade(before: str, after: str, text: str, *, anywhere: bool = False) -> str | None:
    """`text` with the edit that made `after` of `before`, where `text` is `before` in another
    layout. With `anywhere` it may be any program that has the changed lines exactly once. `None`
    where that fails."""
    if text == before:
        return after
    try:
        old, new, now = _lines(before), _lines(after), _lines(text)
        same = len(old) == len(now) and skeleton(before) == skeleton(text)
        if not (same or anywhere) or max(map(len, (old, new, now))) > MAX_LINES:
            return None
        made = _spliced(text, old, new, now, same=same)
        if made is None or made == text:
            return None
        parse(made)
        return made if not same or skeleton(made) == skeleton(after) else None
    except _UNREADABLE:
        return None


def _spliced(
    text: str, old: Sequence[_Line], new: Sequence[_Line], now: Sequence[_Line], *, same: bool
) -> str | None:
    indents = {line.depth: line.indent for line in reversed(now)}
    newline = "\r\n" if "\r\n" in text else "\n"
    splices: list[tuple[int, int, str]] = []
    for change in _changes(old, new, by_line=same):
        # An insertion is placed by the line before it.
        inserts = change.first == change.last
        first = max(0, change.first - inserts)
        anchor = old[first : max(change.last, first + 1)]
        at = first if same else _only_place(anchor, now)
        if at is None or not anchor:
            return None
        window = now[at : at + len(anchor)]
        shift = window[0].depth - anchor[0].depth
        put = newline.join(
            indents.get(depth, indents.get(1, "    ") * max(0, depth)) + line.text
            for line in change.new for depth in (line.depth + shift,)
        )
        start, end = window[0].start - len(window[0].indent), window[-1].end
        if inserts and change.first > 0:
            start = end = _line_end(text, end)
            put = newline + put
        elif inserts:
            end, put = start, put + newline
        else:
            end = end if put else min(len(text), _line_end(text, end) + 1)
            if any(start <= one < end for one in _comments(text)):
                return None
        splices.append((start, end, put))
    for start, end, put in reversed(splices):
        text = text[:start] + put + text[end:]
    return text


@dataclass(frozen=True)
class _Change:
    """New lines in place of the old ones from `first` up to `last`."""

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


def _only_place(lines: Sequence[_Line], now: Sequence[_Line]) -> int | None:
    """Where the only lines stand that say the same."""
    wanted = [line.words for line in lines]
    found = [
        at for at in range(len(now) - len(wanted) + 1)
        if [line.words for line in now[at : at + len(wanted)]] == wanted
    ]
    return found[0] if len(found) == 1 else None


def _line_end(text: str, at: int) -> int:
    """The end of the line in which a character stands."""
    end = text.find("\n", at)
    return len(text) if end < 0 else end


def _key(lines: Iterable[_Line]) -> list[tuple[int, tuple[str, ...]]]:
    return [(line.depth, line.words) for line in lines]


@lru_cache(maxsize=8)
def _tokens(text: str) -> tuple[tuple[tokenize.TokenInfo, int, int], ...]:
    """The tokens of a program, each with the characters that it spans. Raises what `tokenize`
    does."""
    starts = [0]
    for line in text.split("\n"):
        starts.append(starts[-1] + len(line) + 1)
    return tuple(
        (one, starts[one.start[0] - 1] + one.start[1], starts[one.end[0] - 1] + one.end[1])
        for one in tokenize.generate_tokens(io.StringIO(text).readline)
    )


def _comments(text: str) -> list[int]:
    """The characters at which comments begin."""
    return [start for token, start, _ in _tokens(text) if token.type == tokenize.COMMENT]


@lru_cache(maxsize=8)
def _lines(text: str) -> tuple[_Line, ...]:
    """The logical lines of a program. Raises what `tokenize` does."""
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


def is_local(before: str, after: str) -> bool:
    """Whether `after` is `before` with a small edit."""
    words, others = Counter(_WORD.findall(before)), Counter(_WORD.findall(after))
    kept = (words & others).total()
    if kept < LEAST_KEPT * words.total() or (others - words).total() > MAX_ADDED:
        return False
    values = Counter(_VALUE.findall(after)) - Counter(_VALUE.findall(before))
    return values.total() <= MAX_VALUES


def defines_no_names(before: str, after: str) -> bool:
    """Whether an edit uses only the program's own names, keywords and computing builtins."""
    added = {*_NAME.findall(after)} - {*_NAME.findall(before)}
    return added <= COMPUTING | {*keyword.kwlist} - _REACHING_OUT
