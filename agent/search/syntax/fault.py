"""Whether a text compiles, and where and why it does not."""

from __future__ import annotations

import ast
import warnings
from dataclasses import dataclass

from agent.core.trees import retry_parse


@dataclass(frozen=True)
class Fault:
    """The first syntax error. Its message is only a hint, since Python versions differ."""

    line: int
    offset: int
    message: str
    to_end: int
    """Characters from the error to the end of the text."""
    parsed: bool
    """Whether the text parses and only breaks a later rule, such as a `return` outside of a
    function."""

    def mentions(self, *words: str) -> bool:
        return any(word in self.message for word in words)


def fault(text: str) -> Fault | None:
    """The first syntax error, or `None`."""
    parsed = False
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            # Parsing first is faster for most texts, and sets `parsed`.
            retry_parse(lambda: compile(
                text, "<text>", "exec", ast.PyCF_ONLY_AST, dont_inherit=True
            ))
            parsed = True
            compile(text, "<text>", "exec", dont_inherit=True)
        except SyntaxError as error:
            line, offset = error.lineno or 1, error.offset or 0
            to_end = len(text) - position(text, line, offset)
            return Fault(line, offset, error.msg or "", to_end, parsed)
        except (ValueError, RecursionError, MemoryError, OverflowError) as error:
            return Fault(1, 0, str(error), len(text), parsed)
    return None


def compiles(text: str) -> bool:
    """Whether a text compiles; faster than `fault`."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            compile(text, "<text>", "exec", dont_inherit=True)
        except (SyntaxError, ValueError, RecursionError, MemoryError, OverflowError):
            return False
    return True


def position(text: str, line: int, offset: int) -> int:
    """The offset of a line and column, both counted from 1."""
    start = 0
    for _ in range(line - 1):
        following = text.find("\n", start)
        if following < 0:
            return len(text)
        start = following + 1
    end = text.find("\n", start)
    return min(start + max(0, offset - 1), len(text) if end < 0 else end)
