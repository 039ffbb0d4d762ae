"""What a test repeats or spreads, written out: loops, parametrized tests, starred arguments."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from agent.intake.parsing import FunctionNode, called_name
from agent.intake.references import literal

MOST_ROWS = 300
"""Turns of a loop over literals that are taken apart."""


def loaded(aim: ast.expr) -> ast.expr:
    """A target of an assignment, as an expression that reads it."""
    return ast.Name(aim.id, ast.Load()) if isinstance(aim, ast.Name) else aim


def spread(
    args: Sequence[ast.expr], keywords: Sequence[ast.keyword]
) -> tuple[list[ast.expr], list[ast.keyword]]:
    """The arguments with `*(1, 2)` and `**{"a": 1}` written out."""
    positional: list[ast.expr] = []
    for one in args:
        match one:
            case ast.Starred(value=ast.List(elts=parts) | ast.Tuple(elts=parts)):
                positional += parts
            case _:
                positional.append(one)
    named: list[ast.keyword] = []
    for keyword in keywords:
        match keyword:
            case ast.keyword(arg=None, value=ast.Dict(keys=keys, values=values)) if all(
                isinstance(key, ast.Constant) and isinstance(key.value, str) for key in keys
            ):
                named += [
                    ast.keyword(str(key.value), value)
                    for key, value in zip(keys, values, strict=True)
                    if isinstance(key, ast.Constant)
                ]
            case _:
                named.append(keyword)
    return positional, named


def elements(node: ast.expr) -> Sequence[ast.expr] | None:
    """The elements of a display of literals, or `None`."""
    if isinstance(node, ast.List | ast.Tuple) and len(node.elts) <= MOST_ROWS:
        return node.elts if all(literal(one) for one in node.elts) else None
    return None


def rows_of(node: FunctionNode) -> list[dict[str, ast.expr]]:
    """The arguments of each turn of a parametrized test; one empty row for any other function."""
    for decorator in node.decorator_list:
        if not isinstance(decorator, ast.Call) or len(decorator.args) < 2:
            continue
        if not called_name(decorator).endswith("parametrize"):
            continue
        names = literal(decorator.args[0])
        rows = elements(decorator.args[1])
        if names is None or rows is None:
            continue
        given = names[0]
        split = given.replace(",", " ").split() if isinstance(given, str) else [
            str(one) for one in given
        ] if isinstance(given, list | tuple) else []
        if len(split) == 1:
            return [{split[0]: row} for row in rows]
        return [
            dict(zip(split, row.elts, strict=False)) for row in rows
            if isinstance(row, ast.Tuple | ast.List)
        ]
    return [{}]
