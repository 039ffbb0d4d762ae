"""Numbers and dates of Python's library in the text of a test, as the values they are.

The host makes `date(2024, 2, 29)` from the syntax tree of that call, and evaluates no text. A
program is sent a name of the class that means the same in every process.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC
from functools import lru_cache
from typing import Any

from agent.core.trees import parse_expression, readable
from agent.target.parsing import names_in, toplevel
from agent.verify.examples.plain_values import LIBRARY

_CLASSES = {f"{kept}.{name}": getattr(__import__(kept), name) for name, kept in LIBRARY.items()}


@lru_cache(maxsize=64)
def imported(*texts: str) -> Mapping[str, str]:
    """Names that texts bind, with the dotted name of what they import by them, or nothing."""
    found: dict[str, str] = {}
    for node in toplevel(part for text in texts for part in readable(text).body):
        found |= dict.fromkeys(names_in(node).binds, "")
        match node:
            case ast.ImportFrom(module=module, names=aliases, level=0):
                found |= {one.asname or one.name: f"{module}.{one.name}" for one in aliases}
            case ast.Import(names=aliases):
                found |= {one.asname or one.name: one.name for one in aliases}
    return found


class Making(ast.NodeTransformer):
    """Puts values in the place of the calls that make them; `names` are what `imported` gives."""

    def __init__(self, names: Mapping[str, str]) -> None:
        self._names = names

    def visit(self, node: ast.AST) -> Any:  # nodes of the same kinds, as their base has it
        node = self.generic_visit(node)
        path = self._path(getattr(node, "func", node))
        made: Any = UTC
        if path in ("datetime.timezone.utc", "datetime.UTC"):
            return ast.Constant(made)
        if isinstance(node, ast.Call) and path in _CLASSES:
            with suppress(ValueError, TypeError, ArithmeticError, RecursionError, MemoryError):
                args = [ast.literal_eval(one) for one in node.args]
                named = {str(one.arg): ast.literal_eval(one.value) for one in node.keywords}
                # The fraction of "1e999999999" would take all memory.
                if "Fraction" not in path or "e" not in repr([*args, *named.values()]).lower():
                    return ast.Constant(_CLASSES[path](*args, **named))
        return node

    def _path(self, node: ast.AST) -> str:
        match node:
            case ast.Name(id=name):
                return self._names.get(name, "")
            case ast.Attribute(value=owner, attr=name):
                return f"{self._path(owner)}.{name}"
        return ""


class Writing(ast.NodeTransformer):
    """Puts calls that any process understands in the place of these values."""

    def visit_Constant(self, node: ast.Constant) -> ast.expr:
        module = type(node.value).__module__
        if module == "builtins":
            return node
        text = f"{module}.{node.value!r}".removeprefix("datetime.")
        return parse_expression(text.replace(f"{module}.", f"__import__('{module}')."))
