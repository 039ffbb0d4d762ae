"""Inserts a step counter into program text, so that endless loops end at the same step each time.

Every `while` and `lambda` and every function's first statement calls `__tick__`, which is the
`__next__` of `repeat(True, n)`; every iterable of a `for` passes through `__ticks__`, which is
`compress` over the same iterator. Both run in C, except for the few steps that are watched (see
`endless`). An exhausted iterator stays exhausted, so a program that swallows the exception gets it
again at its next step. No insertion adds or removes a line, so tracebacks keep their numbers.

Asserts at module level are disabled in the same way: they are tests, which are run separately.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from itertools import chain, compress, repeat
from typing import NamedTuple, TypeVar

from agent.core.common_ends import common_ends
from agent.search.precheck.programs.endless import LoopWatch

T = TypeVar("T")

_OPENS_LOOP = re.compile(rb"\b(async|for|while|lambda|def|assert)\b")
_OPENS_BLOCK = re.compile(rb"(if|for|while|with|try|async|def|class|match|@)\b|@")
"""The starts of statements that can have no other statement before them on their line."""
_NEWLINE = ord("\n")
_TICK = b"__tick__(); "
_OPEN_CONDITION = b"__tick__() and ("
_OPEN_ITERABLE = b"__ticks__(("
_OPEN_ASSERT = b"True or ("


class Insertion(NamedTuple):
    """Bytes to insert; `closing` ones end the expression before them."""

    offset: int
    closing: bool
    text: bytes


class StepBudget:
    """A limit of steps, shared by all loops of one run.

    With a `watch`, the steps after the first `watch_at` are watched, and a run that repeats itself
    has no more steps.
    """

    def __init__(self, limit: int, watch_at: int = 0, watch: LoopWatch | None = None) -> None:
        looks = 0 if watch is None else watch.left
        self._first = repeat(True, min(watch_at, limit) if looks else limit)
        self._watch = watch
        self._rest = repeat(True, max(0, limit - watch_at - looks) if looks else 0)
        self._initial = self._remaining
        self._step_source = chain.from_iterable(self._phases())
        self.tick = self._step_source.__next__

    def ticks(self, iterable: Iterable[T]) -> Iterator[T]:
        return compress(iterable, self._step_source)

    @property
    def used(self) -> int:
        return self._initial - self._remaining

    @property
    def exhausted(self) -> bool:
        return self.repeats or self._remaining == 0

    @property
    def repeats(self) -> bool:
        """Whether the run was ended since it repeats itself."""
        return self._watch is not None and self._watch.repeats

    @property
    def _remaining(self) -> int:
        watched = 0 if self._watch is None else self._watch.left
        return self._first.__length_hint__() + watched + self._rest.__length_hint__()

    def _phases(self) -> Iterator[Iterator[bool]]:
        yield self._first
        if self._watch is not None:
            yield self._watch
        if not self.repeats:
            yield self._rest


class CounterInserter:
    """Inserts counters into candidates that differ from one base text in few places.

    The insertions of the base are computed once and moved along with the edit; a candidate whose
    edit changes a loop is parsed itself.
    """

    def __init__(self, base: str) -> None:
        self._base = base.encode("utf-8", "surrogatepass")
        try:
            self._splices: list[Insertion] | None = splices(base)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            self._splices = None

    def text(self, candidate: str) -> str:
        """The candidate with counters; raises what `ast.parse` raises for a broken one."""
        moved = self._moved(candidate.encode("utf-8", "surrogatepass"))
        return moved if moved is not None else with_counters(candidate)

    def _moved(self, data: bytes) -> str | None:
        if self._splices is None:
            return None
        base = self._base
        start, tail = common_ends(base, data)
        end, shift = len(base) - tail, len(data) - len(base)
        if _OPENS_LOOP.search(data, start, len(data) - tail):
            return None
        whole_lines = end == start and b"\n" in data[start : start + shift]
        if whole_lines:
            # The same insertion from the start of its line, where no expression is open.
            while start and _NEWLINE != base[start - 1] == data[start - 1 + shift]:
                start, end = start - 1, end - 1
        moved = []
        for offset, closing, text in self._splices:
            if offset == start and text == _TICK and end > start:
                if _OPENS_BLOCK.match(data, offset):
                    return None
            elif offset == start == end and (whole_lines or text == _TICK):
                # Statements were inserted before: the counter stays with its statement.
                moved.append(Insertion(offset + shift, closing, text))
                continue
            if closing and offset >= end:
                moved.append(Insertion(offset + shift, closing, text))
            elif offset <= start:
                moved.append(Insertion(offset, closing, text))
            elif offset >= end:
                moved.append(Insertion(offset + shift, closing, text))
            else:
                return None
        return _insert(data, moved)


def with_counters(text: str) -> str:
    """The text with step counters."""
    return _insert(text.encode("utf-8", "surrogatepass"), splices(text))


def splices(text: str) -> list[Insertion]:
    """The insertions that count every step of a program, in the order of the text."""
    tree = ast.parse(text)
    data = text.encode("utf-8", "surrogatepass")
    starts = [0, *(match.end() for match in re.finditer(rb"\r\n|\r|\n", data))]
    found: list[Insertion] = []

    def at(line: int, column: int) -> int:
        return starts[line - 1] + column

    def around(node: ast.expr, opening: bytes, closing: bytes) -> None:
        assert node.end_lineno is not None and node.end_col_offset is not None
        found.append(Insertion(at(node.lineno, node.col_offset), False, opening))
        found.append(Insertion(at(node.end_lineno, node.end_col_offset), True, closing))

    opened: set[ast.expr] = set()
    for node in _outer_first(tree):
        if isinstance(node, ast.While):
            around(node.test, _OPEN_CONDITION, b")")
        elif isinstance(node, ast.For | ast.comprehension) and not getattr(node, "is_async", 0):
            around(node.iter, _OPEN_ITERABLE, b"))")
        elif isinstance(node, ast.Lambda):
            around(node.body, _OPEN_CONDITION, b")")
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            first = _first_step(node.body)
            if isinstance(first, ast.If) and first.test not in opened:
                opened.add(first.test)
                around(first.test, _OPEN_CONDITION, b")")
            elif first is not None and not isinstance(first, ast.If):
                found.append(Insertion(at(first.lineno, first.col_offset), False, _TICK))
    for statement in tree.body:
        if isinstance(statement, ast.Assert):
            around(statement.test, _OPEN_ASSERT, b")")
    # Outer nodes come first in the walk: at one offset they open first and close last.
    order = {id(splice): position for position, splice in enumerate(found)}
    return sorted(
        found,
        key=lambda s: (s.offset, not s.closing, -order[id(s)] if s.closing else order[id(s)]),
    )


def _outer_first(tree: ast.AST) -> Iterator[ast.AST]:
    """As `ast.walk`, in another order, faster, and without f-strings, whose parts have wrong
    offsets before Python 3.12."""
    pending = [tree]
    while pending:
        node = pending.pop()
        if isinstance(node, ast.JoinedStr):
            continue
        yield node
        for value in node.__dict__.values():
            if isinstance(value, ast.AST):
                pending.append(value)
            elif isinstance(value, list):
                pending += [one for one in value if isinstance(one, ast.AST)]


_COMPOUND = (
    ast.For, ast.AsyncFor, ast.While, ast.With, ast.AsyncWith, ast.Match, ast.FunctionDef,
    ast.AsyncFunctionDef, ast.ClassDef, ast.TryStar,
)


def _first_step(body: list[ast.stmt]) -> ast.stmt | None:
    """The first statement that a counter can precede on the same line."""
    for statement in body:
        if isinstance(statement, ast.Try):
            return _first_step(statement.body)
        if isinstance(statement, _COMPOUND):
            return None
        is_docstring = isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
        if not is_docstring or statement is body[-1]:
            return statement
    return None


def _insert(data: bytes, moved: list[Insertion]) -> str:
    parts: list[bytes] = []
    last = 0
    for offset, _, text in moved:
        parts += (data[last:offset], text)
        last = offset
    parts.append(data[last:])
    return b"".join(parts).decode("utf-8", "surrogatepass")
