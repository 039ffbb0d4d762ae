"""Edits that put something into an expression: one off, an operand, a donor, a condition."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from heapq import nsmallest
from operator import itemgetter

from agent.repair.edits.observed import separators
from agent.repair.evidence import both, either, worth
from agent.repair.program import (
    AND,
    ATOM,
    NOT,
    NUMBERS,
    OR,
    SEQUENCES,
    UNARY,
    Program,
    Splice,
)

_PLACES = (
    ast.Compare, ast.Slice, ast.BinOp, ast.Subscript, ast.Call, ast.Return, ast.Assign,
    ast.AugAssign, ast.keyword,
)
MOST_CONDITIONS = 400
"""What is asked at one place."""
_LOOSE = re.compile(r"\b(or|and|if|lambda)\b")
_CONTAINERS = frozenset({"list", "str", "tuple", "set", "dict"})


def off_by_one(program: Program, node: ast.expr) -> Iterator[Splice]:
    """One more or one less."""
    kinds = program.type_of(node)
    parent = program.parents.get(node)
    if isinstance(node, ast.Constant | ast.Lambda) or (kinds and not kinds & NUMBERS):
        return
    if isinstance(node, ast.UnaryOp) and isinstance(node.operand, ast.Constant):
        return  # another number, not `-1 - 1`
    if not isinstance(parent, _PLACES) or _is_called(parent, node):
        return
    if isinstance(parent, ast.Subscript) and node is parent.value:
        return
    indexes = isinstance(parent, ast.Subscript | ast.Slice) or _in_range(parent)
    cost = 1.8 if indexes else 2.4 if isinstance(parent, ast.Compare | ast.Return) else 3.0
    cost += 0.7 * (not kinds) + 2.0 * isinstance(node, ast.Compare | ast.BoolOp)
    text = program.grouped(node, 10)
    for shift, undone in (("+ 1", ast.Sub), ("- 1", ast.Add)):
        match node:
            case ast.BinOp(left=left, op=op, right=ast.Constant(value=1)) if isinstance(op, undone):
                yield program.replace(node, program.code(left), cost)  # `n - 1 + 1` is `n`
            case _:
                yield program.replace(node, f"{text} {shift}", cost)


def operand(program: Program, node: ast.expr) -> Iterator[Splice]:
    """A further operand."""
    parent = program.parents.get(node)
    if isinstance(node, ast.Compare | ast.BoolOp | ast.Lambda) or isinstance(
        parent, ast.Attribute | ast.Expr
    ):
        return
    if _is_called(parent, node):
        return
    kinds, text = program.type_of(node), program.code(node)
    names = program.variables(node)
    if not kinds or kinds & NUMBERS:
        added, times = program.grouped(node, 10), program.grouped(node, 11)
        numbers = [repr(v) for v in program.constants(node, int) if v not in (0, 1, -1)][:4]
        known = [name for name in names if program.may_be(name, NUMBERS) and name != text]
        for other in (*known, *numbers):
            yield program.replace(node, f"{added} + {other}", 5.0)
            yield program.replace(node, f"{added} - {other}", 5.0)
            yield program.replace(node, f"{times} * {other}", 5.6)
            yield program.replace(node, f"{other} - {program.grouped(node, 11)}", 5.6)
        if not isinstance(node, ast.Constant):
            for other in dict.fromkeys(("2", *numbers)):
                for sign in ("*", "//", "%", "/"):
                    yield program.replace(node, f"{times} {sign} {other}", 5.5)
                yield program.replace(node, f"{program.grouped(node, ATOM)} ** {other}", 5.5)
            for other in known:
                yield program.replace(node, f"{times} % {other}", 6.0)
                yield program.replace(node, f"max({text}, {other})", 6.0)
                yield program.replace(node, f"min({text}, {other})", 6.0)
    if kinds & SEQUENCES:
        joined = program.grouped(node, 10)
        for other in names:
            if program.seen(other) & kinds and other != text:
                yield program.replace(node, f"{joined} + {other}", 5.0)
                yield program.replace(node, f"{other} + {program.grouped(node, 11)}", 5.2)
            if "list" in kinds and other != text:
                yield program.replace(node, f"{joined} + [{other}]", 5.2)
                yield program.replace(node, f"[{other}] + {program.grouped(node, 11)}", 5.2)


def donor(program: Program, node: ast.expr) -> Iterator[Splice]:
    """Another expression of the same function."""
    parent = program.parents.get(node)
    if isinstance(parent, ast.Expr | ast.Attribute) or _is_called(parent, node):
        return
    kinds, text = program.type_of(node), program.code(node)
    for other, source in program.expressions(program.scope(node)):
        if other == text or (isinstance(source, ast.Name) and isinstance(node, ast.Name)):
            continue
        if isinstance(source, ast.Constant) and isinstance(node, ast.Constant):
            continue
        cost = 4.6 + 0.4 * isinstance(node, ast.Constant) - 0.3 * (type(source) is type(node))
        there = program.type_of(source)
        if kinds and there:
            cost += -0.4 if kinds & there else 1.4
        if abs(len(other) - len(text)) > 25:
            cost += 0.5
        yield program.replace(node, other, cost)


def simpler(program: Program, node: ast.expr) -> Iterator[Splice]:
    """A variable or a neutral constant in place of an expression."""
    parent = program.parents.get(node)
    if isinstance(parent, ast.Expr) or _is_called(parent, node):
        return
    if isinstance(node, ast.Call | ast.BinOp | ast.Attribute | ast.Subscript):
        for name in program.variables(node):
            yield program.replace(node, name, 4.0)
            if program.seen(name) & NUMBERS and not isinstance(parent, ast.Attribute):
                yield program.replace(node, f"-{name}", 5.0)
    if not isinstance(node, ast.Constant) and isinstance(
        parent, ast.Assign | ast.Return | ast.Call | ast.AugAssign | ast.Compare | ast.Subscript
    ):
        kinds = program.type_of(node)
        for text in ("0", "1", "[]", "''", "True", "False", "None", "-1"):
            if not kinds or text not in ("0", "1", "-1") or kinds & NUMBERS:
                yield program.replace(node, text, 5.0)


def condition(program: Program, node: ast.expr) -> Iterator[Splice]:
    """A condition with a further part, or another condition."""
    returned = isinstance(program.parents.get(node), ast.Return)
    if not program.is_tested(node) and not (returned and program.type_of(node) == {"bool"}):
        return
    if isinstance(program.parents.get(node), ast.BoolOp | ast.UnaryOp):
        return
    text = program.code(node)
    extra = 0.5 * returned
    line = program.statement(node).lineno
    moments, before = program.moments(line), program.held(text, line)
    for atom, cost in atoms(program, node):
        if atom == text:
            continue
        part = f"({atom})" if _LOOSE.search(atom) else atom
        now = program.held(atom, line)
        narrow = 4.8 + cost + extra + worth(before, both(before, now), moments)
        wide = 4.8 + cost + extra + worth(before, either(before, now), moments)
        yield program.replace(node, f"{program.grouped(node, NOT)} and {part}", narrow)
        yield program.replace(node, f"{program.grouped(node, AND)} or {part}", wide)
        yield program.replace(node, f"{part} and {program.grouped(node, NOT)}", narrow + 0.3)
        yield program.replace(node, atom, 5.0 + cost + extra + worth(before, now, moments))


def atoms(program: Program, node: ast.expr | ast.stmt) -> list[tuple[str, float]]:
    """Conditions that could be asked at a place, with how far-fetched each is, the likeliest first.

    Many names in reach make thousands, none of which is likely.
    """
    return nsmallest(MOST_CONDITIONS, _atoms(program, node), key=itemgetter(1))


def _atoms(program: Program, node: ast.expr | ast.stmt) -> Iterator[tuple[str, float]]:
    names = program.variables(node)
    numbers = [one for one in program.constants(node, int) if isinstance(one, int)]
    divisors = [near for one in numbers if 1 < one < 100 for near in (one, one + 1)][:4]
    asked = _askers(program, node)
    for text in program.conditions(program.scope(node)):
        if len(text) < 60:
            yield text, 0.0
    for text, opposite, cost in separators(program, program.statement(node).lineno):
        yield text, cost - 0.5
        yield opposite, cost - 0.5
    for name in names:
        seen = program.seen(name)
        if not program.reads.get(name) and program.may_be(name, _CONTAINERS):
            # What was prepared and is never looked at was meant to be asked.
            for other in names:
                places = ("", "[0]", "[1]", "[-1]") if program.may_be(other, SEQUENCES) else ("",)
                for place in places if other != name else ():
                    yield f"{other}{place} in {name}", 0.1
                    yield f"{other}{place} not in {name}", 0.1
        yield f"not {name}", 0.2
        yield name, 0.4
        if not seen or "NoneType" in seen:
            yield f"{name} is None", 0.5
            yield f"{name} is not None", 0.5
        if not seen or seen & NUMBERS:
            for test in ("> 0", "== 0", "< 0", ">= 0", "== 1", "> 1", "!= 0", "<= 0", "<= 1"):
                yield f"{name} {test}", 0.6
            for other in names:
                if other != name and program.may_be(other, NUMBERS):
                    for sign in ("<", "<=", "==", "!="):
                        yield f"{name} {sign} {other}", 0.9
        if seen & {"list", "str", "tuple", "set", "dict"}:
            for other in names:
                if other != name:
                    yield f"{other} in {name}", 0.7
                    yield f"{other} not in {name}", 0.7
            for test in ("== 0", "== 1", "> 1"):
                yield f"len({name}) {test}", 0.9
        if seen & {"int"}:
            for divisor in dict.fromkeys((2, *divisors)):
                yield f"{name} % {divisor} == 0", 0.9
                yield f"{name} % {divisor} != 0", 0.9
        for function in asked:
            yield f"{function}({name})", 0.8
            yield f"not {function}({name})", 0.9
        if "str" in seen:
            for test in ("isdigit()", "isalpha()", "isupper()", "islower()"):
                yield f"{name}.{test}", 0.9
        plain = {"int", "float", "str", "list", "tuple", "dict", "set", "bool"}
        if not seen or not seen <= plain:
            for attribute in program.attributes:
                yield f"{name}.{attribute}", 0.9
                yield f"not {name}.{attribute}", 0.9
                yield f"{name}.{attribute} is None", 0.9


def _askers(program: Program, node: ast.AST) -> list[str]:
    """Functions of the program that take one value and answer with `True` or `False`."""
    return [one.name for one in program.askers if one is not program.scope(node)]


def converted(program: Program, node: ast.Name) -> Iterator[Splice]:
    """Another variable, seen as a value of the type that is wanted here."""
    parent = program.parents.get(node)
    own = program.seen(node.id)
    if not isinstance(node.ctx, ast.Load) or _is_called(parent, node) or not own:
        return
    for name in program.variables(node):
        seen = program.seen(name)
        if name == node.id:
            continue
        unread = 0.8 * (not program.reads.get(name))
        lambda_own = not seen and name in _lambda_names(program, node)
        views: tuple[str, ...] = ()
        if own & NUMBERS and "str" in seen:
            views = ("int", "len", "ord")
        elif own & NUMBERS and seen & {"list", "tuple", "set", "dict"}:
            views = ("len", "sum", "max", "min")
        elif "str" in own and seen & NUMBERS:
            views = ("str",)
        elif "list" in own and seen & {"str", "tuple", "set"}:
            views = ("list", "sorted")
        elif lambda_own and not own & NUMBERS:
            views = ("str", "bin", "list", "set")
        for view in views:
            yield program.replace(node, f"{view}({name})", 4.8 - unread)


def _lambda_names(program: Program, node: ast.AST) -> tuple[str, ...]:
    at: ast.AST | None = node
    while at is not None and not isinstance(at, ast.stmt):
        if isinstance(at, ast.Lambda):
            return tuple(one.arg for one in at.args.args)
        at = program.parents.get(at)
    return ()


def negative(program: Program, node: ast.expr) -> Iterator[Splice]:
    """A sign put before a number that is computed."""
    kinds = program.type_of(node)
    parent = program.parents.get(node)
    given = isinstance(parent, ast.Return | ast.Call | ast.keyword)
    if not isinstance(node, ast.BinOp | ast.Name | ast.Call) or not given:
        return
    if (not kinds or kinds & NUMBERS) and not _is_called(parent, node):
        yield program.replace(node, f"-{program.grouped(node, UNARY)}", 4.0)


def chosen(program: Program, node: ast.expr) -> Iterator[Splice]:
    """A neutral value where the value is returned under no condition."""
    if not isinstance(program.parents.get(node), ast.Return) or isinstance(node, ast.Constant):
        return
    text = program.grouped(node, OR)
    for name in program.variables(node):
        if program.may_be(name, frozenset({"list", "str", "tuple", "dict", "set", "NoneType"})):
            for neutral in ("0", "None", "''", "[]", "False", name):
                yield program.replace(node, f"{text} if {name} else {neutral}", 5.4)


def _is_called(parent: ast.AST | None, node: ast.expr) -> bool:
    return isinstance(parent, ast.Call) and parent.func is node


def _in_range(parent: ast.AST | None) -> bool:
    return (
        isinstance(parent, ast.Call)
        and isinstance(parent.func, ast.Name)
        and parent.func.id == "range"
    )
