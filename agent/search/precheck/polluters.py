"""Finds the polluting tests: those after which another test fails."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence


async def polluters(
    earlier: Sequence[int], fails: Callable[[Sequence[int]], Awaitable[bool]]
) -> list[int]:
    """Reduces the tests before a failing test by bisection, as far as it still fails.

    Args:
        earlier: The numbers of the tests before it, after all of which it fails.
        fails: Whether the test fails after some of them; asked about later ones first.
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
