"""What a program printed about its own attack, read with care: it may print anything."""

from __future__ import annotations

import json
from dataclasses import dataclass


@dataclass(frozen=True)
class Report:
    """What an attack said of itself, and how its process ended."""

    starts: int
    """How many attempts said that they begin."""
    answer: str
    """The last answer given; else what ended the process; else empty."""
    killed: bool = False

    @property
    def started(self) -> bool:
        """Whether the attack was tried at all."""
        return self.starts > 0


def read(printed: bytes, killed_by: str) -> Report:
    """The report in what was printed; whoever ended the process has the last word."""
    starts, answer = 0, ""
    for line in printed.split(b"\n"):
        if not line.startswith(b"{") or len(line) > 1000:
            continue
        try:
            told = json.loads(line)
        except ValueError:
            continue
        if told.get("started") is True:
            starts += 1
            answer = ""
        elif isinstance(told.get("answer"), str):
            answer = told["answer"]
    return Report(starts, killed_by or answer, bool(killed_by))
