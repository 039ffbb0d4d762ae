"""Words of a verdict, cut to what a message holds; the host and the jails say them alike."""

from __future__ import annotations

import ast

NO_PROGRAMS = "the jail has no program but Python"
"""Said of a test that fails after another was to be started."""


def first_line(text: str) -> str:
    """The first line of a text, capped."""
    first = text.strip().split("\n", 1)[0]
    return first if len(first) <= 500 else first[:499] + "…"


def short(text: str) -> str:
    """As much of a text as a message holds."""
    return text if len(text) <= 120 else text[:119] + "…"


def text_of(error: BaseException) -> str:
    """An exception's own words, or that its `__str__` raised something itself."""
    try:
        return str(error)
    except Exception as again:  # noqa: BLE001 - it may raise anything
        return f"<its text raised {type(again).__name__}>"


def named(error: BaseException) -> str:
    """An exception as the last line of a traceback tells it, capped."""
    text, name = text_of(error), type(error).__name__
    return first_line(f"{name}: {text}" if text else name)


def is_literal(node: ast.expr) -> bool:
    """Whether an expression is a literal, whose source says its value."""
    try:
        ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
        return False
    return True
