"""A test as it is run: compiled, with its asserts recorded or not, and which names it uses how.

The host reads each test once and sends the reading along, since a fresh process for each
program would spend more time on reading a test than on running it.
"""

from __future__ import annotations

import ast
import marshal
import types
import warnings
from collections.abc import Collection
from functools import lru_cache
from importlib.util import MAGIC_NUMBER

from agent.checks.transform import (
    Site,
    assert_lines,
    imported_from,
    instrument,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

SNIPPET = "<test>"
"""The file name of a test that is in none."""

PYTHON = MAGIC_NUMBER.hex()
"""Compiled code means the same only to an interpreter with the same number."""


class Reading:
    """What is known of a test's text."""

    __slots__ = ("attributes", "code", "imports_program", "lines", "sites", "used")

    def __init__(
        self, code: types.CodeType, sites: list[Site], lines: frozenset[int],
        used: frozenset[str], attributes: dict[str, list[str]], imports_program: bool,
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

    def told(self) -> dict[str, Any]:
        """This reading as JSON."""
        return {
            "python": PYTHON,
            "code": marshal.dumps(self.code).decode("latin-1"),
            "sites": [[getattr(site, name) for name in _SITE] for site in self.sites],
            "lines": sorted(self.lines),
            "used": sorted(self.used),
            "attributes": self.attributes,
            "imports_program": self.imports_program,
        }


_SITE = ("operator", "got", "expected", "swapped", "line", "message")


def heard(told: dict[str, Any]) -> Reading | None:
    """The reading that was told; `None` where it was made for another version of Python."""
    if told["python"] != PYTHON:
        return None
    return Reading(
        marshal.loads(told["code"].encode("latin-1")),
        [Site(*site) for site in told["sites"]],
        frozenset(told["lines"]), frozenset(told["used"]), told["attributes"],
        told["imports_program"],
    )


@lru_cache(maxsize=4096)
def told_snippet(
    code: str, modules: frozenset[str], recorded: bool = False
) -> dict[str, Any] | None:
    """The reading of a snippet as JSON; `None` where the tests' process is to say what is wrong."""
    try:
        return read(ast.parse(code), SNIPPET, modules, free=True, recorded=recorded).told()
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def read(
    tree: ast.Module, name: str, modules: Collection[str], free: bool, recorded: bool = False
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
    lines = assert_lines(tree)
    imports_program = any(imported_from(tree, modules))
    marked, sites = instrument(tree, modules, free) if recorded else (tree, [])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        code = compile(marked, name, "exec", dont_inherit=True)
    return Reading(
        code, sites, lines, frozenset(used),
        {owner: sorted(names) for owner, names in attributes.items()}, imports_program,
    )
