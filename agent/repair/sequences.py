"""A test that makes an object and uses it, as one expression with literals that can be changed.

    acc = Account(10); acc.deposit(5); assert acc.balance == 15
    (lambda acc: (acc.deposit(5), acc.balance)[-1])(Account(10))

A variable would stay in the program that is asked; a parameter does not.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from agent.trees import is_literal

MOST_STEPS = 12


@dataclass(frozen=True)
class Sequence:
    """The expression, the literals in its calls, and the literal that the test expects."""

    call: ast.Call
    literals: tuple[ast.expr, ...]
    expected: ast.expr


def sequences(tree: ast.Module, names: frozenset[str]) -> Iterator[Sequence]:
    """One for each `assert` of a straight line of statements that is an equation with a literal;
    none where a statement is of another kind, or an argument is no literal. An object that is made
    anew under its name begins another line."""
    made: dict[str, ast.Call] = {}
    steps: list[ast.expr] = []
    found: list[Sequence] = []
    for statement in tree.body:
        expected: ast.expr | None = None
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Call() as value) if (
                name not in names and bool(steps) == (name in made)
                and changeable(value, names) is not None
            ):
                made = {name: value} if steps else {**made, name: value}
                steps = []
                continue
            case ast.Expr(value=ast.Call() as step):
                pass
            case ast.Assert(test=ast.Compare(
                left=step, ops=[ast.Eq() | ast.Is()], comparators=[given]
            )) if is_literal(given):
                expected = given
            case _:
                break
        if changeable(step, frozenset(made)) is None or len(steps) == MOST_STEPS:
            break
        steps.append(step)
        if expected is not None:
            found.append(_sequence(made, steps, expected))
    yield from found


def changeable(node: ast.expr, names: frozenset[str]) -> tuple[ast.expr, ...] | None:
    """The literals of a chain of calls that begins at one of the names, or `None`."""
    match node:
        case ast.Name(id=name):
            return () if name in names else None
        case ast.Attribute(value=owner):
            return changeable(owner, names)
        case ast.Call(func=func, args=args, keywords=keywords):
            before = changeable(func, names)
            given = [*args, *(keyword.value for keyword in keywords)]
            if before is None or any(keyword.arg is None for keyword in keywords):
                return None
            return (*before, *given) if all(map(is_literal, given)) else None
    return None


def _sequence(
    made: dict[str, ast.Call], steps: list[ast.expr], expected: ast.expr
) -> Sequence:
    parameters = ast.arguments(
        posonlyargs=[], args=[ast.arg(arg=name) for name in made], kwonlyargs=[], kw_defaults=[],
        defaults=[],
    )
    body = steps[0]
    if len(steps) > 1:
        last = ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=1))
        values = ast.Tuple(elts=[*steps], ctx=ast.Load())
        body = ast.Subscript(value=values, slice=last, ctx=ast.Load())
    call = ast.Call(
        func=ast.Lambda(args=parameters, body=body), args=[*made.values()], keywords=[]
    )
    literals = [one for node in (*made.values(), *steps) for one in _given(node)]
    return Sequence(call, tuple(literals), expected)


def _given(node: ast.expr) -> tuple[ast.expr, ...]:
    names = frozenset(one.id for one in ast.walk(node) if isinstance(one, ast.Name))
    return changeable(node, names) or ()
