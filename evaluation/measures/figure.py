"""A measurement in words, beside its floor."""

from __future__ import annotations

import statistics
from collections.abc import Sequence


def figure(
    what: str, times: Sequence[float], floor: str, floors: Sequence[float], unit: str = "s"
) -> str:
    """The median and the range of times in seconds, and how many floors that is."""
    scale = {"s": 1.0, "ms": 1e3}[unit]
    median, bottom = statistics.median(times), statistics.median(floors)
    return (
        f"{what}: median {median * scale:.2f} {unit} "
        f"({min(times) * scale:.2f} to {max(times) * scale:.2f}), {median / bottom:.1f} x {floor} "
        f"({bottom * scale:.2f} {unit})"
    )
