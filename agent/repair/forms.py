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
)
