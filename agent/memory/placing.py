"""An edit put into another program, at every place that its statement's pattern fits."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice, pairwise
from textwrap import indent
from typing import cast

from agent.intake import protected_lines
from agent.memory.edits import Edit, Hunk, edit_between
from agent.memory.patterns import Match, header, matched
from agent.memory.wording import block_text, filled, rendered
from agent.repair.program import Program, Splice, spliced
from agent.trees import parse, parse_expression

MOST_PLACES = 40
"""Ways to place a whole edit that are looked at."""
MOST_COMPARED = 20_000
"""Statements that are held against the patterns of one edit, all its hunks together."""


def applied(edit: Edit, text: str, limit: int) -> tuple[str, ...]:
    """Up to `limit` texts: the program with the edit at each place that it fits."""
    parts = _parts(text)
    if parts is None:
        return ()
    program, protected, statements = parts
    place = _Ground(program, statements, iter(range(MOST_COMPARED)))
    found: dict[str, None] = {}
    ways = _ways(place, edit.hunks, Match())
    for splices in islice(ways, MOST_PLACES):
        if _overlap(splices) or any(_touches(program, one, protected) for one in splices):
            continue
        result = spliced(program.data, splices)
        if result != text and _parses(result):
            found.setdefault(result)
        if len(found) == limit:
            break
    return tuple(found)


@lru_cache(maxsize=4)
def _parts(text: str) -> tuple[Program, frozenset[int], tuple[ast.stmt, ...]] | None:
    """The program, its lines that are never edited, and its statements in the order of the text;
    kept, since many edits are tried on it."""
    try:
        program = Program(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    found = [node for node in ast.walk(program.tree) if isinstance(node, ast.stmt)]
    found.sort(key=lambda node: (node.lineno, node.col_offset))
    return program, frozenset(protected_lines(text)), tuple(found)


@dataclass(frozen=True)
class _Ground:
    """A program that is searched for places, and how much more of it may be looked at."""

    program: Program
    statements: tuple[ast.stmt, ...]
    steps: Iterator[int]

    def tried(self) -> Iterator[ast.stmt]:
        """The statements, until the search has looked at enough."""
        return (one for one in self.statements if next(self.steps, None) is not None)

    def windows(self, length: int) -> Iterator[tuple[list[ast.stmt], bool]]:
        """Neighbouring statements, and whether they are a whole block."""
        for block in _all_blocks(self.program.tree):
            for start in range(len(block) - length + 1):
                if next(self.steps, None) is None:
                    return
                yield block[start : start + length], len(block) == length


def returned(before: str, after: str, text: str) -> str | None:
    """`text` with the edit that made `after` of `before`, a program that differs from `text`
    in comments and layout only; `None` where that cannot be done in place."""
    edit = edit_between(before, after, literal=True)
    if edit is None:
        return None
    wanted = ast.dump(parse(after))
    return next(
        (one for one in applied(edit, text, 20) if ast.dump(parse(one)) == wanted), None
    )


def _ways(ground: _Ground, hunks: Sequence[Hunk], bound: Match) -> Iterator[list[Splice]]:
    """The splices of all hunks, for each way to place them with one meaning of the words."""
    if not hunks:
        yield []
        return
    for splice, seen in _places(ground, hunks[0], bound):
        for rest in _ways(ground, hunks[1:], seen):
            yield [splice, *rest]


def _places(ground: _Ground, hunk: Hunk, bound: Match) -> Iterator[tuple[Splice, Match]]:
    match hunk.kind:
        case "import":
            yield from _imports(ground.program, hunk, bound)
        case "expression":
            yield from _expressions(ground, hunk, bound)
        case "statements":
            yield from _replaced(ground, hunk, bound)
        case "before" | "after":
            yield from _put_in(ground, hunk, bound)


def _expressions(ground: _Ground, hunk: Hunk, bound: Match) -> Iterator[tuple[Splice, Match]]:
    program = ground.program
    pattern, old = _statement(hunk.context), _expression(hunk.old)
    for statement in ground.tried():
        outer = matched(pattern, header(statement), bound)
        if outer is None or outer.edited is None:
            continue
        inner = matched(old, outer.edited, outer)
        if inner is None or "#" in program.code(outer.edited):
            continue
        for new, seen in filled(program, hunk.new, inner, statement):
            text = rendered(program, new.body[0], seen)
            yield program.replace(outer.edited, text, 0.0), seen


def _replaced(ground: _Ground, hunk: Hunk, bound: Match) -> Iterator[tuple[Splice, Match]]:
    program, patterns = ground.program, parse(hunk.old).body
    for window, whole in ground.windows(len(patterns)):
        seen: Match | None = bound
        for pattern, statement in zip(patterns, window, strict=True):
            seen = matched(pattern, statement, seen) if seen is not None else None
        if seen is None or (whole and not hunk.new):
            continue
        if not all(program.alone(one) for one in window):
            continue
        span = program.between(program.start(window[0]), program.end(window[-1]))
        if "#" in span or getattr(window[0], "decorator_list", None):
            continue
        for new, known in filled(program, hunk.new, seen, window[0]):
            yield _splice(program, window, new, known), known


def _put_in(ground: _Ground, hunk: Hunk, bound: Match) -> Iterator[tuple[Splice, Match]]:
    program, pattern = ground.program, _statement(hunk.context)
    for statement in ground.tried():
        seen = matched(pattern, header(statement), bound)
        if seen is None or not program.alone(statement):
            continue
        for new, known in filled(program, hunk.new, seen, statement):
            lines = block_text(program, new, known).split("\n")
            put = program.insert_before if hunk.kind == "before" else program.insert_after
            yield put(statement, lines, 0.0), known


def _imports(program: Program, hunk: Hunk, bound: Match) -> Iterator[tuple[Splice, Match]]:
    wanted = parse(hunk.new)
    names = {alias.asname or alias.name for node in wanted.body
             if isinstance(node, ast.Import | ast.ImportFrom) for alias in node.names}
    bound_here = {*program.imported, *program.functions, *program.module_values}
    if names & bound_here or not names <= program.reads.keys():
        return
    body = program.tree.body
    place = next(
        (one for index, one in enumerate(body) if not _is_opening(one, index)), None
    )
    if place is not None and program.alone(place):
        lines = ast.unparse(wanted).split("\n")
        yield program.insert_before(place, lines, 0.0), bound


def _is_opening(statement: ast.stmt, index: int) -> bool:
    """Whether a statement must stay first: the docstring, or an import of the future."""
    if isinstance(statement, ast.ImportFrom):
        return statement.module == "__future__"
    match statement:
        case ast.Expr(value=ast.Constant(value=str())):
            return index == 0
    return False


def _splice(
    program: Program, window: Sequence[ast.stmt], new: ast.Module, match: Match
) -> Splice:
    first, last = window[0], window[-1]
    if not new.body:
        start, _ = program.whole_lines(first)
        _, end = program.whole_lines(last)
        return Splice(start, end, "", 0.0, first.lineno)
    text = indent(block_text(program, new, match), program.indent(first))
    text = text.removeprefix(program.indent(first)).replace("\n", program.newline)
    return Splice(program.start(first), program.end(last), text, 0.0, first.lineno)


def _all_blocks(tree: ast.AST) -> Iterator[list[ast.stmt]]:
    for node in ast.walk(tree):
        for name in ("body", "orelse", "finalbody"):
            block = getattr(node, name, None)
            if isinstance(block, list) and block:
                yield cast("list[ast.stmt]", block)


def _statement(pattern: str) -> ast.stmt:
    return parse(pattern).body[0]


def _expression(pattern: str) -> ast.expr:
    return parse_expression(pattern)


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


def _parses(text: str) -> bool:
    try:
        parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True
