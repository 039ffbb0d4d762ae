"""The siblings of a repair: what might as well have been written in its place.

Each is the repaired text with one more small edit around what the repair changed: every operator
of the same kind, operands swapped, sibling functions and methods, neighbouring names, constants
one off, another form of the expression. Only tests tell a repair from its siblings: those that
pass them all and behave otherwise are its rivals, whether or not the search came upon them.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from agent.core.common_ends import common_ends
from agent.search.edits import EDITS, Operator
from agent.search.edits.calls import given_arguments, replaced_call
from agent.search.edits.constants import NEUTRAL
from agent.search.program import Program, Splice, spliced
from agent.search.variants.mutants import differences

MOST = 400
"""Siblings of one repair; the likeliest, where there are more."""

ANY = 9.0
NEAR: dict[str, float] = {
    "comparison": ANY, "sides of a comparison": 3.0, "arithmetic": ANY, "operands": 3.8,
    "augmented assignment": ANY, "and, or": 2.5, "negation": ANY,
    "number": 3.3, "string": 4.0, "variable": ANY, "function": ANY, "method": ANY,
    "attribute": ANY, "arguments": 3.9, "call unwrapped": ANY,
    "index": ANY, "slice": ANY, "off by one": ANY,
    "simpler expression": 4.0, 
    "expected exception": ANY,
}
"""Rows of the search's own table, and how far-fetched an edit of each is still a sibling: of
numbers and texts those that are like it, of conditions those that ask the same of the same."""

ORDERS = frozenset({"<", "<=", ">", ">="})
BITWISE = frozenset({"&", "|", "^", "<<", ">>"})
"""Signs that nobody means who has written none of them."""
BOUND = 1.4
"""What it costs to move a comparison to its bound."""


def _extreme(program: Program, node: ast.Subscript) -> Iterator[Splice]:
    """The least or the greatest in place of the first or the last."""
    if ast.unparse(node.slice) in ("0", "-1") and isinstance(node.ctx, ast.Load):
        for name in ("min", "max"):
            yield program.replace(node, f"{name}({program.code(node.value)})", 3.0)


def _divisor(program: Program, node: ast.BinOp) -> Iterator[Splice]:
    """The double or the half of a divisor: where a few numbers are separated from others by what is
    left of them, another often tells them as well."""
    match node:
        case ast.BinOp(op=ast.Mod(), right=ast.Constant(value=int(number))) if number > 1:
            for other in (number * 2, number // 2):
                yield program.replace(node.right, str(other), 3.0)


def _range(program: Program, node: ast.Call) -> Iterator[Splice]:
    """Other bounds of a range."""
    if not (isinstance(node.func, ast.Name) and node.func.id == "range"):
        return
    others: list[list[str]] = []
    match given_arguments(program, node):
        case [stop]:
            others = [["1", stop], ["1", f"{stop} + 1"], ["2", stop], ["2", f"{stop} + 1"]]
        case [start, stop]:
            others = [["0", stop], ["1", stop], [f"{start} + 1", f"{stop} + 1"],
                      [f"{start} - 1", f"{stop} - 1"], [start, stop, "2"]]
    for bounds in others:
        yield replaced_call(program, node, bounds, [], 3.0)


_ROWS: tuple[tuple[Operator, float], ...] = (
    *((row, NEAR[row.name]) for row in EDITS if row.name in NEAR),
    (Operator("extreme", (ast.Subscript,), _extreme), ANY),
    (Operator("divisor", (ast.BinOp,), _divisor), ANY),
    (Operator("range", (ast.Call,), _range), ANY),
)


@dataclass(frozen=True)
class PatchVariants:
    """Whole texts of the entry file, the likeliest first, and how many more there would be."""

    texts: tuple[str, ...] = ()
    cut: int = 0


def siblings(before: str, after: str) -> PatchVariants:
    """The siblings of the repair that makes `after` of `before`: edits around it, and others of
    the same place as it came. The same ones for the same texts, none of what does not parse."""
    found: dict[str, float] = {}
    for text, other in ((after, before), (before, after)):
        try:
            program = Program(text)
        except (SyntaxError, ValueError, RecursionError):
            continue
        for splice in _splices(program, other):
            edited = spliced(program.data, [splice])
            if edited not in (before, after):
                found[edited] = min(splice.cost, found.get(edited, splice.cost))
    ordered = sorted(found, key=lambda text: (found[text], text))
    return PatchVariants(tuple(ordered[:MOST]), max(0, len(ordered) - MOST))


def _splices(program: Program, other: str) -> Iterator[Splice]:
    """Edits of a program around what `other` does not have."""
    region = _region(program, other)
    for node in region.around:
        if node in program.hidden:
            continue
        read = isinstance(getattr(node, "ctx", ast.Load()), ast.Load)
        is_value = read and not isinstance(node, ast.Slice | ast.Starred)
        for row, most in _ROWS:
            if isinstance(node, row.kinds) and (is_value or row.kinds != (ast.expr,)):
                yield from (
                    one for one in row.propose(program, node)
                    if one.cost <= most and not _is_outlandish(program, node, one)
                )
    comparison = next(row for row in EDITS if row.name == "comparison")
    for node in region.deciding:
        yield from (one for one in comparison.propose(program, node) if one.cost <= BOUND)
    for answer in region.answered:
        for value in (*program.variables(answer), *NEUTRAL, "1"):
            yield program.replace(answer, value, 3.5)


def _is_outlandish(program: Program, node: ast.AST, splice: Splice) -> bool:
    """Whether an edit makes an order of an equality, or arithmetic of bits of any other."""
    old = program.data[splice.start : splice.end].decode("utf-8", "surrogatepass")
    if isinstance(node, ast.Compare):
        return (splice.text in ORDERS) != (old in ORDERS)
    return isinstance(node, ast.BinOp | ast.AugAssign) and any(
        sign in splice.text and sign not in old for sign in BITWISE
    )


@dataclass(frozen=True)
class _Region:
    """What stands around the places of a repair."""

    around: tuple[ast.AST, ...]
    """The smallest nodes that hold what was changed, all within them, and the expressions that hold
    them with the names of what they call."""
    deciding: tuple[ast.Compare, ...]
    """Comparisons that decide whether these are reached, right behind an `if`."""
    answered: tuple[ast.Constant | ast.Name, ...]
    """What is returned right behind an `if` whose condition was changed."""


def _region(program: Program, other: str) -> _Region:
    around: dict[ast.AST, None] = {}
    deciding: dict[ast.Compare, None] = {}
    answered: list[ast.expr] = []
    for start, end in _changed(other, program.text):
        holding = [
            node for node in program.nodes
            if isinstance(node, ast.expr | ast.stmt)
            and program.start(node) <= start and end <= program.end(node)
        ]
        if not holding:
            continue
        inner = min(holding, key=lambda one: program.end(one) - program.start(one))
        touched = [
            node for node in ast.walk(inner)
            if isinstance(inner, ast.expr) or not isinstance(node, ast.expr | ast.stmt)
            or (program.start(node) < max(end, start + 1) and start < program.end(node))
        ]
        around.update(dict.fromkeys(touched))
        at: ast.AST = inner
        while not isinstance(at, ast.stmt | ast.Module):
            around[at] = None
            if isinstance(at, ast.Call):
                around[at.func] = None
            at = program.parents[at]
        around[at] = None
        if isinstance(at, ast.If) and isinstance(at.body[0], ast.Return) and at.body[0].value:
            answered.append(at.body[0].value)
        for statement in (at, *touched):
            above = program.parents.get(statement)
            if isinstance(statement, ast.stmt) and isinstance(above, ast.If):
                deciding.update(dict.fromkeys(
                    node for node in ast.walk(above.test) if isinstance(node, ast.Compare)
                ))
    return _Region(
        tuple(around), tuple(one for one in deciding if one not in around),
        tuple(one for one in answered if isinstance(one, ast.Constant | ast.Name)),
    )


def _changed(before: str, after: str) -> Iterator[tuple[int, int]]:
    """The bytes of `after` that `before` does not have: from and to, a place for each change."""
    old, new = before.split("\n"), after.split("\n")
    starts = [0]
    for line in new:
        starts.append(starts[-1] + len(line.encode("utf-8", "surrogatepass")) + 1)
    for kind, first, last, start, stop in differences(before, after):
        if kind == "equal":
            continue
        one = "\n".join(old[first:last]).encode("utf-8", "surrogatepass")
        other = "\n".join(new[start:stop]).encode("utf-8", "surrogatepass")
        head, tail = common_ends(one, other)
        yield starts[start] + head, starts[start] + len(other) - tail
