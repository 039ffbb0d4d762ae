"""Flaky failures are not searched for, and a repair must pass flaky tests in every run."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from agent.core.domain import Report, Verdict
from agent.core.events import Judged, Notice, Searched
from agent.iteration.context import Context
from agent.iteration.flakiness import RERUN_HASH_SEEDS, RERUN_SEEDS, rerun_seeds, with_reruns
from agent.target.task import from_page
from sandbox import open_sandbox
from tests.agent.runs import healed, last

COIN = "import random\n\ndef toss():\n    return random.random() < 0.5\n"
ADD = "\n\ndef add(a, b):\n    return a - b\n"


async def test_a_flaky_failure_is_not_searched_for(tmp_path: Path) -> None:
    log = await healed(tmp_path, COIN, "assert toss()")
    end = last(log)

    assert (end.outcome, end.candidates) == ("not_fixable", 0)
    assert "`assert toss()`" in end.reason and "3" in end.reason
    assert not any(isinstance(entry.event, Searched) for entry in log)


async def test_a_pass_that_is_not_believed_is_not_called_flaky(tmp_path: Path) -> None:
    code = (
        "class Any:\n    def __eq__(self, other):\n        return True\n\n\n"
        "def total(xs):\n    return Any()\n"
    )
    log = await healed(tmp_path, code, "assert total([1, 2]) == 3")

    assert last(log).outcome == "unresolved"
    (judged, *_) = [one.event for one in log if isinstance(one.event, Judged)]
    assert judged.report.verdicts[0].disbelieved


async def test_a_steady_failure_is_searched_for_without_the_flaky_test(tmp_path: Path) -> None:
    log = await healed(tmp_path, COIN + ADD, "assert toss()\nassert add(1, 2) == 3")

    notices = [entry.event.text for entry in log if isinstance(entry.event, Notice)]
    assert any("`assert toss()`" in text for text in notices)
    end = last(log)
    assert (end.outcome, "assert toss()" in end.reason) == ("unresolved", True)


@pytest.mark.parametrize(("code", "passed"), [
    (COIN, False), ("def toss():\n    return True\n", True),
])
async def test_a_flaky_test_passes_where_it_passes_in_every_run(code: str, passed: bool) -> None:
    task = from_page(code, "assert toss() in (True,)").task
    ctx = cast(Context, SimpleNamespace(task=task, sandbox=open_sandbox(), test_s=5.0, emit=None))
    assert task.solution is not None
    lucky = Report(solution="s", verdicts=tuple(
        Verdict(name=test.name, test=test.name, origin="user", status="passed",
                integrity="isolated") for test in task.tests
    ))

    report = await with_reruns(ctx, task.solution, task.tests, lucky)

    assert (report.passed, bool(report.verdicts[0].message)) == (passed, not passed)


async def test_a_flaky_crash_is_not_fixable(tmp_path: Path) -> None:
    code = "import random\n\nif random.random() > 0.5:\n    raise ValueError('unlucky')\n"
    assert last(await healed(tmp_path, code, "")).outcome == "not_fixable"


@pytest.mark.parametrize(("code", "seeds"), [
    ("def f(x):\n    return x\n", RERUN_SEEDS),
    ("def f(x):\n    return list({x})\n", RERUN_HASH_SEEDS),
    ("def f(x):\n    return hash(x)\n", RERUN_HASH_SEEDS),
    ("def f(x)\n    return x\n", RERUN_SEEDS),
])
def test_another_hash_seed_is_asked_for_where_hashes_can_matter(code: str, seeds: object) -> None:
    task = from_page(code, "assert f(2) == 3").task
    assert task.solution is not None
    assert rerun_seeds(task.solution, task.tests) == seeds
