"""The pre-check of the unrepaired program, which sets the order of the tests and the limits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from agent.search.values import PrecheckResult
from sandbox.types import Json

STEPS_BASELINE = 2_000_000
STEPS_SHORT = 20_000
"""For a test that is known to hang."""
STEPS_LEAST = 2_000
STEPS_MOST = 4_000_000
STEPS_FACTOR = 20
"""The step limit of a candidate as a multiple of the base's longest test that ended."""
CPU_MOST_S = 0.15
"""The highest usual limit of processor seconds for one test."""
WALL_PER_CPU = 5
"""The wall-clock limit as a multiple of the processor seconds, for a test that only waits."""
WATCH_DIVISOR = 10
"""Loops are watched after 1/10 of the step limit."""


@dataclass(frozen=True)
class Baseline:
    """The results of the unrepaired program."""

    results: tuple[PrecheckResult, ...]
    """One per test, each with a single entry in `passed`."""
    steps: tuple[int, ...]
    output: str | None
    """The output of a program without tests."""
    cpu_s: tuple[float, ...] = ()
    """Processor seconds of each test."""
    hidden: bool = False
    """Whether a run that ended seemed to repeat itself, so that watching loops is unreliable."""

    @property
    def failing(self) -> list[int]:
        """Failing tests, the fastest first."""
        return self._by_steps([i for i, one in enumerate(self.results) if not one.passed[0]])

    @property
    def passing(self) -> list[int]:
        """Passing tests, the fastest first."""
        return self._by_steps([i for i, one in enumerate(self.results) if one.passed[0]])

    def is_precheckable(self, place: int) -> bool:
        """Whether a candidate that behaves like the base passes this test within its limits."""
        return self.results[place].passed[0] is True and self.cpu_s[place] < CPU_MOST_S

    @property
    def step_limit(self) -> int:
        """The step limit of a candidate in one test."""
        return min(STEPS_MOST, max(STEPS_LEAST, STEPS_FACTOR * int(self._most(self.steps))))

    @property
    def watch_at(self) -> int:
        """The step from which on loops are watched, beyond the base's longest test; 0 is never."""
        return 0 if self.hidden else self.step_limit // WATCH_DIVISOR

    @property
    def longest_s(self) -> float:
        """Processor seconds of the base's longest test that ended."""
        return self._most(self.cpu_s)

    def _most(self, spent: Sequence[float]) -> float:
        pairs = zip(spent, self.results, strict=False)
        return max((one for one, run in pairs if run.outcome != "timeout"), default=0)

    def _by_steps(self, indices: list[int]) -> list[int]:
        return sorted(indices, key=lambda index: (
            self.results[index].outcome == "timeout", self.steps[index], index,
        ))


def limits(steps: int, cpu_s: float, watch_at: int = 0) -> Json:
    """The fields of `CandidateLimits` for one test of one candidate."""
    return [steps, cpu_s, cpu_s * WALL_PER_CPU, 2 * cpu_s + 0.2, watch_at]
