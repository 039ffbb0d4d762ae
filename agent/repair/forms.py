"""Other forms of an expression: they agree on the inputs one thinks of, and part at the edges.

Rows as in the search's own table. They only serve to look for rivals of a repair.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from agent.repair.edits import Operator
from agent.repair.program import ATOM, UNARY, Function, Program, Splice


def _distance(program: Program, node: ast.BinOp) -> Iterator[Splice]:
    """A difference of two variables without its sign."""
    if isinstance(node.op, ast.Sub) and {type(node.left), type(node.right)} == {ast.Name}:
        yield program.replace(node, f"abs({program.code(node)})", 3.0)


def _from_the_end(program: Program, node: ast.Subscript) -> Iterator[Splice]:
    """A bound counted from the end, which counts from the start where it is 0."""
    match node.slice:
        case ast.Slice(lower=None, upper=ast.UnaryOp(op=ast.USub(), operand=count), step=None):
            text = f"len({program.code(node.value)}) - {program.grouped(count, UNARY)}"
            whole = f"{program.code(node.value)}[:{text}]"
            yield program.replace(node, whole, 2.5)
        case ast.Slice(lower=ast.UnaryOp(op=ast.USub(), operand=count), upper=None, step=None):
            text = f"len({program.code(node.value)}) - {program.grouped(count, UNARY)}"
            whole = f"{program.code(node.value)}[{text}:]"
            yield program.replace(node, whole, 2.5)


def _repeated(program: Program, node: ast.Constant) -> Iterator[Splice]:
    """A text of one letter as often as another text is long."""
    value = node.value
    if isinstance(value, str) and len(value) > 1 and len(set(value)) == 1:
        for name in program.variables(node):
            yield program.replace(node, f"{value[0]!r} * len({name})", 3.0)


def _any_case(program: Program, node: ast.Compare) -> Iterator[Splice]:
    """A letter looked for in either case."""
    match node:
        case ast.Compare(
            ops=[ast.In() | ast.NotIn()], comparators=[ast.Constant(value=str(letters))]
        ) if letters.islower():
            left = program.code(node.left)
            yield program.replace(node.left, f"{left}.lower()", 3.0)


def _rounded(program: Program, node: ast.BinOp) -> Iterator[Splice]:
    """A division that rounds the other way where something is left."""
    if isinstance(node.op, ast.FloorDiv):
        left, right = program.grouped(node.left, UNARY), program.grouped(node.right, UNARY)
        yield program.replace(node, f"({left} - 1) // {right}", 3.0)
        yield program.replace(node, f"-(-{left} // {right})", 3.0)


def _extreme(program: Program, node: ast.Subscript) -> Iterator[Splice]:
    """The least or the greatest in place of the first or the last."""
    if ast.unparse(node.slice) in ("0", "-1") and isinstance(node.ctx, ast.Load):
        for name in ("min", "max"):
            yield program.replace(node, f"{name}({program.code(node.value)})", 3.0)


def _taken(program: Program, node: ast.Subscript) -> Iterator[Splice]:
    """An element of what an object holds taken away, not only looked at."""
    if isinstance(node.value, ast.Attribute) and isinstance(node.ctx, ast.Load):
        place = ast.unparse(node.slice)
        if place in ("0", "-1"):
            yield program.replace(node, f"{program.code(node.value)}.pop({place})", 3.0)


CYCLES = {
    "hour": ("({}) % 24",), "minute": ("({}) % 60",), "month": ("({} - 1) % 12 + 1",),
    "weekday": ("({}) % 7", "({} - 1) % 7 + 1"), "angle": ("({}) % 360",),
}
"""What begins anew after its last, by the last word of a name."""


def _cycle(program: Program, node: ast.BinOp) -> Iterator[Splice]:
    """The next or an earlier of what begins anew: after December comes January."""
    match node:
        case ast.BinOp(left=ast.Name(id=name), op=ast.Add() | ast.Sub()):
            scope = program.scope(node)
            asked = scope.name if isinstance(scope, Function) else ""
            for word in {_last_word(name), _last_word(asked)}:
                for around in CYCLES.get(word, ()):
                    yield program.replace(node, around.format(program.code(node)), 3.0)


def _last_word(name: str) -> str:
    return name.lower().rpartition("_")[2]


def _century(program: Program, node: ast.Compare) -> Iterator[Splice]:
    """Every fourth year, but for three centuries of four."""
    match node:
        case ast.Compare(
            left=ast.BinOp(left=ast.Name(id=name), op=ast.Mod(), right=ast.Constant(value=4)),
            ops=[ast.Eq() | ast.NotEq() as sign], comparators=[ast.Constant(value=0)],
        ) if _last_word(name) in ("y", "year"):
            leap = f"({name} % 4 == 0 and ({name} % 100 != 0 or {name} % 400 == 0))"
            negated = "not " * isinstance(sign, ast.NotEq)
            yield program.replace(node, negated + leap, 3.0)


ANEW = {
    "sort": "sorted({name}{rest})", "reverse": "{name}[::-1]", "update": "{{**{name}, **{given}}}",
    "append": "{name} + [{given}]", "extend": "[*{name}, *{given}]",
}
"""What a method changes in place, made anew."""


def anew(program: Program, function: Function) -> Iterator[Splice]:
    """The first change of an argument in place, made on a new value instead."""
    given = {one.arg for one in (*function.args.posonlyargs, *function.args.args)}
    for node in function.body:
        match node:
            case ast.Expr(value=ast.Call(
                func=ast.Attribute(value=ast.Name(id=name), attr=attr), args=args
            ) as call) if name in given and attr in ANEW and len(args) <= 1:
                shown = [program.code(one) for one in args]
                keys = [f"{one.arg}={program.grouped(one.value, ATOM)}" for one in call.keywords]
                text = ANEW[attr].format(
                    name=name, given=", ".join(shown),
                    rest="".join(f", {one}" for one in (*shown, *keys)),
                )
                yield program.replace_statement(node, f"{name} = {text}", 3.0)


FORMS: tuple[Operator, ...] = (
    Operator("distance", (ast.BinOp,), _distance),
    Operator("from the end", (ast.Subscript,), _from_the_end),
    Operator("repeated letter", (ast.Constant,), _repeated),
    Operator("any case", (ast.Compare,), _any_case),
    Operator("rounded", (ast.BinOp,), _rounded),
    Operator("extreme", (ast.Subscript,), _extreme),
    Operator("taken", (ast.Subscript,), _taken),
    Operator("cycle", (ast.BinOp,), _cycle),
    Operator("century", (ast.Compare,), _century),
)
