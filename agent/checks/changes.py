"""One text told by where it differs from another.

Thousands of candidates differ from a long program in one place each: what they have in common
crosses no wall again.
"""

from __future__ import annotations

from typing import AnyStr

Change = tuple[int, int, str]
"""Characters of the base from the first to the second place are the text's own instead."""


def common_ends(first: AnyStr, second: AnyStr) -> tuple[int, int]:
    """How long the beginning is that two texts share, and the end of what is left of them."""
    start = _common_prefix(first, second)
    return start, _common_prefix(first[start:][::-1], second[start:][::-1])


def change(base: str, text: str) -> Change:
    """What makes the text of the base."""
    start, tail = common_ends(base, text)
    return start, len(base) - tail, text[start : len(text) - tail]


def changed(base: str, made: Change) -> str:
    """The text that `change` has told."""
    start, end, own = made
    return base[:start] + own + base[end:]


def _common_prefix(first: AnyStr, second: AnyStr) -> int:
    """How many leading bytes or characters are equal, by halving: slices compare at the speed
    of C."""
    low, high = 0, min(len(first), len(second))
    while low < high:
        middle = (low + high + 1) // 2
        if first[low:middle] == second[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low
