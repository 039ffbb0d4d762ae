"""How the unrepaired program does: the order of the tests and the limits follow from it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from agent.repair.facts import Screened
from sandbox.types import Json

STEPS_BASELINE = 2_000_000
STEPS_SHORT = 20_000
"""For a test that is known to hang."""
STEPS_LEAST = 2_000
STEPS_MOST = 4_000_000
STEPS_FACTOR = 20
"""A candidate may take this many times the steps of the base's longest test that ended."""


@dataclass(frozen=True)
class Baseline:
    """How the unrepaired program did: the order of the tests and the limits follow from it."""

    screened: tuple[Screened, ...]
    """One per test, each with a single entry in `passed`."""
    steps: tuple[int, ...]
    output: str | None
    """What a program without tests printed before its end."""

    @property
    def failing(self) -> list[int]:
        """Failing tests, the quickest first."""
        return self._by_steps([i for i, one in enumerate(self.screened) if not one.passed[0]])

    @property
    def passing(self) -> list[int]:
        """Passing tests, the quickest first."""
        return self._by_steps([i for i, one in enumerate(self.screened) if one.passed[0]])

    @property
    def step_limit(self) -> int:
        """Steps that a candidate may take in one test."""
        ended = [one.ended != "timeout" for one in self.screened]
        most = max((steps for steps, own in zip(self.steps, ended, strict=True) if own), default=0)
        return min(STEPS_MOST, max(STEPS_LEAST, STEPS_FACTOR * most))

    def _by_steps(self, indices: list[int]) -> list[int]:
        slow = [self.screened[index].ended == "timeout" for index in indices]
        keys = {index: (late, self.steps[index]) for index, late in zip(indices, slow, strict=True)}
        return sorted(indices, key=lambda index: (keys[index], index))


def baseline_item(
    text: str, steps: int, cpu_s: float, wall_s: float, tests: Sequence[int],
    hanging: Sequence[int],
) -> Json:
    """Asks a process to run the program's own text under some of its tests."""
    return {
        "kind": "baseline", "text": text, "steps": steps, "cpu_s": cpu_s, "wall_s": wall_s,
        "tests": list(tests), "hanging": list(hanging), "short_steps": STEPS_SHORT,
    }
