"""Detects programs that never end, since they repeat a state.

For a few steps every loop is watched at each iteration. If a `while` loop finds all values that it
could depend on unchanged, it never ends. Values may differ that the loop only adds to:
`merged.append(left[i])` goes on for ever if nothing changes `i`. A program does not end either if
its numbers grow by more than one bit per step.

Anything uncertain (an iterator, a file, randomness, the time) counts as progress. The program
shares this process, so the result is a hint.
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

WATCHED_STEPS, ITERATIONS = 64, 5
"""Steps that are watched, and iterations of one loop: enough for nested loops."""
LEAST_BITS = 1_000
"""The smallest size of a number that counts as growing without bound."""
LONGEST = 10_000
"""Characters of the longest program that is parsed for values that a loop only adds to."""
MAX_BYTES, MAX_PARTS = 100_000, 300
"""The largest values of a frame that are compared."""

_DETERMINISTIC = frozenset((
    "__future__", "_bisect", "_collections", "_functools", "_heapq", "_operator", "abc", "bisect",
    "builtins", "collections", "collections.abc", "copy", "dataclasses", "enum", "functools",
    "heapq", "math", "operator", "re", "string", "typing",
))
"""Modules of deterministic functions."""
_IMMUTABLE = frozenset(("datetime", "decimal", "fractions", "re", "typing"))
"""Modules of immutable types."""
_ADDING = frozenset(("add", "append", "appendleft", "extend", "insert", "setdefault", "update"))
_SUSPENDED = inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR
_FOR = opmap["FOR_ITER"]


class _Opaque(Exception):
    """A value cannot be compared, so it may change."""


class LoopWatch:
    """An iterator over the watched steps, which inspects the frame that advances it."""

    def __init__(self, text: str) -> None:
        self.left = WATCHED_STEPS
        self.repeats = False
        """Whether a loop repeated its state."""
        self._text = text
        self._seen: dict[FrameType, dict[int, _FrameState]] = {}

    def __iter__(self) -> LoopWatch:
        return self

    def __next__(self) -> bool:
        if not self.left or self.repeats:
            self._seen.clear()
            raise StopIteration
        self.left -= 1
        self.repeats = self._is_repeated(_getframe(1))
        return True

    def _is_repeated(self, frame: FrameType) -> bool:
        """Whether this frame was at this step before with the same values."""
        code, line = frame.f_code, frame.f_lineno
        if code.co_flags & _SUSPENDED:
            return False  # its consumer may have enough values
        seen = self._seen.setdefault(frame, {})
        if code.co_code[frame.f_lasti] == _FOR:
            # The position of an iterator is hidden: each item is progress for the loops inside.
            for place in [place for place, look in seen.items() if look.line >= line]:
                del seen[place]
            return False
        before = seen.get(frame.f_lasti)
        iterations = 0 if before is None else before.iterations + 1
        try:
            now = seen[frame.f_lasti] = _FrameState(line, *_snapshot(frame), iterations)
        except (_Opaque, RecursionError, ValueError):
            self.left = 0
            return False
        if before is None:
            return False
        if now.module == before.module:
            changed = now.changed(before)
            if not changed or (iterations == 1 and only_added_to(self._text, line, changed)):
                return True
        if iterations == ITERATIONS:
            self.left = 0
        return False


class _FrameState(NamedTuple):
    """The variables of a frame at a step, by name, each as bytes."""

    line: int
    own: dict[str, bytes]
    module: dict[str, bytes]
    iterations: int

    def changed(self, before: _FrameState) -> set[str]:
        """The frame's own names with another value."""
        names = {*self.own, *before.own}
        return {name for name in names if self.own.get(name) != before.own.get(name)}


def grows_unbounded(error: BaseException | None, steps: int) -> bool:
    """Whether an interrupted program has a number that grew by more than one bit per step."""
    trace = None if error is None else error.__traceback__
    limit = max(LEAST_BITS, steps)
    while trace is not None:
        for value in list(trace.tb_frame.f_locals.values()):
            if type(value) is int and value.bit_length() > limit:
                return True
        trace = trace.tb_next
    return False


def only_added_to(text: str, line: int, names: Iterable[str]) -> bool:
    """Whether the loops around the `while` in that line read these names only to update them."""
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


def _snapshot(frame: FrameType) -> tuple[dict[str, bytes], dict[str, bytes]]:
    """A frame's own variables and the module's; raises `_Opaque` if one cannot be compared."""
    if "input" in frame.f_code.co_names:
        raise _Opaque
    home = frame.f_globals.get("__name__")
    scopes = [frame.f_locals] + ([] if frame.f_locals is frame.f_globals else [frame.f_globals])
    own, module = [
        {name: _dumped(value, home) for name, value in names.items() if not name.startswith("__")}
        for names in [*scopes, {}][:2]
    ]
    if sum(map(len, [*own.values(), *module.values()])) > MAX_BYTES:
        raise _Opaque
    return own, module


def _dumped(value: Any, home: object) -> bytes:
    try:
        # Later formats have references, which distinguish equal values.
        return marshal.dumps(value, 2)
    except ValueError:  # no plain value
        parts: list[object] = []
        _add_parts(value, home, parts, {})
        return marshal.dumps(parts, 2)


def _persistent_state(value: Any) -> list[object]:
    """The state that a function or a class of the program keeps between calls."""
    if isinstance(value, type):
        return [one for name, one in vars(value).items() if not name.startswith("__")]
    cells = getattr(value, "__closure__", None) or ()
    return [value.__defaults__, *(cell.cell_contents for cell in cells)]


def _add_parts(value: Any, home: object, parts: list[object], numbers: dict[int, int]) -> None:
    """Adds the parts of a value to `parts`, a part that was added before by its number."""
    kind = type(value)
    if id(value) in numbers:
        parts.append(numbers[id(value)])
        return
    numbers[id(value)] = len(numbers)
    if len(numbers) > MAX_PARTS:
        raise _Opaque
    if isinstance(value, ModuleType | FunctionType | BuiltinFunctionType | type):
        where = value.__name__ if isinstance(value, ModuleType) else value.__module__
        if where != home:
            if where not in _DETERMINISTIC:
                raise _Opaque
            return
        inner = _persistent_state(value)
    elif kind.__module__ in _IMMUTABLE:
        return
    elif kind in (list, tuple, set, frozenset, deque):
        inner = list(value)
    elif isinstance(value, dict) and kind.__module__ in _DETERMINISTIC:
        inner = [one for pair in value.items() for one in pair]
    elif all(one.__module__ == home for one in kind.__mro__[:-1]) and hasattr(value, "__dict__"):
        inner = [one for pair in vars(value).items() for one in pair]
    else:
        try:
            marshal.dumps(value, 2)
        except ValueError:
            raise _Opaque from None
        parts.append(value)
        return
    parts += [kind.__name__, len(inner)]
    for one in inner:
        _add_parts(one, home, parts, numbers)
