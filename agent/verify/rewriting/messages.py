"""Formats messages of verdicts, with capped lengths, for the host and the jails."""

from __future__ import annotations

NO_PROGRAMS = "the jail can run only Python"
"""Added to the failure of a test that tried to start another program."""


def first_line(text: str) -> str:
    first = text.strip().split("\n", 1)[0]
    return first if len(first) <= 500 else first[:499] + "…"


def short(text: str) -> str:
    return text if len(text) <= 120 else text[:119] + "…"


def text_of(error: BaseException) -> str:
    """The message of an exception, or a note that its `__str__` raised."""
    try:
        return str(error)
    except Exception as again:  # noqa: BLE001 - its `__str__` may raise anything
        return f"<its text raised {type(again).__name__}>"


def named(error: BaseException) -> str:
    text, name = text_of(error), type(error).__name__
    return first_line(f"{name}: {text}" if text else name)
