"""The limits of one run, and the timers that enforce them."""

from __future__ import annotations

import signal
import time
from dataclasses import dataclass
from types import FrameType

LEAST_SHARE = 0.02
"""The smallest share of a processor that a busy machine leaves to a computing run."""


class OutOfTime(BaseException):
    """Raised by the timer inside the run that exceeds its limit."""


@dataclass(frozen=True)
class CandidateLimits:
    """The limits of one test of one candidate."""

    steps: int
    cpu_s: float
    wall_s: float
    end_s: float = 0.0
    """Processor seconds after which the kernel ends the process; 0 is never."""
    watch_at: int = 0
    """The step from which on endless loops are looked for; 0 is never."""


class Clock:
    """Interrupts a run that exceeds its limits, repeatedly until it is stopped.

    The processor time is limited, so that a busy machine changes nothing. Only a run that uses
    nearly none, since it sleeps or waits, is ended by the wall clock. A long call into C, which
    Python cannot interrupt, is ended by the kernel together with its process.
    """

    def __init__(self) -> None:
        self._armed = False
        self.expired = False
        self._cpu_start_s = self._wall_start_s = 0.0
        signal.signal(signal.SIGPROF, self._ring)
        signal.signal(signal.SIGALRM, self._ring)
        signal.signal(signal.SIGVTALRM, signal.SIG_DFL)

    def _ring(self, number: int, frame: FrameType | None) -> None:
        # In our own frames the run is ending; if it is not, the next signal interrupts it.
        ours = frame is not None and frame.f_code.co_filename == self._ring.__code__.co_filename
        if self._armed and not ours and not (number == signal.SIGALRM and self._is_computing()):
            self.expired = True
            raise OutOfTime

    def _is_computing(self) -> bool:
        wall_s = time.monotonic() - self._wall_start_s
        return time.process_time() - self._cpu_start_s > LEAST_SHARE * wall_s

    def start(self, limits: CandidateLimits) -> None:
        self._armed, self.expired = True, False
        self._cpu_start_s, self._wall_start_s = time.process_time(), time.monotonic()
        signal.setitimer(signal.ITIMER_PROF, limits.cpu_s, limits.cpu_s / 4)
        signal.setitimer(signal.ITIMER_VIRTUAL, limits.end_s)
        signal.setitimer(signal.ITIMER_REAL, limits.wall_s, limits.wall_s / 4)

    def stop(self) -> None:
        self._armed = False
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.setitimer(signal.ITIMER_REAL, 0)
