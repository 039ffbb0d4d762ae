"""Patch variants: small variations of a repair that are about as plausible as the repair itself.

Each is the repaired text with one more small edit around the change: other operators of the same
kind, swapped operands, related functions and methods, other names, constants off by one. A variant
that passes all tests and behaves differently is a competing patch.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from agent.core.common_ends import common_ends
from agent.search.edits import EDITS, Operator
from agent.search.edits.calls import positional_arguments, replaced_call
from agent.search.edits.constants import NEUTRAL
from agent.search.program import Program, Splice, spliced
from agent.search.variants.mutants import differences

MOST = 400
"""The maximum number of variants of one repair; the likeliest are kept."""

ANY = 9.0
MAX_COSTS: dict[str, float] = {
    "comparison": ANY, "sides of a comparison": 3.0, "arithmetic": ANY, "operands": 3.8,
    "augmented assignment": ANY, "and, or": 2.5, "negation": ANY,
    "number": 3.3, "string": 4.0, "variable": ANY, "function": ANY, "method": ANY,
    "attribute": ANY, "arguments": 3.9, "call unwrapped": ANY,
    "index": ANY, "slice": ANY, "off by one": ANY,
    "simpler expression": 4.0, "expected exception": ANY,
}
"""Operators of the search, and the highest cost at which their edits are variants."""

ORDERS = frozenset({"<", "<=", ">", ">="})
BITWISE = frozenset({"&", "|", "^", "<<", ">>"})
BOUND = 1.4
"""The cost of swapping `<` and `<=`, or `>` and `>=`."""


def _extreme(program: Program, node: ast.Subscript) -> Iterator[Splice]:
    """Replaces the first or last element by the minimum or maximum."""
    if ast.unparse(node.slice) in ("0", "-1") and isinstance(node.ctx, ast.Load):
        for name in ("min", "max"):
            yield program.replace(node, f"{name}({program.code(node.value)})", 3.0)


def _divisor(program: Program, node: ast.BinOp) -> Iterator[Splice]:
    """Doubles or halves the divisor of a remainder, which few tests can tell apart."""
    match node:
        case ast.BinOp(op=ast.Mod(), right=ast.Constant(value=int(number))) if number > 1:
            for other in (number * 2, number // 2):
                yield program.replace(node.right, str(other), 3.0)


def _range(program: Program, node: ast.Call) -> Iterator[Splice]:
    """Changes the bounds of a `range`."""
    if not (isinstance(node.func, ast.Name) and node.func.id == "range"):
        return
    others: list[list[str]] = []
    match positional_arguments(program, node):
        case [stop]:
            others = [["1", stop], ["1", f"{stop} + 1"], ["2", stop], ["2", f"{stop} + 1"]]
        case [start, stop]:
            others = [["0", stop], ["1", stop], [f"{start} + 1", f"{stop} + 1"],
                      [f"{start} - 1", f"{stop} - 1"], [start, stop, "2"]]
    for bounds in others:
        yield replaced_call(program, node, bounds, [], 3.0)


_VARIANT_OPERATORS: tuple[tuple[Operator, float], ...] = (
    *((row, MAX_COSTS[row.name]) for row in EDITS if row.name in MAX_COSTS),
    (Operator("extreme", (ast.Subscript,), _extreme), ANY),
    (Operator("divisor", (ast.BinOp,), _divisor), ANY),
    (Operator("range", (ast.Call,), _range), ANY),
)


@dataclass(frozen=True)
class PatchVariants:
    """Whole texts of the entry file, the likeliest first, and how many more there were."""

    texts: tuple[str, ...] = ()
    cut: int = 0


def patch_variants(before: str, after: str) -> PatchVariants:
    """Variants of the repair from `before` to `after`: edits of either text around the change.

    Deterministic; a text that does not parse has no variants.
    """
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
    """Edits of a program around the places that differ from `other`."""
    region = _region(program, other)
    for node in region.around:
        if node in program.fixed_nodes:
            continue
        read = isinstance(getattr(node, "ctx", ast.Load()), ast.Load)
        is_value = read and not isinstance(node, ast.Slice | ast.Starred)
        for row, most in _VARIANT_OPERATORS:
            if isinstance(node, row.kinds) and (is_value or row.kinds != (ast.expr,)):
                yield from (
                    one for one in row.propose(program, node)
                    if one.cost <= most and not _is_implausible(program, node, one)
                )
    comparison = next(row for row in EDITS if row.name == "comparison")
    for node in region.deciding:
        yield from (one for one in comparison.propose(program, node) if one.cost <= BOUND)
    for returned in region.returned:
        for value in (*program.variables(returned), *NEUTRAL, "1"):
            yield program.replace(returned, value, 3.5)


def _is_implausible(program: Program, node: ast.AST, splice: Splice) -> bool:
    """Whether an edit swaps ordering and equality, or introduces a bitwise operator."""
    old = program.data[splice.start : splice.end].decode("utf-8", "surrogatepass")
    if isinstance(node, ast.Compare):
        return (splice.text in ORDERS) != (old in ORDERS)
    return isinstance(node, ast.BinOp | ast.AugAssign) and any(
        sign in splice.text and sign not in old for sign in BITWISE
    )


@dataclass(frozen=True)
class _Region:
    """The nodes around the places of a repair."""

    around: tuple[ast.AST, ...]
    """The smallest nodes around each change, the nodes in them, and the expressions around them
    with the functions that these call."""
    deciding: tuple[ast.Compare, ...]
    """Comparisons in the condition of an `if` directly around the change."""
    returned: tuple[ast.Constant | ast.Name, ...]
    """Values that are returned directly under an `if` whose condition was changed."""


def _region(program: Program, other: str) -> _Region:
    around: dict[ast.AST, None] = {}
    deciding: dict[ast.Compare, None] = {}
    returned: list[ast.expr] = []
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
            returned.append(at.body[0].value)
        for statement in (at, *touched):
            above = program.parents.get(statement)
            if isinstance(statement, ast.stmt) and isinstance(above, ast.If):
                deciding.update(dict.fromkeys(
                    node for node in ast.walk(above.test) if isinstance(node, ast.Compare)
                ))
    return _Region(
        tuple(around), tuple(one for one in deciding if one not in around),
        tuple(one for one in returned if isinstance(one, ast.Constant | ast.Name)),
    )


def _changed(before: str, after: str) -> Iterator[tuple[int, int]]:
    """The start and end offset of each change in `after`."""
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
