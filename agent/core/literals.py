"""Plain values as Python writes them: the same words in every process, whatever its hashes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def literal_source(value: Any, atom: Callable[[Any], str] = repr) -> str:
    """A value of built-in types as a literal whose sets are sorted; `atom` writes what holds no
    other values."""
    kind = type(value)
    if kind in (list, tuple, set, frozenset):
        words = [literal_source(one, atom) for one in value]
        if kind is list:
            return f"[{', '.join(words)}]"
        if kind is tuple:
            return f"({words[0]},)" if len(words) == 1 else f"({', '.join(words)})"
        text = f"{{{', '.join(sorted(words))}}}" if words else "set()"
        return text if kind is set else f"frozenset({text if words else ''})"
    if kind is dict:
        pairs = (
            f"{literal_source(key, atom)}: {literal_source(one, atom)}"
            for key, one in value.items()
        )
        return f"{{{', '.join(pairs)}}}"
    return atom(value)
