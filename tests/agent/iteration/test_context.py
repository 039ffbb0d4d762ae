"""A repair that adds a tamper indicator is not believed."""

from __future__ import annotations

import pytest

from agent.core.domain import File, Report, Script, Solution, Verdict
from agent.iteration.context import mark_tampering
from agent.verify.tamper_indicators import reaching_code

BASE = Solution(files=(File(path="f.py", text="def f(n):\n    return n\n"),), entry="f.py")
FORGER = "import sys\ndef f(n):\n    return sys._getframe(1).f_locals['want']\n"
TEST = Script(name="it", origin="user", code="want = 2\nassert f(1) == want")


def _passing(solution: Solution) -> Report:
    return Report(solution=solution.id, verdicts=(
        Verdict(name="it", test="it", origin="user", status="passed", integrity="isolated"),
    ))


@pytest.mark.parametrize("origin", ["search", "model", "memory"])
def test_a_repair_that_brings_a_forgers_means_has_not_passed(origin: str) -> None:
    repair = BASE.with_text(FORGER, origin=origin)

    report = mark_tampering(BASE, repair, [TEST], _passing(repair))

    assert [verdict.disbelieved for verdict in report.verdicts] == [reaching_code(FORGER)]
    assert not report.passed


def test_an_honest_repair_and_the_submitted_program_keep_their_report() -> None:
    honest = BASE.with_text("def f(n):\n    return n + 1\n", origin="search")
    submitted = Solution(files=(File(path="f.py", text=FORGER),), entry="f.py")

    assert mark_tampering(BASE, honest, [TEST], _passing(honest)) == _passing(honest)
    assert mark_tampering(submitted, submitted, [TEST], _passing(submitted)) == _passing(submitted)
    assert mark_tampering(None, honest, [TEST], _passing(honest)) == _passing(honest)
