"""Whether a text compiles, and where and why it stops."""

from __future__ import annotations

import ast
import warnings
from dataclasses import dataclass

from agent.core.trees import undisturbed


@dataclass(frozen=True)
class Fault:
    """The first place where compiling stops; the message differs between versions and is a hint."""

    line: int
    offset: int
    message: str
    left: int
    """Characters from there to the end of the text; fewer means further."""
    parsed: bool
    """Whether the grammar holds and only a rule behind it is broken, as by a stray `return`."""

    def says(self, *words: str) -> bool:
        return any(word in self.message for word in words)


def fault(text: str) -> Fault | None:
    """The first syntax error, or `None`."""
    parsed = False
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            # The tree first: making it stops early on most texts, and tells the two kinds apart.
            undisturbed(lambda: compile(
                text, "<text>", "exec", ast.PyCF_ONLY_AST, dont_inherit=True
            ))
            parsed = True
            compile(text, "<text>", "exec", dont_inherit=True)
        except SyntaxError as error:
            line, offset = error.lineno or 1, error.offset or 0
            left = len(text) - position(text, line, offset)
            return Fault(line, offset, error.msg or "", left, parsed)
        except (ValueError, RecursionError, MemoryError, OverflowError) as error:
            return Fault(1, 0, str(error), len(text), parsed)
    return None


def compiles(text: str) -> bool:
    """Whether a text compiles: quicker than finding no fault."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            compile(text, "<text>", "exec", dont_inherit=True)
        except (SyntaxError, ValueError, RecursionError, MemoryError, OverflowError):
            return False
    return True


def position(text: str, line: int, offset: int) -> int:
    """The index of a place given as line and column, both counted from one."""
    start = 0
    for _ in range(line - 1):
        following = text.find("\n", start)
        if following < 0:
            return len(text)
        start = following + 1
    end = text.find("\n", start)
    return min(start + max(0, offset - 1), len(text) if end < 0 else end)
