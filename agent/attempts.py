"""What a way to repair starts from, and what it brings."""

from __future__ import annotations

from dataclasses import dataclass

from agent.domain import Alternatives, Diagnosis, Report, Solution, TestCase

FOR_THE_VERDICT, MOST_RESERVED_S = 0.25, 5.0
"""The part of a run's remaining seconds that a search leaves for judging and proving its find."""


def reserved_s(seconds_left: float) -> float:
    """Seconds at the end of a run in which nothing more is searched."""
    return min(MOST_RESERVED_S, FOR_THE_VERDICT * seconds_left)


@dataclass(frozen=True)
class Attempt:
    """What a strategy starts from. The tests are those that a repair may see and must pass."""

    solution: Solution
    tests: tuple[TestCase, ...]
    report: Report
    diagnosis: Diagnosis
    iteration: int


@dataclass(frozen=True)
class Proposal:
    """What a strategy found: a program the judge passed under the visible tests, or none."""

    solution: Solution | None
    note: str
    candidates: int = 0
    alternatives: Alternatives | None = None
    """Repairs that pass the visible tests too and behave otherwise."""
