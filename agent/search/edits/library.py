"""The tables of `library.toml`: what people write for one another, and what Python has."""

from __future__ import annotations

import tomllib
from importlib.resources import files

_TABLES = tomllib.loads(
    files(__package__).joinpath("library.toml").read_text(encoding="utf-8")
)


def _leads(groups: list[str]) -> dict[str, tuple[str, ...]]:
    """Each word of a group leads to the others."""
    table: dict[str, dict[str, None]] = {}
    for group in groups:
        words = group.split()
        for word in words:
            table.setdefault(word, {}).update(dict.fromkeys(words))
    return {word: tuple(one for one in others if one != word) for word, others in table.items()}


FUNCTIONS = _leads(_TABLES["functions"])
METHODS = _leads(_TABLES["methods"])
"""Functions and methods that are written for one another."""
MEMBERS: dict[str, tuple[str, ...]] = {
    module: tuple(names.split()) for module, names in _TABLES["members"].items()
}
"""What programs import from the modules of the standard library."""
STANDARD: dict[str, str] = {
    name: module for module, names in reversed(MEMBERS.items()) for name in reversed(names)
}
"""Which module a name is usually imported from: the first in the table that has it."""
ASKS_NOTHING, AWAITED = (
    frozenset(_TABLES[name].split()) for name in ("asks_nothing", "awaited")
)
"""Methods that are mostly called without arguments, and what asyncio has waited for."""
WRAPPERS: dict[str, list[str]] = _TABLES["wrappers"]
"""What is often forgotten around a value of a type."""
NEARBY: dict[str, list[str]] = _TABLES["comparisons"]
ARITHMETIC: dict[str, list[str]] = _TABLES["arithmetic"]
TEXTS: dict[str, list[str]] = _TABLES["texts"]
"""Operators, and short texts, that people write for one another, the likeliest first."""
FOREIGN_NAMES: dict[str, str] = _TABLES["foreign_names"]
FOREIGN_METHODS: dict[str, str] = _TABLES["foreign_methods"]
"""What other languages, and Python 2, call it."""
HANDLED: dict[str, list[str]] = _TABLES["handled"]
"""Exceptions that programs expect, and those they are mistaken for."""
