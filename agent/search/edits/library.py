"""The tables of `library.toml`: names that are confused, and names of the standard library."""

from __future__ import annotations

import tomllib
from importlib.resources import files

_TABLES = tomllib.loads(files(__package__).joinpath("library.toml").read_text(encoding="utf-8"))


def _alternatives(groups: list[str]) -> dict[str, tuple[str, ...]]:
    """Maps each word to the other words of its groups."""
    table: dict[str, dict[str, None]] = {}
    for group in groups:
        words = group.split()
        for word in words:
            table.setdefault(word, {}).update(dict.fromkeys(words))
    return {word: tuple(one for one in others if one != word) for word, others in table.items()}


FUNCTIONS, METHODS = _alternatives(_TABLES["functions"]), _alternatives(_TABLES["methods"])
"""Functions and methods that are often confused."""
MEMBERS: dict[str, tuple[str, ...]] = {
    module: tuple(names.split()) for module, names in _TABLES["members"].items()
}
"""Names that are commonly imported from each module of the standard library."""
MODULE_OF_NAME: dict[str, str] = {
    name: module for module, names in reversed(MEMBERS.items()) for name in reversed(names)
}
"""The module a name is usually imported from: the first in the table that has it."""
NO_ARGUMENTS, AWAITED = (frozenset(_TABLES[name].split()) for name in ("no_arguments", "awaited"))
"""Methods that are mostly called without arguments, and coroutines of asyncio."""
WRAPPERS: dict[str, list[str]] = {
    kind: forms for kinds, forms in _TABLES["wrappers"].items() for kind in kinds.split()
}
"""Functions and methods that are often forgotten around a value of a type."""
ALTERNATIVE_COMPARISONS: dict[str, list[str]] = _TABLES["comparisons"]
ARITHMETIC: dict[str, list[str]] = _TABLES["arithmetic"]
TEXTS: dict[str, list[str]] = _TABLES["texts"]
"""Operators and short texts that are often confused, the likeliest first."""
FOREIGN_NAMES: dict[str, str] = _TABLES["foreign_names"]
FOREIGN_METHODS: dict[str, str] = _TABLES["foreign_methods"]
"""Names of other languages and Python 2, and what Python calls them."""
CONFUSED_EXCEPTIONS: dict[str, list[str]] = _TABLES["handled"]
"""Exceptions that programs commonly catch, and those they are confused with."""
