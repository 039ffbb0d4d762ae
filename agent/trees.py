"""Syntax trees of texts that many rooms read: a long program takes longer to parse than to judge.

The trees are shared: whoever wants to change one parses the text anew.
"""

from __future__ import annotations

import ast
import warnings
from functools import lru_cache

MOST = 6
"""Texts whose trees are kept; one of ten thousand lines takes some tens of megabytes."""


@lru_cache(maxsize=MOST)
def tree_of(text: str) -> ast.Module:
    """The syntax tree, not to be changed; raises what `ast.parse` raises."""
    # A "\d" in the user's string is a warning to its author, not to us.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ast.parse(text)


@lru_cache(maxsize=MOST)
def nodes_of(text: str) -> tuple[ast.AST, ...]:
    """All nodes of that tree in the order of `ast.walk`; raises what `ast.parse` raises."""
    return tuple(ast.walk(tree_of(text)))


def is_literal(node: ast.expr) -> bool:
    """Whether the expression is made of constants and displays of them only."""
    try:
        ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return False
    return True
