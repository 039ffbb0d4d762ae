"""Edits of expressions: off by one, further operands, copies from nearby, simpler values."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from agent.search.edits.constants import is_indexing
from agent.search.program import NUMBERS, SEQUENCES, Precedence, Program, Splice

_PLACES = (
    ast.Compare, ast.Slice, ast.BinOp, ast.Subscript, ast.Call, ast.Return, ast.Assign,
    ast.AugAssign, ast.keyword,
)


def off_by_one(program: Program, node: ast.expr) -> Iterator[Splice]:
    """Adds or subtracts one."""
    kinds = program.type_of(node)
    parent = program.parents.get(node)
    if isinstance(node, ast.Constant | ast.Lambda) or (kinds and not kinds & NUMBERS):
        return
    if isinstance(node, ast.UnaryOp) and isinstance(node.operand, ast.Constant):
        return  # another number, not `-1 - 1`
    if not isinstance(parent, _PLACES) or program.is_called(node):
        return
    if isinstance(parent, ast.Subscript) and node is parent.value:
        return
    indexes = is_indexing(parent)
    cost = 1.8 if indexes else 2.4 if isinstance(parent, ast.Compare | ast.Return) else 3.0
    cost += 0.7 * (not kinds) + 2.0 * isinstance(node, ast.Compare | ast.BoolOp)
    match parent:
        case ast.BinOp(op=ast.FloorDiv() | ast.Mod(), left=divided, right=ast.Constant(value=by)):
            # A one-based number usually has to become zero-based before the division.
            if divided is node and isinstance(by, int) and by > 2:
                cost = 1.8
    text = program.parenthesized(node, Precedence.SUM)
    for shift, undone in (("+ 1", ast.Sub), ("- 1", ast.Add)):
        match node:
            case ast.BinOp(left=left, op=op, right=ast.Constant(value=1)) if isinstance(op, undone):
                yield program.replace(node, program.code(left), cost)  # `n - 1 + 1` is `n`
            case _:
                yield program.replace(node, f"{text} {shift}", cost)


def operand(program: Program, node: ast.expr) -> Iterator[Splice]:
    """Adds an operand: a variable, a constant or a length."""
    parent = program.parents.get(node)
    if isinstance(node, ast.Compare | ast.BoolOp | ast.Lambda) or isinstance(
        parent, ast.Attribute | ast.Expr
    ):
        return
    if program.is_called(node):
        return
    kinds, text = program.type_of(node), program.code(node)
    names = program.variables(node)
    if not kinds or kinds & NUMBERS:
        added = program.parenthesized(node, Precedence.SUM)
        times = program.parenthesized(node, Precedence.PRODUCT)
        numbers = [repr(v) for v in program.constants(node, int) if v not in (0, 1, -1)][:4]
        known = [name for name in names if program.may_be(name, NUMBERS) and name != text]
        sized = SEQUENCES | {"dict", "set"}
        lengths = [f"len({name})" for name in names if program.observed_types(name) & sized]
        for other in (*known, *numbers, *lengths):
            yield program.replace(node, f"{added} + {other}", 5.0)
            yield program.replace(node, f"{added} - {other}", 5.0)
            yield program.replace(node, f"{times} * {other}", 5.6)
            yield program.replace(node, f"{other} - {times}", 5.6)
        if not isinstance(node, ast.Constant):
            for other in dict.fromkeys(("2", *numbers)):
                for sign in ("*", "//", "%", "/"):
                    yield program.replace(node, f"{times} {sign} {other}", 5.5)
                base = program.parenthesized(node, Precedence.ATOM)
                yield program.replace(node, f"{base} ** {other}", 5.5)
            for other in known:
                yield program.replace(node, f"{times} % {other}", 6.0)
                yield program.replace(node, f"max({text}, {other})", 6.0)
                yield program.replace(node, f"min({text}, {other})", 6.0)
    if kinds & SEQUENCES:
        joined = program.parenthesized(node, Precedence.SUM)
        right = program.parenthesized(node, Precedence.PRODUCT)
        for other in names:
            if program.observed_types(other) & kinds and other != text:
                yield program.replace(node, f"{joined} + {other}", 5.0)
                yield program.replace(node, f"{other} + {right}", 5.2)
            if "list" in kinds and other != text:
                yield program.replace(node, f"{joined} + [{other}]", 5.2)
                yield program.replace(node, f"[{other}] + {right}", 5.2)


def donor(program: Program, node: ast.expr) -> Iterator[Splice]:
    """Replaces an expression by another one of the same function."""
    parent = program.parents.get(node)
    if isinstance(parent, ast.Expr | ast.Attribute) or program.is_called(node):
        return
    kinds, text = program.type_of(node), program.code(node)
    for other, source in program.expressions(program.scope(node)):
        if other == text or (isinstance(source, ast.Name) and isinstance(node, ast.Name)):
            continue
        if isinstance(source, ast.Constant) and isinstance(node, ast.Constant):
            continue
        cost = 4.6 + 0.4 * isinstance(node, ast.Constant) - 0.3 * (type(source) is type(node))
        other_types = program.type_of(source)
        if kinds and other_types:
            cost += -0.4 if kinds & other_types else 1.4
        if abs(len(other) - len(text)) > 25:
            cost += 0.5
        yield program.replace(node, other, cost)


def simpler(program: Program, node: ast.expr) -> Iterator[Splice]:
    """Replaces an expression by a variable or a neutral constant."""
    parent = program.parents.get(node)
    if isinstance(parent, ast.Expr) or program.is_called(node):
        return
    if isinstance(node, ast.Call | ast.BinOp | ast.Attribute | ast.Subscript):
        for name in program.variables(node):
            yield program.replace(node, name, 4.0)
            if program.observed_types(name) & NUMBERS and not isinstance(parent, ast.Attribute):
                yield program.replace(node, f"-{name}", 5.0)
    if not isinstance(node, ast.Constant) and isinstance(
        parent, ast.Assign | ast.Return | ast.Call | ast.AugAssign | ast.Compare | ast.Subscript
    ):
        kinds = program.type_of(node)
        for text in ("0", "1", "[]", "''", "True", "False", "None", "-1"):
            if not kinds or text not in ("0", "1", "-1") or kinds & NUMBERS:
                yield program.replace(node, text, 5.0)


def converted(program: Program, node: ast.Name) -> Iterator[Splice]:
    """Replaces a variable by another one, converted to the type of the first."""
    own = program.observed_types(node.id)
    if not isinstance(node.ctx, ast.Load) or program.is_called(node) or not own:
        return
    for name in program.variables(node):
        types = program.observed_types(name)
        if name == node.id:
            continue
        unread = 0.8 * (not program.reads.get(name))
        forms: tuple[str, ...] = ()
        if own & NUMBERS and "str" in types:
            forms = ("int", "len", "ord")
        elif own & NUMBERS and types & {"list", "tuple", "set", "dict"}:
            forms = ("len", "sum", "max", "min")
        elif "str" in own and types & NUMBERS:
            forms = ("str",)
        elif "list" in own and types & {"str", "tuple", "set"}:
            forms = ("list", "sorted")
        for form in forms:
            yield program.replace(node, f"{form}({name})", 4.8 - unread)
