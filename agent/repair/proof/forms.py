"""Other forms of an expression or function: they agree on the inputs one thinks of, and part at the
edges. They only serve to look for rivals of a repair.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator, Mapping
from itertools import combinations

from agent.repair.edits import Operator
from agent.repair.edits.calls import given_arguments, replaced_call
from agent.repair.program import (
    ATOM,
    OR,
    UNARY,
    Function,
    Program,
    Splice,
    names_in,
    parameters,
)

KNOWN: dict[str, tuple[str, ...]] = {
    "builtins": ("abs", "max", "min", "pow", "round", "sorted", "sum"),
    "math": ("comb", "factorial", "gcd", "isqrt", "lcm", "perm", "prod"),
    "statistics": ("mean", "median", "mode"),
    "calendar": ("isleap",),
    "str": ("capitalize", "swapcase", "title"),
}
"""Functions that are the same whoever writes them, by their modules."""
MOST_EXCHANGED = 4
"""Names of a condition of which two are exchanged."""
LEAST = 3
"""Letters by which a shortened name is told: `fact`, `sort`."""
CYCLES = {
    "hour": ("({}) % 24",), "minute": ("({}) % 60",), "month": ("({} - 1) % 12 + 1",),
    "weekday": ("({}) % 7", "({} - 1) % 7 + 1"), "angle": ("({}) % 360",),
}
"""What begins anew after its last, by the last word of a name."""
ANEW = {
    "sort": "sorted({name}{rest})", "reverse": "{name}[::-1]", "update": "{{**{name}, **{given}}}",
    "append": "{name} + [{given}]", "extend": "[*{name}, *{given}]",
}
"""What a method changes in place, made anew."""


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


def _divisor(program: Program, node: ast.BinOp) -> Iterator[Splice]:
    """The double or the half of a divisor: where a few numbers are told from others by what is
    left of them, another often tells them as well."""
    match node:
        case ast.BinOp(op=ast.Mod(), right=ast.Constant(value=int(number))) if number > 1:
            for other in (number * 2, number // 2):
                yield program.replace(node.right, str(other), 3.0)


def _same_of_others(program: Program, node: ast.BoolOp) -> Iterator[Splice]:
    """One part of a condition replaced by another part, of two names exchanged."""
    for part in node.values:
        for other in node.values:
            names = sorted(names_in(other))
            for one, two in combinations(names[:MOST_EXCHANGED], 2) if other is not part else ():
                exchanged = _Exchanged({one: two, two: one}).visit(copy.deepcopy(other))
                yield program.replace(part, f"({ast.unparse(exchanged)})", 3.0)


class _Exchanged(ast.NodeTransformer):
    def __init__(self, names: Mapping[str, str]) -> None:
        self.names = names

    def visit_Name(self, node: ast.Name) -> ast.Name:
        return ast.Name(self.names.get(node.id, node.id), node.ctx)


def anew(program: Program, function: Function) -> Iterator[Splice]:
    """The first change of an argument in place, made on a new value instead."""
    given = parameters(function, keywords=False)
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


def namesakes(program: Program, function: Function) -> Iterator[Splice]:
    """A function of a module that does nothing but call what Python itself has by its name: whoever
    reads `median`, `fact`, `is_leap` expects that."""
    own = function.args
    if own.vararg or own.kwarg or own.kwonlyargs or not isinstance(
        program.parents.get(function), ast.Module
    ):
        return
    names = parameters(function)
    words = [*function.name.lower().split("_"), function.name.lower().replace("_", "")]
    start, end = program.start(function.body[0]), program.end(function.body[-1])
    for module, members in KNOWN.items():
        for member in members:
            if names and any(_is_meant(word, member) for word in words):
                called = f"__import__({module!r}).{member}({', '.join(names)})"
                if module == "str":
                    called = f"{names[0]}.{member}({', '.join(names[1:])})"
                yield Splice(start, end, f"return {called}", 3.0, function.lineno)


def _is_meant(word: str, member: str) -> bool:
    """Whether one is the other, or its beginning."""
    plain = member.removeprefix("is")
    return min(len(word), len(plain)) >= LEAST and (
        word in (member, plain) or member.startswith(word) or word.startswith(plain)
    )


def _unsigned(program: Program, node: ast.UnaryOp) -> Iterator[Splice]:
    """A sign or `not` taken away."""
    yield program.replace(node, program.code(node.operand), 2.5)


def _branches(program: Program, node: ast.IfExp) -> Iterator[Splice]:
    """The branches of a conditional expression exchanged."""
    body, other = program.grouped(node.body, OR), program.grouped(node.orelse, OR)
    yield program.replace(node, f"{other} if {program.grouped(node.test, OR)} else {body}", 2.5)


def _range(program: Program, node: ast.Call) -> Iterator[Splice]:
    """Other bounds of a range."""
    if not (isinstance(node.func, ast.Name) and node.func.id == "range"):
        return
    given = given_arguments(program, node)
    others: list[list[str]] = []
    if len(given) == 1:
        stop = given[0]
        others = [["1", stop], ["1", f"{stop} + 1"], ["2", stop], ["2", f"{stop} + 1"]]
    elif len(given) == 2:
        start, stop = given
        others = [["0", stop], ["1", stop], [f"{start} + 1", f"{stop} + 1"],
                  [f"{start} - 1", f"{stop} - 1"], [start, stop, "2"]]
    for bounds in others:
        yield replaced_call(program, node, bounds, [], 3.0)


def _one_of(program: Program, node: ast.Call) -> Iterator[Splice]:
    """The first or the last element in place of all taken together."""
    match node:
        case ast.Call(func=ast.Name(id="sum" | "max" | "min" | "len"), args=[whole], keywords=[]):
            text = program.grouped(whole, ATOM)
            if not isinstance(whole, ast.GeneratorExp):
                yield program.replace(node, f"{text}[0]", 4.8)
                yield program.replace(node, f"{text}[-1]", 4.8)


FORMS: tuple[Operator, ...] = (
    Operator("distance", (ast.BinOp,), _distance),
    Operator("from the end", (ast.Subscript,), _from_the_end),
    Operator("repeated letter", (ast.Constant,), _repeated),
    Operator("any case", (ast.Compare,), _any_case),
    Operator("rounded", (ast.BinOp,), _rounded),
    Operator("extreme", (ast.Subscript,), _extreme),
    Operator("taken", (ast.Subscript,), _taken),
    Operator("cycle", (ast.BinOp,), _cycle),
    Operator("divisor", (ast.BinOp,), _divisor),
    Operator("same of others", (ast.BoolOp,), _same_of_others),
    Operator("century", (ast.Compare,), _century),
    Operator("unsigned", (ast.UnaryOp,), _unsigned),
    Operator("branches", (ast.IfExp,), _branches),
    Operator("range", (ast.Call,), _range),
    Operator("one of a sequence", (ast.Call,), _one_of),
)
