"""Edits of a text, as splices of its UTF-8 bytes, the unit of Python's own offsets."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Splice:
    """Replaces bytes `start` to `end` by `text`; `line` is where the suspicion is looked up."""

    start: int
    end: int
    text: str
    cost: float
    line: int


def spliced(data: bytes, splices: Iterable[Splice]) -> str:
    """The text after non-overlapping splices."""
    for splice in sorted(splices, key=lambda one: (one.start, one.end), reverse=True):
        text = splice.text.encode("utf-8", "surrogatepass")
        data = data[: splice.start] + text + data[splice.end :]
    return data.decode("utf-8", "surrogatepass")
