"""The bench names what it measures."""

from __future__ import annotations

import pytest

from evaluation import bench


def test_a_measure_that_is_none_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert bench.main(["speed"]) == 2
    assert "unknown: speed; choose from cli, " in capsys.readouterr().err
