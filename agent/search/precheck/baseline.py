"""How the unrepaired program does: the order of the tests and the limits follow from it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from agent.search.values import Screened
from sandbox.types import Json

STEPS_BASELINE = 2_000_000
STEPS_SHORT = 20_000
"""For a test that is known to hang."""
STEPS_LEAST = 2_000
STEPS_MOST = 4_000_000
STEPS_FACTOR = 20
"""A candidate may take this many times the steps of the base's longest test that ended."""
CPU_MOST_S = 0.15
"""The processor seconds that any candidate usually has for one test."""
ASLEEP = 5
"""A test that uses no processor is ended after this many times its processor seconds."""
LOOKED_AT = 10
"""The part of a candidate's steps after which it is looked at."""


@dataclass(frozen=True)
class Baseline:
    """How the unrepaired program did: the order of the tests and the limits follow from it."""

    screened: tuple[Screened, ...]
    """One per test, each with a single entry in `passed`."""
    steps: tuple[int, ...]
    output: str | None
    """What a program without tests printed before its end."""
    cpu_s: tuple[float, ...] = ()
    """Processor seconds of each test."""
    hidden: bool = False
    """A run that came to an end seemed to repeat itself: looking at states shows nothing."""

    @property
    def failing(self) -> list[int]:
        """Failing tests, the quickest first."""
        return self._by_steps([i for i, one in enumerate(self.screened) if not one.passed[0]])

    @property
    def passing(self) -> list[int]:
        """Passing tests, the quickest first."""
        return self._by_steps([i for i, one in enumerate(self.screened) if one.passed[0]])

    def is_screenable(self, place: int) -> bool:
        """Whether a candidate that behaves as the base does can pass this test."""
        return self.screened[place].passed[0] is True and self.cpu_s[place] < CPU_MOST_S

    @property
    def step_limit(self) -> int:
        """Steps that a candidate may take in one test."""
        return min(STEPS_MOST, max(STEPS_LEAST, STEPS_FACTOR * int(self._most(self.steps))))

    @property
    def look_at(self) -> int:
        """The step from which on a candidate is looked at for whether it repeats itself: such as
        the base's longest test never came to. 0 is never."""
        return 0 if self.hidden else self.step_limit // LOOKED_AT

    @property
    def longest_s(self) -> float:
        """Processor seconds of the base's longest test that ended."""
        return self._most(self.cpu_s)

    def _most(self, spent: Sequence[float]) -> float:
        ended = [one.ended != "timeout" for one in self.screened]
        return max((one for one, own in zip(spent, ended, strict=False) if own), default=0)

    def _by_steps(self, indices: list[int]) -> list[int]:
        slow = [self.screened[index].ended == "timeout" for index in indices]
        keys = {index: (late, self.steps[index]) for index, late in zip(indices, slow, strict=True)}
        return sorted(indices, key=lambda index: (keys[index], index))


def limits(steps: int, cpu_s: float, look_at: int = 0) -> Json:
    """What one test of one candidate may use, as `programs.running.Limits` takes it: a timer stands
    behind the steps, and the kernel behind that, for what cannot be interrupted."""
    return [steps, cpu_s, cpu_s * ASLEEP, 2 * cpu_s + 0.2, look_at]
