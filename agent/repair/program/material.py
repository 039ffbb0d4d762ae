"""What of a text is no material for edits."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterable

from agent.trees import is_literal

TABLE = 100
"""Constants in one display from which on it is a table of data."""
VAST = 1_000
"""Entries from which on a table is data all through: its keys, and it itself as a value."""


def hidden(nodes: Iterable[ast.AST]) -> frozenset[ast.AST]:
    """Nodes that are no material: docstrings, annotations, what tables of data hold, and
    f-strings before 3.12."""
    found: set[ast.AST] = set()
    for node in nodes:
        if isinstance(node, ast.JoinedStr):
            deep = sys.version_info < (3, 12)
            for inner in ast.walk(node):
                is_text = isinstance(inner, ast.Constant) and inner in node.values
                is_format = isinstance(inner, ast.JoinedStr | ast.FormattedValue)
                if inner is not node and (deep or is_text or is_format):
                    found.add(inner)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            found.add(node.value)
        for name in ("annotation", "returns"):
            note = getattr(node, name, None)
            if isinstance(note, ast.AST):
                found.update(ast.walk(note))
        if isinstance(node, ast.Match):
            for case in node.cases:
                found.update(ast.walk(case.pattern))
        found.update(_data(node))
    return frozenset(found)


def _data(node: ast.AST) -> list[ast.AST]:
    """What of a table of data is no material; nothing for other nodes."""
    match node:
        case ast.List(elts=parts) | ast.Tuple(elts=parts) | ast.Set(elts=parts):
            keys: list[ast.expr | None] = []
        case ast.Dict(keys=keys, values=parts):
            pass
        case _:
            return []
    if len(parts) <= TABLE:
        return []
    if len(parts) <= VAST:
        return [*parts] if all(isinstance(part, ast.Constant) for part in parts) else []
    if not all(_is_datum(part) for part in (*filter(None, keys), *parts)):
        return []
    return [*ast.walk(node)]


def _is_datum(part: ast.expr) -> bool:
    """Whether an entry is a constant, or a display of such."""
    return isinstance(part, ast.Constant) or (
        isinstance(part, ast.List | ast.Tuple | ast.Set | ast.Dict | ast.UnaryOp)
        and is_literal(part)
    )
