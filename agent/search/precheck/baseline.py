"""The pre-check of the unrepaired program, which sets the order of the tests and the limits.

A *step* is one iteration of a loop, as `StepBudget` counts them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from agent.search.values import PrecheckResult
from sandbox.types import Json

STEPS_BASELINE = 2_000_000
STEPS_SHORT = 20_000
"""For a test that is known to hang."""
STEPS_LEAST, STEPS_MOST = 2_000, 4_000_000
STEPS_FACTOR = 20
"""A candidate's step limit: this times the steps of the longest test before repair."""
CPU_MOST_S = 0.15
"""The usual maximum of processor seconds for one test."""
WALL_PER_CPU = 5
"""The wall-clock limit as a multiple of the processor seconds, for a test that only waits."""
WATCH_DIVISOR = 10
"""Endless loops are looked for after 1/10 of the step limit."""


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
    has_hidden_state: bool = False
    """Whether a run that ended looked endless, so that loop detection is switched off."""

    @property
    def failing(self) -> list[int]:
        """Failing tests, the fastest first."""
        return self._by_steps([i for i, one in enumerate(self.results) if not one.passed[0]])

    @property
    def passing(self) -> list[int]:
        """Passing tests, the fastest first."""
        return self._by_steps([i for i, one in enumerate(self.results) if one.passed[0]])

    def is_precheckable(self, place: int) -> bool:
        """Whether a candidate that behaves like the unrepaired program passes within its limits."""
        return self.results[place].passed[0] is True and self.cpu_s[place] < CPU_MOST_S

    @property
    def step_limit(self) -> int:
        """The step limit of a candidate in one test."""
        return min(STEPS_MOST, max(STEPS_LEAST, STEPS_FACTOR * int(self._most(self.steps))))

    @property
    def watch_at(self) -> int:
        """The step from which on endless loops are looked for; 0 is never."""
        return 0 if self.has_hidden_state else self.step_limit // WATCH_DIVISOR

    @property
    def longest_s(self) -> float:
        """Processor seconds of the longest test of the unrepaired program that ended."""
        return self._most(self.cpu_s)

    def _most(self, spent: Sequence[float]) -> float:
        pairs = zip(spent, self.results, strict=False)
        return max((one for one, run in pairs if run.outcome != "timeout"), default=0)

    def _by_steps(self, tests: list[int]) -> list[int]:
        return sorted(tests, key=lambda i: (self.results[i].outcome == "timeout", self.steps[i], i))


def limits(steps: int, cpu_s: float, watch_at: int = 0) -> Json:
    """The fields of `CandidateLimits` for one test of one candidate."""
    return [steps, cpu_s, cpu_s * WALL_PER_CPU, 2 * cpu_s + 0.2, watch_at]
