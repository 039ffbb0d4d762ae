"""The busy processes of the measurement are ours, and end with it."""

import subprocess

import pytest

from evaluation.measures import load


def test_busy_processes_end_with_the_measurement(monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[subprocess.Popen[bytes]] = []

    class Noted(subprocess.Popen[bytes]):
        def __init__(self, *args: object, **given: object) -> None:
            super().__init__(*args, **given)  # type: ignore[call-overload]  # as it was called
            started.append(self)

    monkeypatch.setattr(load.subprocess, "Popen", Noted)
    with load.busy(2):
        assert [one.poll() for one in started] == [None, None]
    assert [one.returncode for one in started] == [-9, -9]
