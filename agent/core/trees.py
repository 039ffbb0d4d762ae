"""Cached, shared syntax trees (parse the text again to change one), and literals."""

from __future__ import annotations

import ast
import threading
import time
import warnings
from collections.abc import Callable
from functools import lru_cache
from typing import Any, TypeVar

T = TypeVar("T")

MAX_CACHED_TREES = 6
"""Number of cached trees; one of ten thousand lines takes some tens of megabytes."""

MAX_TREE_DEPTH = 400
"""Deepest tree that is read: visitors recurse twice a level, and Python allows 1,000 calls."""

_PARSER = threading.RLock()
"""Up to Python 3.12 two threads in the parser raise `SystemError` (python/cpython#106905)."""
_ATTEMPTS, _PAUSE_S = 25, 0.01
"""Retries are needed, because LangGraph parses in its own threads without this lock."""


def retry_parse(parses: Callable[[], T]) -> T:
    """The result of a parser call under the lock, repeated after a `SystemError`."""
    with _PARSER:
        for _ in range(_ATTEMPTS - 1):
            try:
                return parses()
            except SystemError:
                time.sleep(_PAUSE_S)
        return parses()


def parse(text: str | bytes) -> ast.Module:
    """A new syntax tree that may be changed; raises what `ast.parse` raises."""
    return retry_parse(lambda: ast.parse(text))


def parse_expression(text: str) -> ast.expr:
    """The tree of one expression; raises what `ast.parse` raises."""
    return retry_parse(lambda: ast.parse(text, mode="eval")).body


def literal_value(text: str) -> Any:  # of any type that a literal has
    """The value of a text that is a literal; raises what `ast.literal_eval` raises."""
    return retry_parse(lambda: ast.literal_eval(text))


@lru_cache(maxsize=MAX_CACHED_TREES)
def tree_of(text: str) -> ast.Module:
    """The cached syntax tree, which must not be changed; raises what `ast.parse` raises."""
    # An invalid escape such as "\d" concerns the program's author only.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return parse(text)


@lru_cache(maxsize=MAX_CACHED_TREES)
def nodes_of(text: str) -> tuple[ast.AST, ...]:
    """All nodes of that tree in the order of `ast.walk`; raises what `ast.parse` raises."""
    return tuple(ast.walk(tree_of(text)))


def parse_or_empty(text: str) -> ast.Module:
    """As `tree_of`, but an empty tree where the text does not parse."""
    try:
        return tree_of(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ast.Module(body=[], type_ignores=[])


def nodes_or_empty(text: str) -> tuple[ast.AST, ...]:
    """As `nodes_of`, but empty where the text does not parse."""
    try:
        return nodes_of(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ()


@lru_cache(maxsize=MAX_CACHED_TREES)
def tree_depth(text: str) -> int:
    """The depth of that tree; raises what `ast.parse` raises."""
    level: list[ast.AST] = [tree_of(text)]
    found = 0
    while level:
        level = [child for node in level for child in ast.iter_child_nodes(node)]
        found += 1
    return found


def is_parsable(text: str) -> bool:
    """Whether a text parses and is not nested too deeply to be visited recursively."""
    try:
        return tree_depth(text) <= MAX_TREE_DEPTH
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False


def literal(node: ast.expr) -> tuple[object] | None:
    """The value of a literal expression in a one-tuple; `None` for any other expression."""
    try:
        return (ast.literal_eval(node),)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return None


def is_literal(node: ast.expr) -> bool:
    """Whether the expression consists of constants and displays of them only."""
    return literal(node) is not None


def expression(text: str) -> ast.expr | None:
    """The tree of a text that is one expression; `None` for any other text."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return parse_expression(text.strip())
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def is_call(text: str) -> bool:
    return isinstance(expression(text), ast.Call)


def normalized(text: str) -> str:
    """An expression on one line without comments; unchanged where it does not parse."""
    tree = expression(text)
    return text if tree is None else ast.unparse(tree)


def literal_source(value: Any, atom: Callable[[Any], str] = repr) -> str:
    """A value of built-in types as a literal with sorted sets; `atom` writes scalar values."""
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
