"""What one run may use, and the clock that interrupts what uses more."""

from __future__ import annotations

import signal
import time
from dataclasses import dataclass
from types import FrameType

LEAST_SHARE = 0.02
"""The part of the time that a run which works gets of a processor, on a busy machine."""


class OutOfTime(BaseException):
    """Raised by the timer inside whatever runs too long."""


@dataclass(frozen=True)
class CandidateLimits:
    """What one test of one candidate may use."""

    steps: int
    cpu_s: float
    wall_s: float
    end_s: float = 0.0
    """Processor seconds after which the kernel ends the process; 0 is never."""
    look_at: int = 0
    """The step from which on it is looked at whether the run repeats itself; 0 is never."""


class Clock:
    """Interrupts what runs too long, again and again until it is let go.

    What counts is processor time: on a busy machine a run gets little of it, and is waited for.
    Only what asks for nearly none, since it sleeps or waits, is ended by the wall clock. What
    Python cannot interrupt, a long call into C, is ended by the kernel, and the process with it.
    """

    def __init__(self) -> None:
        self._armed = False
        self.rang = False
        self._began = self._begun = 0.0
        signal.signal(signal.SIGPROF, self._ring)
        signal.signal(signal.SIGALRM, self._ring)
        signal.signal(signal.SIGVTALRM, signal.SIG_DFL)

    def _ring(self, number: int, frame: FrameType | None) -> None:
        # Our own frames are on their way out; the next ring meets the candidate if it still runs.
        ours = frame is not None and frame.f_code.co_filename == self._ring.__code__.co_filename
        if self._armed and not ours and not (number == signal.SIGALRM and self._is_at_work()):
            self.rang = True
            raise OutOfTime

    def _is_at_work(self) -> bool:
        """Whether it used what a busy machine leaves to a process."""
        wall_s = time.monotonic() - self._begun
        return time.process_time() - self._began > LEAST_SHARE * wall_s

    def start(self, limits: CandidateLimits) -> None:
        self._armed, self.rang = True, False
        self._began, self._begun = time.process_time(), time.monotonic()
        signal.setitimer(signal.ITIMER_PROF, limits.cpu_s, limits.cpu_s / 4)
        signal.setitimer(signal.ITIMER_VIRTUAL, limits.end_s)
        signal.setitimer(signal.ITIMER_REAL, limits.wall_s, limits.wall_s / 4)

    def stop(self) -> None:
        self._armed = False
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.setitimer(signal.ITIMER_REAL, 0)
