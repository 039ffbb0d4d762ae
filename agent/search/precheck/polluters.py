"""Finds the polluting tests: those after which another test fails."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence


async def polluters(
    earlier: Sequence[int], fails: Callable[[Sequence[int]], Awaitable[bool]]
) -> list[int]:
    """Reduces `earlier`, the tests before a failing one, by bisection while it still fails.

    The later half is tried first.
    """
    kept = [*earlier]
    while len(kept) > 1:
        half = len(kept) // 2
        if await fails(kept[half:]):
            kept = kept[half:]
        elif await fails(kept[:half]):
            kept = kept[:half]
        else:
            break
    return kept
