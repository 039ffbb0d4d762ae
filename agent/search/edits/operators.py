"""Edits of comparisons, arithmetic and conditions."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from agent.search.edits.library import ALTERNATIVE_COMPARISONS, ARITHMETIC
from agent.search.program import BINARY, COMPARISONS, Precedence, Program, Splice

_COMPARISON = re.compile(rb"not\s+in\b|is\s+not\b|is\b|in\b|<=|>=|==|!=|<|>")
_ARITHMETIC = re.compile(rb"\*\*|//|<<|>>|[-+*/%@&|^]")
_BOUNDS = {("<", "<="), ("<=", "<"), (">", ">="), (">=", ">")}
_NEGATIONS = {
    ("==", "!="), ("!=", "=="), ("in", "not in"), ("not in", "in"), ("is", "is not"),
    ("is not", "is"), ("is", "=="), ("is not", "!="),
}
RANK_COST = 0.01
"""Added to the cost for each place in a list ordered by likelihood, so that costs do not tie."""


def comparison(program: Program, node: ast.Compare) -> Iterator[Splice]:
    """Replaces one comparison operator, or both of a chain of two."""
    places = list(_comparison_places(program, node))
    for start, end, old in places:
        for new in ALTERNATIVE_COMPARISONS[old]:
            yield Splice(start, end, new, _comparison_cost(old, new), node.lineno)
    if len(places) == 2:
        (a, b, first), (c, d, second) = places
        for one in ALTERNATIVE_COMPARISONS[first][:2]:
            for two in ALTERNATIVE_COMPARISONS[second][:2]:
                text = one + program.between(b, c) + two
                yield Splice(a, d, text, 3.0, node.lineno)


def _comparison_cost(old: str, new: str) -> float:
    """How unlikely it is that one comparison operator was written instead of another."""
    if (old, new) in _BOUNDS:
        return 1.4
    if (old, new) in _NEGATIONS:
        return 2.0
    if {old, new} in ({"<", ">"}, {"<=", ">="}):
        return 2.4
    # An ordering operator is seldom meant as an inequality.
    return 3.3 if "!=" in (old, new) and ("<" in old + new or ">" in old + new) else 2.6


def comparison_sides(program: Program, node: ast.Compare) -> Iterator[Splice]:
    """Swaps the sides, shortens a chain, or applies the same function to both sides."""
    sides = (node.left, *node.comparators)
    parts = [program.parenthesized(one, Precedence.COMPARE + 1) for one in sides]
    signs = [COMPARISONS[type(op)] for op in node.ops]
    for index in range(len(signs)):
        swapped = list(parts)
        swapped[index], swapped[index + 1] = swapped[index + 1], swapped[index]
        yield program.replace(node, _chain(swapped, signs), 3.0)
    if len(signs) > 1:
        yield program.replace(node, _chain(parts[:-1], signs[:-1]), 3.5)
        yield program.replace(node, _chain(parts[1:], signs[1:]), 3.5)
        return
    kinds = program.type_of(node.left) | program.type_of(node.comparators[0])
    forms = ["set({})", "sorted({})", "len({})", "str({})", "int({})", "abs({})", "list({})"]
    if not kinds or "str" in kinds:
        forms.append("{}.lower()")
    for form in forms:
        text = f"{form.format(parts[0])} {signs[0]} {form.format(parts[1])}"
        yield program.replace(node, text, 4.6)


def arithmetic(program: Program, node: ast.BinOp) -> Iterator[Splice]:
    """Replaces an arithmetic operator."""
    old = BINARY[type(node.op)][0]
    start = _operator_start(program, node, old)
    for position, new in enumerate(ARITHMETIC[old]):
        cost = (2.0 if position < 3 else 2.8) + RANK_COST * position
        if new == "%" and old not in ("/", "//"):
            cost += 0.8
        need = next(level for sign, level in BINARY.values() if sign == new)
        if start is not None and need == BINARY[type(node.op)][1]:
            yield Splice(start, start + len(old), new, cost, node.lineno)
            continue
        left = program.parenthesized(node.left, need + (new == "**"))
        right = program.parenthesized(node.right, Precedence.UNARY if new == "**" else need + 1)
        yield program.replace(node, f"{left} {new} {right}", cost)


def operands(program: Program, node: ast.BinOp) -> Iterator[Splice]:
    """Swaps or regroups operands, or drops one of them."""
    sign, need = BINARY[type(node.op)]
    left = program.parenthesized(node.right, need)
    right = program.parenthesized(node.left, need + 1)
    if sign not in ("*", "&", "|", "^"):
        yield program.replace(node, f"{left} {sign} {right}", {"+": 3.6, "-": 2.2}.get(sign, 3.0))
    yield program.replace(node, program.code(node.left), 3.4)
    yield program.replace(node, program.code(node.right), 3.6)
    if isinstance(node.left, ast.BinOp):
        inner = BINARY[type(node.left.op)]
        a = program.parenthesized(node.left.left, inner[1])
        b, c = program.code(node.left.right), program.code(node.right)
        yield program.replace(node, f"{a} {inner[0]} ({b} {sign} {c})", 3.4)
        # Without the middle operand, with either operator.
        for mark, level in (inner, (sign, need)):
            first = program.parenthesized(node.left.left, level + (mark == "**"))
            below = Precedence.UNARY if mark == "**" else level + 1
            last = program.parenthesized(node.right, below)
            yield program.replace(node, f"{first} {mark} {last}", 3.8)
    if isinstance(node.right, ast.BinOp):
        inner = BINARY[type(node.right.op)]
        a, b = program.code(node.left), program.code(node.right.left)
        c = program.parenthesized(node.right.right, inner[1] + 1)
        yield program.replace(node, f"({a} {sign} {b}) {inner[0]} {c}", 3.4)
        first = program.parenthesized(node.left, inner[1])
        if inner[1] > need:
            last = program.parenthesized(node.right.left, need + 1)
            text = f"{first} {inner[0]} {c} {sign} {last}"
            yield program.replace(node, text, 3.6)


def augmented(program: Program, node: ast.AugAssign) -> Iterator[Splice]:
    """Replaces the operator of an augmented assignment, or makes it a plain assignment."""
    old = BINARY[type(node.op)][0]
    target, value = program.code(node.target), program.code(node.value)
    start = program.data.find(old.encode() + b"=", program.end(node.target))
    for position, new in enumerate(ARITHMETIC[old]):
        cost = (2.0 if position < 3 else 2.8) + RANK_COST * position
        yield Splice(start, start + len(old), new, cost, node.lineno)
    yield Splice(start, start + len(old) + 1, "=", 2.8, node.lineno)
    types = program.type_of(node.target)
    for name in program.variables(node) if types else ():
        if name not in (target, value) and program.observed_types(name) & types:
            yield program.replace_statement(node, f"{target} = {name}", 3.0)
    need = BINARY[type(node.op)][1]
    grouped = program.parenthesized(node.value, need)
    yield program.replace_statement(node, f"{target} = {grouped} {old} {target}", 3.2)
    if old in ("+", "-"):
        yield program.replace_statement(node, f"{target} = max({target}, {value})", 4.0)
        yield program.replace_statement(node, f"{target} = min({target}, {value})", 4.0)


def connective(program: Program, node: ast.BoolOp) -> Iterator[Splice]:
    """Swaps `and` and `or`, or drops one operand."""
    old, new = ("and", "or") if isinstance(node.op, ast.And) else ("or", "and")
    need = (Precedence.AND if new == "and" else Precedence.OR) + 1
    parts = [program.parenthesized(value, need) for value in node.values]
    yield program.replace(node, f" {new} ".join(parts), 2.0)
    kept = (Precedence.AND if old == "and" else Precedence.OR) + 1
    same = [program.parenthesized(value, kept) for value in node.values]
    for index in range(len(same)):
        rest = same[:index] + same[index + 1 :]
        text = f" {old} ".join(rest) if len(rest) > 1 else program.code(node.values[1 - index])
        yield program.replace(node, text, 3.0)
    if len(same) > 2:
        tight = [program.parenthesized(value, Precedence.AND + 1) for value in node.values]
        for place in range(1, len(tight)):
            before, after = f" {old} ".join(tight[:place]), f" {old} ".join(tight[place:])
            yield program.replace(node, f"{before} {new} {after}", 2.4)
        yield program.replace(
            node, f"({same[0]} {new} {same[1]}) {old} " + f" {old} ".join(same[2:]), 3.8
        )
        head = f" {old} ".join(same[:-2])
        yield program.replace(node, f"{head} {old} ({same[-2]} {new} {same[-1]})", 3.8)


def negation(program: Program, node: ast.expr) -> Iterator[Splice]:
    """Negates a condition."""
    parent = program.parents.get(node)
    tested = program.is_condition(node)
    if not (tested or isinstance(parent, ast.Return)) or isinstance(node, ast.Constant):
        return
    if isinstance(parent, ast.UnaryOp) or (
        isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not)
    ):
        return
    kinds = program.type_of(node)
    likely = tested or "bool" in kinds
    # The opposite comparison, which another operator proposes, is likelier than `not`.
    cost = 3.0 if isinstance(node, ast.Compare) else 2.5 if likely else 3.8
    yield program.replace(node, f"not {program.parenthesized(node, Precedence.NOT)}", cost)


def _comparison_places(program: Program, node: ast.Compare) -> Iterator[tuple[int, int, str]]:
    """The start, end and operator of each comparison of a chain."""
    left = node.left
    for op, right in zip(node.ops, node.comparators, strict=True):
        sign = COMPARISONS[type(op)]
        for match in _COMPARISON.finditer(program.data, program.end(left), program.start(right)):
            if b" ".join(match.group().split()).decode() == sign:
                yield match.start(), match.end(), sign
                break
        left = right


def _operator_start(program: Program, node: ast.BinOp, sign: str) -> int | None:
    for match in _ARITHMETIC.finditer(program.data, program.end(node.left),
                                      program.start(node.right)):
        if match.group().decode() == sign:
            return match.start()
    return None


def _chain(parts: list[str], signs: list[str]) -> str:
    text = parts[0]
    for sign, part in zip(signs, parts[1:], strict=True):
        text += f" {sign} {part}"
    return text
