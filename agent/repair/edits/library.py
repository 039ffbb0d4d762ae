"""What the standard library has, and which of its names are taken for one another."""

from __future__ import annotations

import tomllib
from importlib.resources import files

_TABLES = tomllib.loads(
    files("agent.repair.edits").joinpath("library.toml").read_text(encoding="utf-8")
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
FIELDS = _leads(_TABLES["fields"])
"""Functions, methods and attributes that are written for one another."""
MEMBERS: dict[str, tuple[str, ...]] = {
    module: tuple(names.split()) for module, names in _TABLES["members"].items()
}
"""What programs import from the modules of the standard library."""
STANDARD: dict[str, str] = {
    name: module for module, names in reversed(MEMBERS.items()) for name in reversed(names)
}
"""Which module a name is usually imported from: the first in the table that has it."""
