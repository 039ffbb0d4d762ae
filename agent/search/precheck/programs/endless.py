"""Whether a program that has run for long repeats itself, so that it will never end.

For a few steps every loop is looked at as it comes round. Where a `while` loop finds all that it
could depend on as it was the time before, nothing can change any more. What differs may do so
where the loop only adds to it: `merged.append(left[i])` goes on for ever if nothing moves `i`.
Nor does a program end whose numbers grow by more than a bit a step.

What is not certain (an iterator, a file, chance, the time) is taken for progress. The
program shares this process, so this is a hint like all that is seen here.
"""

from __future__ import annotations

import ast
import inspect
import marshal
from collections import deque
from collections.abc import Iterable
from opcode import opmap
from sys import _getframe
from types import BuiltinFunctionType, FrameType, FunctionType, ModuleType
from typing import Any, NamedTuple

LOOKS, ITERATIONS = 64, 5
"""Steps that are looked at, and how often one loop may come round: enough for loops in loops."""
LEAST_BITS = 1_000
"""Of a number that may be running away."""
LONGEST = 10_000
"""Characters of a program that is read for what a loop only adds to."""
MAX_BYTES, MAX_PARTS = 100_000, 300
"""What a frame's values may come to, to be compared."""

_STILL = frozenset((
    "__future__", "_bisect", "_collections", "_functools", "_heapq", "_operator", "abc", "bisect",
    "builtins", "collections", "collections.abc", "copy", "dataclasses", "enum", "functools",
    "heapq", "math", "operator", "re", "string", "typing",
))
"""Modules whose functions answer alike whenever they are called."""
_NEVER_CHANGE = frozenset(("datetime", "decimal", "fractions", "re", "typing"))
"""Modules whose values are what they are."""
_ADDING = frozenset(("add", "append", "appendleft", "extend", "insert", "setdefault", "update"))
_SUSPENDED = inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR
_FOR = opmap["FOR_ITER"]


class _Unclear(Exception):
    """Something may change that is not seen."""


class LoopWatch:
    """The steps during which a program is looked at: an iterator that looks at who asks."""

    def __init__(self, text: str) -> None:
        self.left = LOOKS
        self.repeats = False
        """A loop came round that has nothing left to change."""
        self._text = text
        self._seen: dict[FrameType, dict[int, _Look]] = {}

    def __iter__(self) -> LoopWatch:
        return self

    def __next__(self) -> bool:
        if not self.left or self.repeats:
            self._seen.clear()
            raise StopIteration
        self.left -= 1
        self.repeats = self._comes_round(_getframe(1))
        return True

    def _comes_round(self, frame: FrameType) -> bool:
        """Whether this frame was here before, as it is now."""
        code, line = frame.f_code, frame.f_lineno
        if code.co_flags & _SUSPENDED:
            return False  # its consumer may have enough values
        seen = self._seen.setdefault(frame, {})
        if code.co_code[frame.f_lasti] == _FOR:
            # How far an iteration has come is nowhere to be seen: it speaks for what is in it.
            for place in [place for place, look in seen.items() if look.line >= line]:
                del seen[place]
            return False
        before = seen.get(frame.f_lasti)
        rounds = 0 if before is None else before.rounds + 1
        try:
            now = seen[frame.f_lasti] = _Look(line, *_picture(frame), rounds)
        except (_Unclear, RecursionError, ValueError):
            self.left = 0
            return False
        if before is None:
            return False
        if now.everyones == before.everyones:
            changed = now.changed(before)
            if not changed or (rounds == 1 and only_added_to(self._text, line, changed)):
                return True
        if rounds == ITERATIONS:
            self.left = 0
        return False


class _Look(NamedTuple):
    """What a frame could see when it came to a step: the bytes of each value by its name."""

    line: int
    own: dict[str, bytes]
    everyones: dict[str, bytes]
    rounds: int

    def changed(self, before: _Look) -> set[str]:
        """The frame's own names whose value is another."""
        names = {*self.own, *before.own}
        return {name for name in names if self.own.get(name) != before.own.get(name)}


def runs_away(error: BaseException | None, steps: int) -> bool:
    """Whether a program that was cut off held a number that grew by more than a bit a step."""
    trace = None if error is None else error.__traceback__
    most = max(LEAST_BITS, steps)
    while trace is not None:
        for value in list(trace.tb_frame.f_locals.values()):
            if type(value) is int and value.bit_length() > most:
                return True
        trace = trace.tb_next
    return False


def only_added_to(text: str, line: int, names: Iterable[str]) -> bool:
    """Whether the loops around the `while` in that line read these names only to make their next
    values of them."""
    try:
        tree = ast.parse(text) if len(text) <= LONGEST else None
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    loop = None if tree is None else _outermost(tree, line)
    return loop is not None and not _reads(loop, frozenset(names))


def _outermost(node: ast.AST, line: int) -> ast.AST | None:
    """The outermost loop around that line."""
    for block in ("body", "orelse", "handlers", "finalbody", "cases"):
        for inner in getattr(node, block, ()):
            if isinstance(inner, ast.match_case):
                found = _outermost(inner, line)
            elif not inner.lineno <= line <= inner.end_lineno:
                continue
            else:
                is_loop = isinstance(inner, ast.While | ast.For)
                found = inner if is_loop else _outermost(inner, line)
            if found is not None:
                return found
    return None


def _reads(node: ast.AST, names: frozenset[str]) -> bool:
    match node:
        case ast.Name(id=name):
            return name in names
        case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr=attribute))):
            if name in names and attribute in _ADDING:
                return False
        case ast.Assign(targets=[ast.Name(id=name)]) | ast.AugAssign(target=ast.Name(id=name)):
            if name in names:
                return False
    return any(_reads(child, names) for child in ast.iter_child_nodes(node))


def _picture(frame: FrameType) -> tuple[dict[str, bytes], dict[str, bytes]]:
    """A frame's own variables and the module's; raises `_Unclear` where one cannot be compared."""
    if "input" in frame.f_code.co_names:
        raise _Unclear
    home = frame.f_globals.get("__name__")
    seen = [frame.f_locals] + ([] if frame.f_locals is frame.f_globals else [frame.f_globals])
    pictures = [
        {name: _written(value, home) for name, value in names.items() if not name.startswith("__")}
        for names in seen
    ]
    if sum(len(text) for names in pictures for text in names.values()) > MAX_BYTES:
        raise _Unclear
    return pictures[0], pictures[1] if len(pictures) > 1 else {}


def _written(value: Any, home: object) -> bytes:
    try:
        # The format before references, which tell values apart that are equal.
        return marshal.dumps(value, 2)
    except ValueError:  # no plain value
        parts: list[object] = []
        _take_apart(value, home, parts, {})
        return marshal.dumps(parts, 2)


def _kept(value: Any) -> list[object]:
    """What a function or a class of the program keeps between calls."""
    if isinstance(value, type):
        return [one for name, one in vars(value).items() if not name.startswith("__")]
    cells = getattr(value, "__closure__", None) or ()
    return [value.__defaults__, *(cell.cell_contents for cell in cells)]


def _take_apart(value: Any, home: object, parts: list[object], met: dict[int, int]) -> None:
    """Lists what a value consists of, each part once."""
    kind = type(value)
    if id(value) in met:
        parts.append(met[id(value)])
        return
    met[id(value)] = len(met)
    if len(met) > MAX_PARTS:
        raise _Unclear
    if isinstance(value, ModuleType | FunctionType | BuiltinFunctionType | type):
        where = value.__name__ if isinstance(value, ModuleType) else value.__module__
        if where != home:
            if where not in _STILL:
                raise _Unclear
            return
        inner = _kept(value)
    elif kind.__module__ in _NEVER_CHANGE:
        return
    elif kind in (list, tuple, set, frozenset, deque):
        inner = list(value)
    elif isinstance(value, dict) and kind.__module__ in _STILL:
        inner = [one for pair in value.items() for one in pair]
    elif all(one.__module__ == home for one in kind.__mro__[:-1]) and hasattr(value, "__dict__"):
        inner = [one for pair in vars(value).items() for one in pair]
    else:
        try:
            marshal.dumps(value, 2)
        except ValueError:
            raise _Unclear from None
        parts.append(value)
        return
    parts += [kind.__name__, len(inner)]
    for one in inner:
        _take_apart(one, home, parts, met)
