"""The bench heals a few of each suite, and says what it measured."""

from __future__ import annotations

import pytest

from evaluation import bench
from evaluation.measures import healing


def test_healing_tells_of_both_suites(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(healing, "HEALING_ROWS", 1)

    assert bench.main(["healing"]) == 0

    seen, unseen = capsys.readouterr().out.splitlines()
    assert seen.startswith("healing    seen: of 1 of ")
    assert unseen.startswith("healing    unseen: of 1 of ")
