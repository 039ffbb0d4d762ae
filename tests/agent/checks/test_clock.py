"""What ends a run that takes too long: the processor's time, and the clock's where it sleeps."""

import signal
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

import agent.checks.programs.running

SIGNALS = (signal.SIGPROF, signal.SIGALRM, signal.SIGVTALRM)


@pytest.fixture
def running(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """The module, whose clocks show what is set, in a process whose signals are put back."""
    room = agent.checks.programs.running
    shown = SimpleNamespace(wall_s=0.0, cpu_s=0.0)
    monkeypatch.setattr(room, "time", SimpleNamespace(
        monotonic=lambda: shown.wall_s, process_time=lambda: shown.cpu_s
    ))
    before = [signal.getsignal(one) for one in SIGNALS]
    yield SimpleNamespace(room=room, shown=shown)
    for one, handler in zip(SIGNALS, before, strict=True):
        signal.signal(one, handler)


def clock_of(running: Any) -> Any:
    clock = running.room.Clock()
    clock.start(running.room.Limits(1, cpu_s=1000.0, wall_s=1000.0))
    return clock


def test_a_run_that_a_busy_machine_starves_is_waited_for(running: Any) -> None:
    clock = clock_of(running)
    try:
        running.shown.wall_s, running.shown.cpu_s = 60.0, 2.0
        clock._ring(signal.SIGALRM, None)
        assert not clock.rang
    finally:
        clock.stop()


@pytest.mark.parametrize(
    ("number", "cpu_s"), [(signal.SIGALRM, 0.1), (signal.SIGPROF, 0.1), (signal.SIGPROF, 2.0)]
)
def test_a_run_that_sleeps_or_has_had_its_processor_time_is_ended(
    running: Any, number: int, cpu_s: float
) -> None:
    clock = clock_of(running)
    try:
        running.shown.wall_s, running.shown.cpu_s = 60.0, cpu_s
        with pytest.raises(running.room.OutOfTime):
            clock._ring(number, None)
        assert clock.rang
    finally:
        clock.stop()
