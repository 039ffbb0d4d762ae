"""Test files that use the program's names without importing them, as beside pasted code.

Such a file is given one import, on a line of its own that is free or before a simple statement, so
that every line keeps its number.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from pathlib import PurePosixPath

from agent.intake.found.pytest_files import is_test_name
from agent.intake.parsing import (
    BUILTIN_NAMES,
    imports,
    is_docstring,
    is_future_import,
    lines_of,
    names_in,
    parsed,
    visible_names,
)

_LOADING = ("importlib", "__import__", "runpy", "exec(", "subprocess", "sys.modules")
"""Words of files that may load the program in a way of their own."""


def borrowed(text: str, program: str, entry: str) -> tuple[str, str]:
    """The file with the program's names, and the import that was added; both as they came where
    the file imports the program, or uses nothing of it."""
    body = parsed(text).body
    needed = _unbound(body) & visible_names(program)
    if not needed or _imports(body, text, PurePosixPath(entry).stem):
        return text, ""
    line = import_line(entry, _wanted(needed, program))
    return with_line(text, line), line


def import_line(entry: str, names: str) -> str:
    """The import of these names of the program."""
    stem = PurePosixPath(entry).stem
    return f"from {stem if stem.isidentifier() else 'solution'} import {names}"


def _unbound(body: Sequence[ast.stmt]) -> frozenset[str]:
    """Names that a file reads and that neither it nor Python binds."""
    names = names_in(*body)
    return frozenset() if "*" in names.binds else names.reads - names.binds - BUILTIN_NAMES


def _imports(body: Sequence[ast.stmt], text: str, stem: str) -> bool:
    """Whether a file imports the program, or may load it otherwise."""
    return (stem in text and any(word in text for word in _LOADING)) or any(
        {stem, "solution"} & {*one.module.split("."), *one.name.split(".")}
        for one in imports(*body)
    )


def _wanted(needed: frozenset[str], program: str) -> str:
    """All public names, also those that a repair may add; by name where that would not do: names
    that shadow a builtin stay away, and so do tests, which pytest would run in the file."""
    names = visible_names(program)
    public = {name for name in names if not name.startswith("_")}
    unfit = {
        name for name in public
        if name in BUILTIN_NAMES or is_test_name(name) or name.startswith("pytest")
    }
    if "__all__" in names or unfit or not needed <= public:
        return ", ".join(sorted(needed))
    return "*"


def with_line(text: str, line: str) -> str:
    """The text with this line at the first place behind its head that moves no other."""
    body = parsed(text).body
    lines = text.split("\n")
    head = [
        node for place, node in enumerate(body)
        if is_future_import(node) or (place == 0 and is_docstring(node))
    ]
    behind = max((lines_of(node).stop - 1 for node in head), default=0)
    for node in body[len(head):]:
        first = lines_of(node).start
        free = next((n for n in range(behind, first - 1) if not lines[n].strip()), None)
        if free is not None:
            return "\n".join([*lines[:free], line, *lines[free + 1 :]])
        if first > behind and not hasattr(node, "body"):
            return "\n".join([*lines[: first - 1], f"{line}; {lines[first - 1]}", *lines[first:]])
        behind = lines_of(node).stop - 1
    return "\n".join([*lines, line, ""] if lines[-1] else [*lines[:-1], line, ""])
