from __future__ import annotations

from typing import get_args

from agent.core.domain import Report, Verdict
from agent.core.trust import Origin
from agent.log.timeline import ORIGIN_ORDER, Column, rows


def test_a_test_of_every_origin_has_its_row() -> None:
    verdicts = tuple(
        Verdict(name=one, test=one, origin=one, status="passed") for one in get_args(Origin)
    )
    shown = rows((), (Column("before", 0, Report(solution="s", verdicts=verdicts)),))
    assert [row.origin for row in shown] == [*ORIGIN_ORDER]
