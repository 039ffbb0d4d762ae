"""A test as it is run: compiled, with its asserts recorded or not, and which names it uses how."""

from __future__ import annotations

import ast
import importlib
import sys
import types
import warnings
from collections.abc import Collection

from agent.judge.texts.transform import (
    Site,
    assert_lines,
    constant_asserts,
    imported_from,
    instrument,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

SNIPPET = "<test>"
"""The file name of a test that is in none."""


class Reading:
    """What is known of a test's text."""

    __slots__ = ("attributes", "code", "imports_program", "lines", "meant", "sites", "used")

    def __init__(
        self, code: types.CodeType, sites: list[Site], lines: frozenset[int],
        used: frozenset[str], attributes: dict[str, list[str]], imports_program: bool,
        meant: frozenset[int] = frozenset(),
    ) -> None:
        self.code = code
        self.sites = sites
        self.lines = lines
        """Of assert statements."""
        self.used = used
        """All names in it."""
        self.attributes = attributes
        """Names to the attributes that are looked up on them."""
        self.imports_program = imports_program
        self.meant = meant
        """Lines of asserts that are meant to fail: they ask nothing."""


def read(
    tree: ast.Module, name: str, modules: Collection[str], recorded: bool = False
) -> Reading:
    """Reads a test; the tree is changed on the way. Raises what `compile` raises.

    With `recorded` its comparisons are heard, as where a failure is to be shown.
    """
    used: set[str] = set()
    attributes: dict[str, set[str]] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            used.add(node.id)
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            attributes.setdefault(node.value.id, set()).add(node.attr)
    lines, meant = assert_lines(tree), constant_asserts(tree)
    imports_program = any(imported_from(tree, modules))
    marked, sites = instrument(tree, modules) if recorded else (tree, [])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        code = compile(marked, name, "exec", dont_inherit=True)
    return Reading(
        code, sites, lines, frozenset(used),
        {owner: sorted(names) for owner, names in attributes.items()}, imports_program, meant,
    )


def import_loose(reading: Reading, names: dict[str, Any]) -> None:
    """Binds modules of the standard library that a one-line test names without importing them,
    where nothing else has that name."""
    for name in reading.attributes:
        if name in sys.stdlib_module_names:
            try:
                names[name]
            except KeyError:
                names[name] = importlib.import_module(name)
