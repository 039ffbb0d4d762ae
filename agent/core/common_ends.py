"""How far two texts, or two lists of lines, are the same from their beginning and from their end.

Thousands of candidates differ from a long program in one place each; halves are compared as
slices, at the speed of C.
"""

from __future__ import annotations

from collections.abc import Sequence


def common_ends(first: Sequence[object], second: Sequence[object]) -> tuple[int, int]:
    """How many leading parts both share, and how many trailing ones of what is left of them.

    Both are of one type: slices of a list and of a tuple are never equal.
    """
    start = common_start(first, second)
    return start, common_start(first[start:][::-1], second[start:][::-1])


def common_start(first: Sequence[object], second: Sequence[object]) -> int:
    """How many leading parts two sequences of one type share: characters, bytes, lines."""
    low, high = 0, min(len(first), len(second))
    while low < high:
        middle = (low + high + 1) // 2
        if first[low:middle] == second[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low
