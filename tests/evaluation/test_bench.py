"""The bench heals a few of each suite, and says what it measured."""

from __future__ import annotations

import subprocess

import pytest

from evaluation import bench
from evaluation.measures import suites


def test_healing_tells_of_each_suite(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(suites, "HEALING_ROWS", 1)

    assert bench.main(["healing"]) == 0

    said = capsys.readouterr().out.splitlines()
    assert [line.split(" programs")[0].split() for line in said] == [
        ["healing", f"{name}:", "of", "1", "of", count]
        for name, count in (("seen", "53"), ("unseen", "50"), ("blind", "81"))
    ]


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
