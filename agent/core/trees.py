"""Syntax trees, cached and shared (to change one, parse the text again), and literals."""

from __future__ import annotations

import ast
import threading
import time
import warnings
from collections.abc import Callable
from functools import lru_cache
from typing import Any, TypeVar

T = TypeVar("T")

MOST = 6
"""Texts whose trees are kept; one of ten thousand lines takes some tens of megabytes."""

MAX_LEVELS = 400
"""Levels of a tree that is read: readers recurse twice a level, and Python allows 1,000 calls."""


_PARSER = threading.RLock()
"""Two threads in the parser at once raise `SystemError` up to Python 3.12 (CPython issue
106905)."""
_TRIES, _PAUSE_S = 25, 0.01
"""LangGraph parses in threads of its own, without this lock."""


def undisturbed(parses: Callable[[], T]) -> T:
    """What a parser call gives, one thread at a time; repeated where another thread disturbed
    it."""
    with _PARSER:
        for _ in range(_TRIES - 1):
            try:
                return parses()
            except SystemError:
                time.sleep(_PAUSE_S)
        return parses()


def parse(text: str | bytes) -> ast.Module:
    """A syntax tree of its own; raises what `ast.parse` raises."""
    return undisturbed(lambda: ast.parse(text))


def parse_expression(text: str) -> ast.expr:
    """The tree of one expression; raises what `ast.parse` raises."""
    return undisturbed(lambda: ast.parse(text, mode="eval")).body


def literal_value(text: str) -> Any:  # of any type that a literal has
    """The value of a text that is a literal; raises what `ast.literal_eval` raises."""
    return undisturbed(lambda: ast.literal_eval(text))


@lru_cache(maxsize=MOST)
def tree_of(text: str) -> ast.Module:
    """The syntax tree, not to be changed; raises what `ast.parse` raises."""
    # A "\d" in the user's string is a warning to its author, not to us.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return parse(text)


@lru_cache(maxsize=MOST)
def nodes_of(text: str) -> tuple[ast.AST, ...]:
    """All nodes of that tree in the order of `ast.walk`; raises what `ast.parse` raises."""
    return tuple(ast.walk(tree_of(text)))


def readable(text: str) -> ast.Module:
    """As `tree_of`; an empty one where the text does not parse."""
    try:
        return tree_of(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ast.Module(body=[], type_ignores=[])


def readable_nodes(text: str) -> tuple[ast.AST, ...]:
    """As `nodes_of`; none where the text does not parse."""
    try:
        return nodes_of(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ()


@lru_cache(maxsize=MOST)
def levels(text: str) -> int:
    """How deep that tree goes; raises what `ast.parse` raises."""
    level: list[ast.AST] = [tree_of(text)]
    found = 0
    while level:
        level = [child for node in level for child in ast.iter_child_nodes(node)]
        found += 1
    return found


def is_legible(text: str) -> bool:
    """Whether a text is Python that is not nested too deeply to be read."""
    try:
        return levels(text) <= MAX_LEVELS
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False


def literal(node: ast.expr) -> tuple[object] | None:
    """The value of a literal expression, alone in a tuple; `None` for any other."""
    try:
        return (ast.literal_eval(node),)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return None


def is_literal(node: ast.expr) -> bool:
    """Whether the expression is made of constants and displays of them only."""
    return literal(node) is not None


def expression(text: str) -> ast.expr | None:
    """The tree of a text that is one expression; `None` where it is not."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return parse_expression(text.strip())
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def is_call(text: str) -> bool:
    """Whether a text is one call, as a test can make it."""
    return isinstance(expression(text), ast.Call)


def plain(text: str) -> str:
    """An expression on one line without comments; unchanged where it does not parse."""
    tree = expression(text)
    return text if tree is None else ast.unparse(tree)


def literal_source(value: Any, atom: Callable[[Any], str] = repr) -> str:
    """A value of built-in types as a literal whose sets are sorted; `atom` writes what holds no
    other values."""
    kind = type(value)
    if kind in (list, tuple, set, frozenset):
        words = [literal_source(one, atom) for one in value]
        if kind is list:
            return f"[{', '.join(words)}]"
        if kind is tuple:
            return f"({words[0]},)" if len(words) == 1 else f"({', '.join(words)})"
        text = f"{{{', '.join(sorted(words))}}}" if words else "set()"
        return text if kind is set else f"frozenset({text if words else ''})"
    if kind is dict:
        pairs = (
            f"{literal_source(key, atom)}: {literal_source(one, atom)}"
            for key, one in value.items()
        )
        return f"{{{', '.join(pairs)}}}"
    return atom(value)
