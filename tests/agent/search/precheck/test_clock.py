"""A run is ended by its processor time, or by the wall clock if it sleeps."""

import signal
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from agent.search.precheck.programs import clock as harness

SIGNALS = (signal.SIGPROF, signal.SIGALRM, signal.SIGVTALRM)


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """What the clocks of the module show, in a process whose signals are put back."""
    shown = SimpleNamespace(wall_s=0.0, cpu_s=0.0)
    monkeypatch.setattr(harness, "time", SimpleNamespace(
        monotonic=lambda: shown.wall_s, process_time=lambda: shown.cpu_s
    ))
    before = [signal.getsignal(one) for one in SIGNALS]
    yield shown
    for one, handler in zip(SIGNALS, before, strict=True):
        signal.signal(one, handler)


def started() -> Any:
    clock = harness.Clock()
    clock.start(harness.CandidateLimits(1, cpu_s=1000.0, wall_s=1000.0))
    return clock


def test_a_computing_run_is_not_ended_by_the_wall_clock(shown: Any) -> None:
    clock = started()
    try:
        shown.wall_s, shown.cpu_s = 60.0, 2.0
        clock._ring(signal.SIGALRM, None)
        assert not clock.rang
    finally:
        clock.stop()


@pytest.mark.parametrize(
    ("number", "cpu_s"), [(signal.SIGALRM, 0.1), (signal.SIGPROF, 0.1), (signal.SIGPROF, 2.0)]
)
def test_a_sleeping_or_slow_run_is_ended(shown: Any, number: int, cpu_s: float) -> None:
    clock = started()
    try:
        shown.wall_s, shown.cpu_s = 60.0, cpu_s
        with pytest.raises(harness.OutOfTime):
            clock._ring(number, None)
        assert clock.rang
    finally:
        clock.stop()
