"""What a judged test file costs in a warm jail."""

from __future__ import annotations

import asyncio
import statistics
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence

from agent.core.domain import Example, Task, TestCase
from agent.intake import TestText, make_task
from agent.judge import check, jail_modules
from agent.judge.groups import Group
from agent.judge.plain.plain_run import PlainRun, run_tests
from agent.judge.subject import Subject
from sandbox import Job, SandboxUnavailable, open_sandbox
from sandbox.sandbox import Sandbox
from sandbox.types import Limits

Act = Callable[[], Awaitable[object]]

FILES = 8
"""How often a file is judged; the first time warms up."""
ADD = "def add(a, b):\n    return a + b\n"
PROGRAM = f"""import logging

{ADD}
def told(n):
    logging.getLogger("calc").warning("told %d", n)
    return n

def slow(n, seconds):
    import time
    until = time.process_time() + seconds
    while time.process_time() < until:
        pass
    return n
"""
ALONE = """import os
os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
import pytest
pytest.main(["-q", "--no-header", "-p", "no:cacheprovider", "test_calc.py"])
"""
HEAD = """import pytest
from calc import add, told, slow

@pytest.fixture
def two():
    return 2
"""
JUDGED: dict[str, tuple[float, int, str]] = {
    "100 short tests of plain calls":
        (1.5, 100, "\ndef test_{n}():\n    assert add({n}, 2) == {more}\n"),
    "100 short tests with fixtures and caplog":
        (1.5, 100, "\ndef test_{n}(caplog, two):\n    assert told({n} + two) == {more}\n"
                   "    assert 'told {more}' in caplog.text\n"),
    "10 tests of 0.2 s each":
        (2.5, 10, "\ndef test_{n}():\n    assert slow({n}, 0.2) == {n}\n"),
}
"""What is judged, with the most that is promised as times of plain pytest's own."""


def files() -> Iterator[str]:
    """The wall time of `check` as times of the plain run's, by kind of file: of plain pytest in
    the same jail, with nothing of ours beside it, and no other plugins."""
    try:
        jail = open_sandbox()
        for name, (most, count, test) in JUDGED.items():
            text = HEAD + "".join(test.format(n=n, more=n + 2) for n in range(count))
            task = make_task(PROGRAM, entry="calc.py", tests=[TestText(text, "test_calc.py")]).task
            yield asyncio.run(_compared(name, most, task, task.tests, jail))
        task = make_task(PROGRAM, entry="calc.py").task
        yield asyncio.run(_compared("100 literal examples", 1.0, task, _examples(100), jail))
    except SandboxUnavailable as refusal:
        yield str(refusal)


def _examples(count: int) -> list[Example]:
    return [
        Example(name=str(n), origin="user", call=f"add({n}, 2)", expected=str(n + 2))
        for n in range(count)
    ]


async def _compared(
    name: str, most: float, task: Task, tests: Sequence[TestCase], jail: Sandbox
) -> str:
    """One line: both medians and how they compare; the two are measured in turns."""
    solution = task.solution
    assert solution is not None
    brought = Subject(solution, task, jail, 5.0)
    ours = await jail_modules.bundle(jail, task.sites, with_pytest=True)
    job = Job(
        program=ALONE, modules=ours.modules, sites=ours.sites,
        files={**brought.files, "test_calc.py": tests[0].code},
        limits=Limits(wall_s=600.0, cpu_s=600.0),
    )

    async def plain() -> object:
        if isinstance(tests[0], Example):
            run = PlainRun()
            await run_tests(Group(brought, tests), run)
            return run
        return await jail.run(job)

    async def whole() -> object:
        return await check(solution, tests, task, jail)

    floor, took = (
        statistics.median(times[1:]) for times in await _seconds([plain, whole], FILES, 0.1)
    )
    report = await check(solution, tests, task, jail)
    kinds = ", ".join(sorted({str(verdict.integrity) for verdict in report.verdicts}))
    return (
        f"{name} ({kinds}): {took * 1e3:.0f} ms, {took / floor:.2f} x the plain run "
        f"({floor * 1e3:.0f} ms), promised {most:g}"
    )


async def _seconds(acts: Sequence[Act], count: int, pause_s: float) -> list[list[float]]:
    """How long each act takes, so many times, in turns."""
    times: list[list[float]] = [[] for _ in acts]
    for _ in range(count):
        for act, found in zip(acts, times, strict=True):
            await asyncio.sleep(pause_s)  # the next process makes itself ready
            began = time.perf_counter()
            await act()
            found.append(time.perf_counter() - began)
    return times
