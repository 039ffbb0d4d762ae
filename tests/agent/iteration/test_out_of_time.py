"""What a run that is out of time says."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from agent.iteration.iterations import stop_for_time


@pytest.mark.parametrize(("search_s", "left_s", "word"), [
    (10.0, 60.0, "busy machine"), (120.0, 25.0, "share"), (120.0, 0.0, "over"),
])
def test_the_reason_is_the_limit_that_was_reached(
    search_s: float, left_s: float, word: str
) -> None:
    context = SimpleNamespace(
        settings=SimpleNamespace(budget_s=120.0, search_s=search_s), seconds_left=left_s,
        pauses=False,
    )
    found = stop_for_time(cast(Any, context))
    assert found["stopped"] == "time"
    assert word in found["reason"]
