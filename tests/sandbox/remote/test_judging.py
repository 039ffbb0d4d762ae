"""The judge needs no more of a sandbox than a remote one gives."""

from __future__ import annotations

import os
from collections.abc import Callable

import pytest

from agent.core.domain import File, Report, Script, Solution, Task
from agent.verify.judge import check
from sandbox import open_sandbox

PROGRAM = "def add(a, b):\n    return a + b\n"
TESTS = """\
from program import add
def test_right():
    assert add(1, 1) == 2
def test_wrong():
    assert add(1, 1) == 3
"""


async def judged(environment: dict[str, str], *tests: Script) -> Report:
    solution = Solution(files=(File(path="program.py", text=PROGRAM),), entry="program.py")
    return await check(solution, tests, Task(), open_sandbox("docker", environment))


def shown(report: Report) -> list[tuple[str, str]]:
    return [(verdict.status, verdict.integrity) for verdict in report.verdicts]


@pytest.mark.nightly
async def test_snippets_run_in_a_container_each(docker: Callable[..., dict[str, str]]) -> None:
    right = Script(name="right", origin="user", code="assert add(2, 3) == 5")
    wrong = Script(name="wrong", origin="user", code="assert add(2, 3) == 6")

    report = await judged(docker(), right, wrong)

    assert shown(report) == [("passed", "isolated"), ("failed", None)]


@pytest.mark.skipif(os.geteuid() != 0, reason="the container of this test has no users to part")
@pytest.mark.nightly
async def test_a_pytest_file_runs_in_one_container(docker: Callable[..., dict[str, str]]) -> None:
    names = ("test_right", "test_wrong")

    report = await judged(
        docker(), *(Script(name=name, origin="user", code=TESTS, node=name) for name in names)
    )

    assert shown(report) == [("passed", "isolated"), ("failed", None)]
