"""Edits of conditions that say something else than they seem to say."""

from __future__ import annotations

import ast
import copy
import itertools
from collections.abc import Iterator

from agent.repair.program import AND, ATOM, COMPARE, COMPARISONS, NOT, NUMBERS, OR, Program, Splice

_NUMBER_KINDS = ("int", "float")
_ONE_OF = ("==", "!=")


def alternatives(program: Program, node: ast.BoolOp) -> Iterator[Splice]:
    """`x == 1 or 2` for `x == 1 or x == 2`, and its like."""
    word = "and" if isinstance(node.op, ast.And) else "or"
    compared = [one for one in node.values if _is_pair(one)]
    others = [one for one in node.values if isinstance(one, ast.Constant | ast.Name)]
    if not compared or len(compared) + len(others) != len(node.values) or not others:
        return
    first = compared[0]
    assert isinstance(first, ast.Compare)
    sign = COMPARISONS[type(first.ops[0])]
    cost = 2.0 if any(isinstance(one, ast.Constant) for one in others) else 3.4
    # `x == 1 or 2` repeats the left side, `a or b == 1` the right one.
    if node.values[0] is first:
        side, kept = first.left, first.comparators[0]
    else:
        side, kept = first.comparators[0], first.left
    fixed, moving = program.grouped(side, COMPARE + 1), [kept, *others]
    if node.values[0] is not first:
        moving = [*others, kept]
    parts = [program.grouped(one, COMPARE + 1) for one in moving]
    if node.values[0] is first:
        spelt = [f"{fixed} {sign} {part}" for part in parts]
    else:
        spelt = [f"{part} {sign} {fixed}" for part in parts]
    yield program.replace(node, f" {word} ".join(spelt), cost)
    if sign in _ONE_OF and node.values[0] is first:
        inside = "in" if sign == "==" else "not in"
        yield program.replace(node, f"{fixed} {inside} ({', '.join(parts)})", cost + 0.1)
        other = "and" if word == "or" else "or"
        if sign == "!=":
            yield program.replace(node, f" {other} ".join(spelt), cost + 0.3)


def chained(program: Program, node: ast.BoolOp) -> Iterator[Splice]:
    """Two comparisons written as one chain: `a < b and c` is `a < b < c`."""
    if not isinstance(node.op, ast.And) or len(node.values) != 2:
        return
    first, second = node.values
    if not _is_pair(first):
        return
    assert isinstance(first, ast.Compare)
    left, middle = program.code(first.left), program.grouped(first.comparators[0], COMPARE + 1)
    sign = COMPARISONS[type(first.ops[0])]
    if sign not in ("<", "<=", ">", ">="):
        return
    if _is_pair(second):
        assert isinstance(second, ast.Compare)
        again, last = COMPARISONS[type(second.ops[0])], second.comparators[0]
        text = f"{left} {sign} {middle} {again} {program.grouped(last, COMPARE + 1)}"
        yield program.replace(node, text, 3.4)
    elif isinstance(second, ast.Name | ast.Constant | ast.Attribute | ast.BinOp):
        text = f"{left} {sign} {middle} {sign} {program.grouped(second, COMPARE + 1)}"
        yield program.replace(node, text, 2.4)


def grouped(program: Program, node: ast.BoolOp) -> Iterator[Splice]:
    """Parentheses that make `or` come before `and`, or `not` reach further."""
    is_and = isinstance(node.op, ast.And)
    word, need = ("and", AND) if is_and else ("or", OR)
    parts = [program.grouped(one, need + 1) for one in node.values]
    head = node.values[0]
    if isinstance(head, ast.UnaryOp) and isinstance(head.op, ast.Not):
        inner = [program.grouped(head.operand, need + 1), *parts[1:]]
        yield program.replace(node, f"not ({f' {word} '.join(inner)})", 2.4)
        yield program.replace(node, f" {word} ".join(inner), 3.2)
    if len(node.values) == 2:
        # De Morgan's other half: what is denied or asked for, part by part.
        denied = [_denied(program, one) for one in node.values]
        other = "or" if is_and else "and"
        level = (OR if is_and else AND) + 1
        wrapped = [
            text if isinstance(one, ast.Compare | ast.UnaryOp | ast.Name) or level <= NOT
            else f"({text})" for text, one in zip(denied, node.values, strict=True)
        ]
        yield program.replace(node, f" {other} ".join(wrapped), 4.0)
    if is_and:
        return
    for place, one in enumerate(node.values):
        if not (isinstance(one, ast.BoolOp) and isinstance(one.op, ast.And)):
            continue
        inner = [program.grouped(part, AND + 1) for part in one.values]
        before, after = parts[:place], parts[place + 1 :]
        if before and "(" not in parts[place][:1]:
            left = " or ".join([*before, inner[0]])
            text = f"({left}) and {' and '.join(inner[1:])}"
            yield program.replace(node, " or ".join([text, *after]), 2.6)
        if after and "(" not in parts[place][:1]:
            right = " or ".join([inner[-1], *after])
            text = f"{' and '.join(inner[:-1])} and ({right})"
            yield program.replace(node, " or ".join([*before, text]), 2.6)


def isolated(program: Program, node: ast.UnaryOp) -> Iterator[Splice]:
    """`not` over one comparison where it was meant for a part of it, and its like."""
    if not isinstance(node.op, ast.Not):
        return
    inner = node.operand
    if isinstance(inner, ast.BoolOp) and len(inner.values) == 2:
        word = "and" if isinstance(inner.op, ast.And) else "or"
        first, second = inner.values
        text = f"{_denied(program, first)} {word} {program.grouped(second, NOT)}"
        yield program.replace(node, text, 3.0)
        text = f"{program.grouped(first, NOT)} {word} {_denied(program, second)}"
        yield program.replace(node, text, 3.2)


def kind_tests(program: Program, node: ast.Compare | ast.Call) -> Iterator[Splice]:
    """Tests of a value's type that leave out a subclass or a kindred type."""
    if isinstance(node, ast.Compare):
        match node:
            case ast.Compare(
                left=ast.Call(func=ast.Name(id="type"), args=[value]),
                ops=[ast.Eq() | ast.Is() | ast.NotEq() | ast.IsNot()], comparators=[kind],
            ):
                denied = "not " * isinstance(node.ops[0], ast.NotEq | ast.IsNot)
                about = f"{denied}isinstance({program.code(value)}, "
                name = program.code(kind)
                yield program.replace(node, f"{about}{name})", 2.4)
                if name in _NUMBER_KINDS:
                    yield program.replace(node, f"{about}(int, float))", 2.8)
                elif name in ("list", "tuple"):
                    yield program.replace(node, f"{about}(list, tuple))", 3.0)
        return
    match node:
        case ast.Call(func=ast.Name(id="isinstance"), args=[value, kind]):
            pass
        case _:
            return
    about, name = program.code(value), program.code(kind)
    kinds = [one for one in ("int", "float", "str", "list", "tuple", "dict", "set", "bool")
             if one != name]
    pairs = {"int": "float", "float": "int", "list": "tuple", "tuple": "list", "str": "bytes"}
    if name in pairs:
        yield program.replace(node, f"isinstance({about}, ({name}, {pairs[name]}))", 3.2)
    for one in kinds:
        near = pairs.get(name) == one
        yield program.replace(node, f"isinstance({about}, {one})", 3.2 if near else 4.0)
    if name == "int":
        # `True` is an `int`.
        denied = f"isinstance({about}, int) and not isinstance({about}, bool)"
        yield program.replace(node, denied, 4.2)


def any_order(program: Program, node: ast.expr) -> Iterator[Splice]:
    """A condition that should hold for its variables in any order: `a + b == c` and its like."""
    if isinstance(node, ast.BoolOp) and isinstance(node.op, ast.Or):
        known = node.values
    elif isinstance(node, ast.Compare):
        known = [node]
    else:
        return
    parent = program.parents.get(node)
    if not program.is_tested(node) and not isinstance(parent, ast.Return | ast.Assign):
        return
    if isinstance(parent, ast.BoolOp) or not all(isinstance(one, ast.Compare) for one in known):
        return
    names = list(dict.fromkeys(
        one.id for one in ast.walk(known[0]) if isinstance(one, ast.Name)
        and one.id in program.variables(node)
    ))
    kinds = {program.seen(name) for name in names}
    if len(names) != 3 or (len(kinds) > 1 and not all(kind & NUMBERS for kind in kinds)):
        return
    seen = {_shape(one) for one in known}
    missing = []
    for order in itertools.permutations(names):
        swapped = _Renamed(dict(zip(names, order, strict=True))).visit(copy.deepcopy(known[0]))
        if _shape(swapped) not in seen:
            seen.add(_shape(swapped))
            missing.append(ast.unparse(swapped))
    if missing and len(missing) + len(known) <= 6:
        text = " or ".join([program.code(node), *missing])
        yield program.replace(node, text, 3.6)


class _Renamed(ast.NodeTransformer):
    """A copy of an expression with other variables."""

    def __init__(self, names: dict[str, str]) -> None:
        self.names = names

    def visit_Name(self, node: ast.Name) -> ast.Name:
        return ast.Name(self.names.get(node.id, node.id), node.ctx)


def _shape(node: ast.AST) -> str:
    """An expression's form, whatever the order of what may be exchanged in it."""
    match node:
        case ast.BinOp(left=left, op=ast.Add() | ast.Mult() as op, right=right):
            return f"{type(op).__name__}({', '.join(sorted((_shape(left), _shape(right))))})"
        case ast.Compare(left=left, ops=[ast.Eq() | ast.NotEq() as sign], comparators=[right]):
            return f"{type(sign).__name__}({', '.join(sorted((_shape(left), _shape(right))))})"
        case ast.Name(id=name):
            return name
        case ast.Constant(value=value):
            return repr(value)
    parts = ", ".join(_shape(child) for child in ast.iter_child_nodes(node))
    return f"{type(node).__name__}({parts})"


def _is_pair(node: ast.expr) -> bool:
    return isinstance(node, ast.Compare) and len(node.ops) == 1


def _denied(program: Program, node: ast.expr) -> str:
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        return program.grouped(node.operand, ATOM if isinstance(node.operand, ast.BoolOp) else NOT)
    return f"not {program.grouped(node, NOT)}"
