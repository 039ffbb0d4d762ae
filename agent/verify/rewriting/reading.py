"""Compiles a snippet with its comparisons recorded."""

from __future__ import annotations

import ast
import importlib
import sys
import types
import warnings
from collections.abc import Collection

from agent.verify.rewriting.transform import Site, imported_from, instrument

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

SNIPPET = "<test>"


class CompiledSnippet:
    __slots__ = ("attributes", "code", "imports_program", "sites")

    def __init__(
        self, code: types.CodeType, sites: list[Site], attributes: frozenset[str],
        imports_program: bool,
    ) -> None:
        self.code = code
        self.sites = sites
        self.attributes = attributes
        self.imports_program = imports_program


def read(tree: ast.Module, name: str, modules: Collection[str]) -> CompiledSnippet:
    """Compiles a test with recorded comparisons, and changes the tree; raises like `compile`."""
    attributes = frozenset(
        node.value.id for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name)
    )
    imports_program = any(imported_from(tree, modules))
    marked, sites = instrument(tree, modules)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        code = compile(marked, name, "exec", dont_inherit=True)
    return CompiledSnippet(code, sites, attributes, imports_program)


def import_missing_modules(reading: CompiledSnippet, names: dict[str, Any]) -> None:
    """Binds standard library modules that a snippet uses without importing them, where their names
    are free."""
    for name in reading.attributes:
        if name in sys.stdlib_module_names:
            try:
                names[name]
            except KeyError:
                names[name] = importlib.import_module(name)
