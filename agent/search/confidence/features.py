"""The features of a patch that passes its tests, from which its estimate is computed.

Each feature is a number; the weights are in `coefficients.toml`. Nothing is run here: the answers
to probing calls and the number of candidates tried are arguments.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from agent.core.trees import nodes_or_empty
from agent.search.confidence.naturalness import added
from agent.search.inspection.dead_code import dead_statements
from agent.search.inspection.doubts import dropped_calls, ignored_fields, unread_names
from agent.search.inspection.widening import dropped_guards
from agent.search.program import Function
from agent.search.values import Candidate

Features = Mapping[str, float]

_NEUTRAL: dict[str, tuple[type[ast.operator], ...]] = {
    "0": (ast.Add, ast.Sub), "1": (ast.Mult, ast.Div, ast.FloorDiv, ast.Pow),
}
"""Operators whose result is their left operand, by the right one."""
_JUMPS = (ast.Pass, ast.Continue, ast.Break)


@dataclass(frozen=True)
class Situation:
    """A failing program and its tests."""

    program: str
    tests: tuple[str, ...]
    """The code of each test; empty if only a crash is known."""
    base_answers: tuple[str, ...] = ()
    """The program's answer to each probing call."""


def features_of(patches: Sequence[Candidate], now: Situation) -> list[dict[str, float]]:
    """The features of each of the patches known to pass, which compete with each other."""
    shared = {"patches": math.log(len(patches)), **_size(now.program)}
    return [
        {
            **shared, "tried before": math.log1p(one.tried),
            "reported mistake": float("reported mistake" in one.operators),
            "known mistake": float("known mistake" in one.operators),
            "changed": _changed(now.base_answers, one.answers), **_text(now.program, one.text),
        }
        for one in patches
    ]


def _size(text: str) -> dict[str, float]:
    """The size of the program."""
    nodes = nodes_or_empty(text)
    return {
        "lines": math.log1p(sum(bool(line.strip()) for line in text.splitlines())),
        "functions": math.log1p(sum(isinstance(one, Function) for one in nodes)),
    }


def _changed(before: Sequence[str], after: Sequence[str]) -> float:
    """The share of different answers among the probing calls that are answered by a value."""
    known = [(old, new) for old, new in zip(before, after, strict=False) if _is_value(old)]
    return sum(old != new for old, new in known) / max(1, len(known))


def _is_value(answer: str) -> bool:
    return answer not in ("", "~") and not answer.startswith("!")


def _text(before: str, after: str) -> dict[str, float]:
    """The features that the two texts determine."""
    chances = added(before, after)
    return {
        "added": math.log1p(len(chances)), "suspicious": float(min(3, _suspicious(before, after))),
        "usual on average": sum(chances) / len(chances) if chances else 0.0,
    }


def _suspicious(before: str, after: str) -> int:
    """The number of changes that a reviewer would reject: unreachable code, swallowed exceptions,
    operations without effect, removed calls and guards, unused names, fields that comparisons no
    longer compare."""
    return (
        max(0, len([*dead_statements(after)]) - len([*dead_statements(before)]))
        + max(0, _swallowed(after) - _swallowed(before))
        + len({*_idle_ops(after)} - {*_idle_ops(before)}) + len(dropped_calls(before, after))
        + len(dropped_guards(before, after)) + len(unread_names(before, after))
        # The tests use these comparisons, so that passing them means little.
        + 3 * len(ignored_fields(before, after))
    )


def _swallowed(text: str) -> int:
    """The number of handlers that only pass, jump or return a constant."""
    return sum(
        isinstance(node, ast.ExceptHandler) and all(
            isinstance(one, _JUMPS) or (
                isinstance(one, ast.Return) and isinstance(one.value, ast.Constant | None)
            ) for one in node.body
        ) for node in nodes_or_empty(text)
    )


def _idle_ops(text: str) -> Iterator[str]:
    """Operations without effect: constants in conditions, equal operands, `+ 0`, `* 1`."""
    for node in nodes_or_empty(text):
        match node:
            case ast.BoolOp(values=values):
                idle = _equal(values) or any(isinstance(one, ast.Constant) for one in values)
            case ast.Compare(left=left, comparators=others):
                sides = [left, *others]
                idle = _equal(sides) or all(isinstance(one, ast.Constant) for one in sides)
            case ast.BinOp(left=left, right=right, op=op):
                idle = isinstance(op, _NEUTRAL.get(ast.unparse(right), ())) or (
                    _equal([left, right]) and not isinstance(op, ast.Add | ast.Mult)
                )
            case ast.IfExp(test=test) | ast.If(test=test):
                idle = isinstance(test, ast.Constant)
            case ast.Assign(targets=[target], value=value):
                idle = ast.unparse(target) == ast.unparse(value)
            case _:
                continue
        if idle:
            yield ast.unparse(node)


def _equal(nodes: Sequence[ast.expr]) -> bool:
    return len(nodes) > len({ast.dump(one) for one in nodes})
