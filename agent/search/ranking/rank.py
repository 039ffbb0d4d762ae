"""The ranking of plausible candidates."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterable

from agent.core.trees import nodes_or_empty
from agent.search.values import Candidate

WRONG_TYPE = 2.0
"""Cost of results that equal the expected ones but are of another type, as `0` and `False`."""
IDLE = 3.0
"""Cost of an added operation without effect."""
BLIND = 100.0
"""Cost of an answer that no longer depends on the arguments; it ranks behind every other."""


def ranked(candidates: Iterable[Candidate]) -> tuple[Candidate, ...]:
    """Best first: cheap edits whose results have the types the tests expect."""
    return tuple(sorted(candidates, key=lambda one: (weight(one), one.text)))


def weight(candidate: Candidate) -> float:
    """The cost of a candidate with the penalties above."""
    return (
        candidate.cost + WRONG_TYPE * bool(candidate.types) + IDLE * candidate.idle
        + BLIND * candidate.blind
    )


def idle_operations(text: str) -> int:
    """The number of operations without effect, as `x * 1`, or with two constants, as `x + 1 - 1`,
    and of counts that begin below 0.

    0 if the text does not parse.
    """
    nodes = [*nodes_or_empty(text)]
    counted = {
        node.target.id for node in nodes
        if isinstance(node, ast.AugAssign) and isinstance(node.op, ast.Add)
        and isinstance(node.target, ast.Name)
    }
    return sum(_is_idle(node) or _begins_below_0(node, counted) for node in nodes)


def _begins_below_0(node: ast.AST, counted: Collection[str]) -> bool:
    match node:
        case ast.Assign(
            targets=[ast.Name(id=name)], value=ast.UnaryOp(op=ast.USub(), operand=ast.Constant())
        ):
            return name in counted
    return False


def _is_idle(node: ast.AST) -> bool:
    neutral = {ast.Add: 0, ast.Sub: 0, ast.Mult: 1, ast.Div: 1, ast.FloorDiv: 1, ast.Pow: 1}
    match node:
        case ast.BinOp(
            left=ast.BinOp(right=ast.Constant(value=int()), op=ast.Add() | ast.Sub()),
            right=ast.Constant(value=int()), op=ast.Add() | ast.Sub(),
        ):
            return True
        case ast.BinOp(op=op, right=ast.Constant(value=value)):
            return bool(value == neutral.get(type(op)))
    return False
