"""Converts calls such as `date(2024, 2, 29)` in a test's text into values, and back.

The host builds numbers and dates of the standard library from the syntax tree, without evaluating
text. A program receives the class by a name that is valid in every process.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC
from functools import lru_cache
from typing import Any

from agent.core.trees import parse_expression, parse_or_empty
from agent.target.parsing import name_usage, toplevel
from agent.verify.examples.plain_values import LIBRARY

_CLASSES = {
    f"{module}.{name}": getattr(__import__(module), name) for name, module in LIBRARY.items()
}


@lru_cache(maxsize=64)
def imported(*texts: str) -> Mapping[str, str]:
    """Names that texts bind, with the dotted name that they import, or "" for other bindings."""
    found: dict[str, str] = {}
    for node in toplevel(part for text in texts for part in parse_or_empty(text).body):
        found |= dict.fromkeys(name_usage(node).binds, "")
        match node:
            case ast.ImportFrom(module=module, names=aliases, level=0):
                found |= {one.asname or one.name: f"{module}.{one.name}" for one in aliases}
            case ast.Import(names=aliases):
                found |= {one.asname or one.name: one.name for one in aliases}
    return found


class CallsToValues(ast.NodeTransformer):
    """Replaces calls of library classes by their values; `names` are the result of `imported`."""

    def __init__(self, names: Mapping[str, str]) -> None:
        self._names = names

    def visit(self, node: ast.AST) -> Any:
        node = self.generic_visit(node)
        path = self._path(getattr(node, "func", node))
        utc: Any = UTC
        if path in ("datetime.timezone.utc", "datetime.UTC"):
            return ast.Constant(utc)
        if isinstance(node, ast.Call) and path in _CLASSES:
            with suppress(ValueError, TypeError, ArithmeticError, RecursionError, MemoryError):
                args = [ast.literal_eval(argument) for argument in node.args]
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


class ValuesToCalls(ast.NodeTransformer):
    """Replaces values of library classes by calls that are valid in any process."""

    def visit_Constant(self, node: ast.Constant) -> ast.expr:
        module = type(node.value).__module__
        if module == "builtins":
            return node
        text = f"{module}.{node.value!r}".removeprefix("datetime.")
        return parse_expression(text.replace(f"{module}.", f"__import__('{module}')."))
