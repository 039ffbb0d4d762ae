"""Puts an edit into a program, at every place where it fits, or back where it was; every other byte
stays."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice, pairwise
from textwrap import indent

from agent.core.trees import parse
from agent.intake.program import protected_lines
from agent.memory.edits import (
    Change,
    Edit,
    Hunk,
    TooDifferent,
    changes,
    differing,
    dumps,
)
from agent.memory.patterns import (
    Abstraction,
    blocks,
    header,
    placeholders,
    standard_imports,
    worded,
)
from agent.repair.program import Program, Splice, spliced

MOST_PLACES = 40
MOST_COMPARED = 2_000
MOST_NAMES_TRIED = 4
MOST_STATEMENTS = 3_000

_STEPS = re.compile(r"^(?: {4})+", re.MULTILINE)
_KEPT = re.compile(r"__kept_(\d+)__")
_UNREADABLE = (SyntaxError, ValueError, RecursionError, MemoryError)
_OWN_TEXT = (
    ast.Name, ast.Constant, ast.Call, ast.Subscript, ast.List, ast.Dict, ast.JoinedStr,
)
"""Expressions whose text may stand wherever an expression may."""


def contexts(text: str) -> tuple[str, ...]:
    """The patterns of all statements of a program, in its order: where an edit could fit."""
    places = _places(text)
    return () if places is None else tuple(places.by_pattern)


def applied(edit: Edit, text: str, limit: int) -> tuple[str, ...]:
    """Up to `limit` texts: the program with the edit at each place that it fits."""
    places = _places(text)
    if places is None:
        return ()
    found: dict[str, None] = {}
    compared = iter(range(MOST_COMPARED))
    ways = _ways(places, edit.hunks, Abstraction(places.modules), compared)
    for windows, words in islice(ways, MOST_PLACES):
        for change in _in_words(places.program, edit.hunks, windows, words.words):
            made = _made(places.program, change, places.protected)
            if made is not None:
                found.setdefault(made)
            if len(found) == limit:
                return tuple(found)
    return tuple(found)


def returned(before: str, after: str, text: str) -> str | None:
    """`text` with the edit that made `after` of `before`, which differs from `text` in layout and
    comments only; `None` where that fails."""
    try:
        program = Program(text)
        found = changes(program.tree.body, before, after)
    except (*_UNREADABLE, TooDifferent):
        return None
    made = _made(program, found, protected_lines(text))
    return made if made is not None and dumps(made) == dumps(after) else None


@dataclass(frozen=True)
class _Places:
    """A program, and where statements of each pattern stand: in which block, at which index."""

    program: Program
    protected: frozenset[int]
    modules: frozenset[str]
    by_pattern: dict[str, list[tuple[list[ast.stmt], int]]]


@lru_cache(maxsize=4)
def _places(text: str) -> _Places | None:
    try:
        program = Program(text)
    except _UNREADABLE:
        return None
    found = [(block, index) for block in blocks(program.tree) for index in range(len(block))]
    if len(found) > MOST_STATEMENTS:
        return None
    modules = standard_imports(program.tree)
    by_pattern: dict[str, list[tuple[list[ast.stmt], int]]] = {}
    for block, index in sorted(found, key=lambda one: _place(one[0][one[1]])):
        pattern = _pattern(Abstraction(modules), header(block[index]))
        if pattern is not None:
            by_pattern.setdefault(pattern, []).append((block, index))
    return _Places(program, protected_lines(text), modules, by_pattern)


def _pattern(words: Abstraction, *statements: ast.stmt) -> str | None:
    try:
        return words.source(*statements)
    except (ValueError, RecursionError):
        return None


def _place(statement: ast.stmt) -> tuple[int, int]:
    return statement.lineno, statement.col_offset


def _ways(
    places: _Places, hunks: Sequence[Hunk], words: Abstraction, compared: Iterator[int]
) -> Iterator[tuple[list[list[ast.stmt]], Abstraction]]:
    if not hunks:
        yield [], words
        return
    hunk, *others = hunks
    length = len(parse(hunk.old).body)
    for block, index in places.by_pattern.get(hunk.context, ()):
        window = block[index : index + length]
        if next(compared, None) is None:
            return
        whole = len(window) == len(block) and hunk.kind == "statements" and not hunk.new
        shown = window if hunk.kind == "statements" else [header(one) for one in window]
        seen = words.copy()
        if whole or _pattern(seen, *shown) != hunk.old:
            continue
        for windows, known in _ways(places, others, seen, compared):
            yield [window, *windows], known


def _in_words(
    program: Program, hunks: Sequence[Hunk], windows: Sequence[list[ast.stmt]],
    words: dict[str, object],
) -> Iterator[list[Change]]:
    """The changes in this program's words; a new name is tried as each of the nearest ones."""
    free = {
        word: window for hunk, window in zip(hunks, windows, strict=True)
        for word in placeholders(hunk.new) if word not in words
    }
    tried = [words]
    if free:
        (word, window), *more = free.items()
        if more or not word.startswith("NAME"):
            return
        names = [one for one in program.variables(window[0]) if one not in words.values()]
        tried = [{**words, word: name} for name in names[:MOST_NAMES_TRIED]]
    for one in tried:
        yield [
            Change(hunk.kind, tuple(window), worded(hunk.new, one))
            for hunk, window in zip(hunks, windows, strict=True)
        ]


def _made(
    program: Program, wanted: Sequence[Change], protected: frozenset[int]
) -> str | None:
    splices: list[Splice] = []
    try:
        for change in wanted:
            found = _splices(program, change)
            if found is None:
                return None
            splices += found
        if _overlap(splices) or any(_touches(program, one, protected) for one in splices):
            return None
        made = spliced(program.data, splices)
        parse(made)
    except _UNREADABLE:
        return None
    return made if made != program.text else None


def _splices(program: Program, change: Change) -> list[Splice] | None:
    old, new = change.old, change.new
    match change.kind:
        case "before" | "after":
            if not program.alone(old[0]):
                return None
            put = program.insert_before if change.kind == "before" else program.insert_after
            return [put(old[0], _text(program, old, *new).split("\n"), 0.0)]
        case "line":
            pairs = differing(old[0], new[0])
            if pairs is not None:
                if any("#" in program.code(one) for one, _ in pairs):
                    return None
                return [
                    program.replace(one, _text(program, [one], other), 0.0) for one, other in pairs
                ]
    return _replaced(program, old, new)


def _replaced(
    program: Program, old: Sequence[ast.stmt], new: Sequence[ast.stmt]
) -> list[Splice] | None:
    first, last = old[0], old[-1]
    between = program.between(program.start(first), program.end(last))
    if "#" in between or getattr(first, "decorator_list", None):
        return None
    if not all(map(program.alone, old)):
        return None
    if not new:
        start, end = program.whole_lines(first)[0], program.whole_lines(last)[1]
        return [Splice(start, end, "", 0.0, first.lineno)]
    outer = program.indent(first)
    text = indent(_text(program, old, *new), outer).removeprefix(outer)
    text = text.replace("\n", program.newline)
    return [Splice(program.start(first), program.end(last), text, 0.0, first.lineno)]


class _Kept(ast.NodeTransformer):
    """Puts a mark for an expression of which the program has a text of its own."""

    def __init__(self, program: Program, old: Sequence[ast.AST]) -> None:
        self._own = {
            ast.dump(one): code for node in old for one in _outside_f_strings(node)
            if isinstance(one, _OWN_TEXT) and "\n" not in (code := program.code(one))
        }
        self.texts: list[str] = []

    def visit(self, node: ast.AST) -> ast.AST:
        if isinstance(node, ast.JoinedStr) and ast.dump(node) not in self._own:
            return node  # its texts must stay constants
        code = self._own.get(ast.dump(node)) if isinstance(node, _OWN_TEXT) else None
        if code is None:
            return self.generic_visit(node)
        self.texts.append(code)
        return ast.Name(f"__kept_{len(self.texts) - 1}__", ast.Load())


def _outside_f_strings(node: ast.AST) -> Iterator[ast.AST]:
    """Without the parts of f-strings, which have no places before Python 3.12."""
    yield node
    if not isinstance(node, ast.JoinedStr):
        for child in ast.iter_child_nodes(node):
            yield from _outside_f_strings(child)


def _text(program: Program, old: Sequence[ast.AST], *new: ast.AST) -> str:
    kept = _Kept(program, old)
    text = "\n".join(
        # A copy: what is shared is not changed.
        ast.unparse(ast.fix_missing_locations(kept.visit(parse(ast.unparse(one))))) for one in new
    )
    text = _STEPS.sub(lambda found: program.step * (len(found[0]) // 4), text)
    return _KEPT.sub(lambda found: kept.texts[int(found[1])], text)


def _overlap(splices: Sequence[Splice]) -> bool:
    places = sorted((one.start, one.end) for one in splices)
    return any(
        second[0] < first[1] or second == first
        for first, second in pairwise(places)
    )


def _touches(program: Program, splice: Splice, protected: frozenset[int]) -> bool:
    first = program.data.count(b"\n", 0, splice.start) + 1
    last = program.data.count(b"\n", 0, splice.end) + 1
    return not protected.isdisjoint(range(first, last + (splice.end > splice.start)))
