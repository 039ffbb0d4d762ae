"""Code metrics of a program's text by name, and Wilson's score interval."""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Mapping

from agent.core.trees import is_parsable, nodes_of

Measure = Callable[[str], int | bool | None]
"""A metric of a text; `None` where the text does not parse."""

_BRANCHES = (
    ast.If, ast.IfExp, ast.For, ast.AsyncFor, ast.While, ast.ExceptHandler, ast.comprehension,
    ast.match_case,
)
_DOCUMENTED = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


def cyclomatic_complexity(text: str) -> int | None:
    """McCabe's cyclomatic complexity of the whole program."""
    if not is_parsable(text):
        return None
    nodes = nodes_of(text)
    either = sum(len(one.values) - 1 for one in nodes if isinstance(one, ast.BoolOp))
    conditions = sum(len(one.ifs) for one in nodes if isinstance(one, ast.comprehension))
    return 1 + either + conditions + sum(isinstance(one, _BRANCHES) for one in nodes)


def line_count(text: str) -> int:
    """The number of lines that are not blank."""
    return sum(bool(line.strip()) for line in text.splitlines())


def has_docstrings(text: str) -> bool | None:
    """Whether all public functions and classes have docstrings, or the module if it has none."""
    if not is_parsable(text):
        return None
    nodes = nodes_of(text)
    named = [one for one in nodes if isinstance(one, _DOCUMENTED)]
    public = [one for one in named if not one.name.startswith("_")]
    module = [one for one in nodes if isinstance(one, ast.Module)]
    return all(ast.get_docstring(one) for one in public or module)


MEASURES: Mapping[str, Measure] = {
    "cyclomatic_complexity": cyclomatic_complexity,
    "line_count": line_count,
    "has_docstrings": has_docstrings,
}


def measure_all(text: str) -> dict[str, int | bool | None]:
    return {name: measure(text) for name, measure in MEASURES.items()}


_Z = 1.96
"""The standard score of a 95 % interval."""


def interval(hits: int, of: int) -> tuple[float, float]:
    """Wilson's score interval of the share `hits / of`; see Wilson, JASA 22 (1927)."""
    if not of:
        return 0.0, 1.0
    share, square = hits / of, _Z * _Z
    middle = share + square / (2 * of)
    half = _Z * math.sqrt((share * (1 - share) + square / (4 * of)) / of)
    whole = 1 + square / of
    return max(0.0, (middle - half) / whole), min(1.0, (middle + half) / whole)
