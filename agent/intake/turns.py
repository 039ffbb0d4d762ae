"""What a test repeats or spreads, written out: loops, parametrized tests, starred arguments."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import lru_cache

from agent.intake.effects import MUTATING_METHODS
from agent.intake.parsing import FunctionNode, called_name, root_name
from agent.intake.references import literal
from agent.trees import parse_expression

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


Tables = Mapping[str, ast.expr]
"""Names that stand for one display of literals throughout."""


def tables(body: Sequence[ast.stmt]) -> Tables:
    """Names of a test's code that are given a literal once, and never changed."""
    nodes = [one for statement in body for one in ast.walk(statement)]
    bound = Counter(
        one.id if isinstance(one, ast.Name) else one.arg for one in nodes
        if isinstance(one, ast.arg)
        or (isinstance(one, ast.Name) and not isinstance(one.ctx, ast.Load))
    )
    # Whoever calls a method of a table or stores into it may change it.
    touched = {
        root_name(one) for one in nodes
        if (isinstance(one, ast.Attribute) and one.attr in MUTATING_METHODS)
        or (isinstance(one, ast.Subscript) and not isinstance(one.ctx, ast.Load))
    }
    found: dict[str, ast.expr] = {}
    for one in nodes:
        match one:
            case (
                ast.Assign(targets=[ast.Name(id=name)], value=value)
                | ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value)
            ) if bound[name] == 1 and name not in touched and literal(value):
                found[name] = value
    return found


def elements(node: ast.expr, known: Tables) -> Sequence[ast.expr] | None:
    """What a loop over literals goes through, in order; `None` where it is not known."""
    match node:
        case ast.Name(id=name) if name in known:
            return elements(known[name], {})
        case ast.List(elts=parts) | ast.Tuple(elts=parts):
            found: Sequence[ast.expr] | None = parts
        case ast.Call(func=ast.Name("list" | "tuple"), args=[inner], keywords=[]):
            return elements(inner, known)
        case ast.Call(func=ast.Name("range"), args=bounds, keywords=[]):
            found = _numbers(bounds)
        case ast.Call(func=ast.Name("enumerate"), args=[inner, *start], keywords=named):
            found = _counted(elements(inner, known), [*start, *(one.value for one in named)])
        case ast.Call(func=ast.Name("zip"), args=[_, *_] as given):
            columns = [elements(one, known) for one in given]
            found = None if None in columns else [
                ast.Tuple(list(row), ast.Load())
                for row in zip(*(one for one in columns if one is not None), strict=False)
            ]
        case ast.Call(func=ast.Attribute(value=owner, attr="items"), args=[]):
            pairs = known.get(owner.id, owner) if isinstance(owner, ast.Name) else owner
            found = [
                ast.Tuple([key, value], ast.Load())
                for key, value in zip(pairs.keys, pairs.values, strict=True) if key is not None
            ] if isinstance(pairs, ast.Dict) else None
        case _:
            return None
    if found is None or len(found) > MOST_ROWS:
        return None
    return found if all(literal(one) for one in found) else None


def _numbers(bounds: Sequence[ast.expr]) -> list[ast.expr] | None:
    given = [literal(one) for one in bounds]
    values = [one[0] for one in given if one is not None and isinstance(one[0], int)]
    if len(values) < len(bounds) or not 1 <= len(values) <= 3 or values[2:] == [0]:
        return None
    numbers = range(*values)
    return [ast.Constant(one) for one in numbers] if len(numbers) <= MOST_ROWS else None


def _counted(
    rows: Sequence[ast.expr] | None, start: Sequence[ast.expr]
) -> list[ast.expr] | None:
    first = literal(start[0]) if start else (0,)
    if rows is None or first is None or not isinstance(first[0], int):
        return None
    return [
        ast.Tuple([ast.Constant(number), row], ast.Load())
        for number, row in enumerate(rows, first[0])
    ]


@lru_cache(maxsize=256)
def row(text: str) -> ast.expr | None:
    """A display of literals from its text; `None` for any other text."""
    try:
        found = parse_expression(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    return found if isinstance(found, ast.Tuple | ast.List) and literal(found) else None


def rows_of(node: FunctionNode, known: Tables) -> list[dict[str, ast.expr]]:
    """The arguments of each turn of a parametrized test; one empty row for any other function."""
    for decorator in node.decorator_list:
        if not isinstance(decorator, ast.Call) or len(decorator.args) < 2:
            continue
        if not called_name(decorator).endswith("parametrize"):
            continue
        names = literal(decorator.args[0])
        rows = elements(decorator.args[1], known)
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
