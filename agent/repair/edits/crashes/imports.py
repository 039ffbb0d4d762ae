"""Edits where a module, or a name in one, does not exist."""

from __future__ import annotations

import ast
import difflib
import re
import sys
from collections.abc import Iterator

from agent.repair.facts import Crash
from agent.repair.program import Program, Splice


def missing_module(program: Program, crash: Crash) -> Iterator[Splice]:
    """A module with a misspelt name."""
    match = re.search(r"No module named '([\w.]+)'", crash.message)
    named = re.search(r"cannot import name '(\w+)' from '([\w.]+)'", crash.message)
    standard = sorted(sys.stdlib_module_names)
    for node in ast.walk(program.tree):
        if not isinstance(node, ast.Import | ast.ImportFrom):
            continue
        if match is not None and match.group(1) in program.code(node):
            name = match.group(1)
            for place, other in enumerate(difflib.get_close_matches(name, standard, 4, 0.6)):
                text = program.code(node).replace(name, other, 1)
                yield program.replace_statement(node, text, 0.2 + 0.2 * place)
        if named is not None and isinstance(node, ast.ImportFrom) and node.module == named.group(2):
            for place, other in enumerate(
                difflib.get_close_matches(named.group(1), crash.members, 4, 0.5)
            ):
                text = re.sub(rf"\b{named.group(1)}\b", other, program.code(node))
                yield program.replace_statement(node, text, 0.2 + 0.2 * place)
