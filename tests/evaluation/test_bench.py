"""The bench heals a few rows of a suite, and says what it measured."""

from __future__ import annotations

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
    assert "unknown: speed; choose from cli, " in capsys.readouterr().err
