"""Which earlier tests another one fails beside, and passes without."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence


async def polluters(
    earlier: Sequence[int], fails: Callable[[Sequence[int]], Awaitable[bool]]
) -> list[int]:
    """As few of the earlier tests as halving finds, run before a test that `fails` beside all of
    them; the last ones first, since what they left is the newest."""
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
