"""Words of a verdict, cut to what a message holds; the host and the jails say them alike."""

from __future__ import annotations

import ast


def first_line(text: str) -> str:
    """The first line of a text, capped."""
    first = text.strip().split("\n", 1)[0]
    return first if len(first) <= 500 else first[:499] + "…"


def short(text: str) -> str:
    """As much of a text as a message holds."""
    return text if len(text) <= 120 else text[:119] + "…"


def is_literal(node: ast.expr) -> bool:
    """Whether an expression is a literal, whose source says its value."""
    try:
        ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
        return False
    return True
