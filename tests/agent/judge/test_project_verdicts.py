"""Projects that act on their tests are not believed, and honest ones are."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

import pytest

from evaluation.project_verdicts import ProjectCase, judged, read_cases
from sandbox.sandbox import Sandbox

pytestmark = pytest.mark.slow
FEW = 3
NAMED = frozenset(re.findall(
    r"`([\w-]+)`", (Path(__file__).parents[3] / "docs" / "threat-model.md").read_text("utf-8")
))
"""Forgeries that are told to pass, one by one."""


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    cases = [*read_cases()]
    for name, is_forged in (("forged", True), ("honest", False)):
        if name in metafunc.fixturenames:
            rows = [one for one in cases if one.is_forged is is_forged and one.id not in NAMED]
            rows.sort(key=lambda one: hashlib.sha256(one.id.encode()).digest())
            chosen = rows if metafunc.config.getoption("--whole") else rows[:FEW]
            metafunc.parametrize(name, chosen, ids=[one.id for one in chosen])


async def test_a_forged_project_is_not_believed(forged: ProjectCase, jail: Sandbox) -> None:
    seen = await judged(forged, jail)

    assert seen.wrong == ""


async def test_an_honest_project_is_believed(honest: ProjectCase, jail: Sandbox) -> None:
    seen = await judged(honest, jail)

    assert seen.wrong == ""
    assert not (seen.plain.failing or seen.plain.problems)
    assert {one.name: one.status for one in seen.report.verdicts} == {
        name: row["status"] for name, row in seen.plain.rows.items()
    }
