"""The bench heals a few rows of a suite, and says what it measured."""

from __future__ import annotations

import subprocess

import pytest

from evaluation import bench
from evaluation.measures import suites


def test_healing_tells_of_a_suite(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(suites, "SUITES", ("seen",))
    monkeypatch.setattr(suites, "HEALING_ROWS", 1)

    assert bench.main(["healing"]) == 0
    assert capsys.readouterr().out.startswith("healing    seen: of 1 of 53 programs 1 pass")


def test_a_measure_that_is_none_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert bench.main(["speed"]) == 2
    assert "unknown: speed; choose from sandbox, " in capsys.readouterr().err


def test_busy_processes_end_with_the_measurement(monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[subprocess.Popen[bytes]] = []

    class Noted(subprocess.Popen[bytes]):
        def __init__(self, *args: object, **given: object) -> None:
            super().__init__(*args, **given)  # type: ignore[call-overload]  # as it was called
            started.append(self)

    monkeypatch.setattr(suites.subprocess, "Popen", Noted)
    with suites.busy(2):
        assert [one.poll() for one in started] == [None, None]
    assert [one.returncode for one in started] == [-9, -9]
