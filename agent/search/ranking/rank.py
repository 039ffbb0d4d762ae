"""Which of several plausible candidates to believe first."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from agent.core.trees import readable_nodes
from agent.search.values import Candidate

WRONG_TYPE = 2.0
"""Cost of results that equal the expected ones but are of another type, as `0` and `False`."""
IDLE = 3.0
"""Cost of an operation that nobody would write: the repair is what stands beside it."""
BLIND = 100.0
"""Cost of an answer that is the same for all arguments: behind every other."""


def ranked(candidates: Iterable[Candidate]) -> tuple[Candidate, ...]:
    """Best first: cheap edits whose results have the types the tests expect."""
    return tuple(sorted(candidates, key=lambda one: (weight(one), one.text)))


def weight(candidate: Candidate) -> float:
    """How unlikely it is that a candidate is what was meant."""
    return (
        candidate.cost + WRONG_TYPE * bool(candidate.types) + IDLE * candidate.idle
        + BLIND * candidate.blind
    )


def idle_operations(text: str) -> int:
    """How many operations of a text nobody would write: those that leave the number on their left
    as it is, as `x * 1` does, and those that one constant would do, as `x + 1 - 1` does; none where
    the text does not compile."""
    nodes = readable_nodes(text)
    return sum(isinstance(node, ast.BinOp) and _is_idle(node) for node in nodes)


def _is_idle(node: ast.BinOp) -> bool:
    neutral = {ast.Add: 0, ast.Sub: 0, ast.Mult: 1, ast.Div: 1, ast.FloorDiv: 1, ast.Pow: 1}
    match node:
        case ast.BinOp(
            left=ast.BinOp(right=ast.Constant(value=int()), op=ast.Add() | ast.Sub()),
            right=ast.Constant(value=int()), op=ast.Add() | ast.Sub(),
        ):
            return True
        case ast.BinOp(right=ast.Constant(value=value)):
            return bool(value == neutral.get(type(node.op)))
    return False
