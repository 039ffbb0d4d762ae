"""What a judged test file costs, beside plain pytest alone in the same jail: nothing of ours
beside it, and no other plugins."""

from __future__ import annotations

import asyncio
import statistics
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence

from agent.checks import check, shipping
from agent.checks.brought import Brought
from agent.checks.plain_run import PlainRun, run_snippets
from agent.domain import Example, Solution, Task, TestCase
from agent.intake import TestText, make_task
from sandbox import SandboxUnavailable, open_sandbox
from sandbox.sandbox import Sandbox
from sandbox.types import Job, Limits

REPEATS = 7
ALONE = """import os
os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
import pytest
pytest.main(["-q", "--no-header", "-p", "no:cacheprovider", "test_calc.py"])
"""
PROGRAM = """import logging

def add(a, b):
    return a + b

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
_HEAD = """import pytest
from calc import add, told, slow

@pytest.fixture
def two():
    return 2
"""
FILES: dict[str, tuple[float, str]] = {
    "100 short tests of plain calls": (1.5, "".join(
        f"\ndef test_{n}():\n    assert add({n}, 2) == {n + 2}\n" for n in range(100)
    )),
    "100 short tests with fixtures and caplog": (1.5, "".join(
        f"\ndef test_{n}(caplog, two):\n    assert told({n} + two) == {n + 2}\n"
        f"    assert 'told {n + 2}' in caplog.text\n" for n in range(100)
    )),
    "10 tests of 0.2 s each": (2.5, "".join(
        f"\ndef test_{n}():\n    assert slow({n}, 0.2) == {n}\n" for n in range(10)
    )),
}
"""What is judged, with the most that is promised: times of plain pytest's own."""


def costs() -> Iterator[str]:
    """The wall time of `check` as times of the plain run's, by kind of file."""
    try:
        yield from asyncio.run(_costs())
    except SandboxUnavailable as refusal:
        yield str(refusal)


async def _costs() -> list[str]:
    jail = open_sandbox()
    lines = []
    for name, (most, text) in FILES.items():
        given = TestText(_HEAD + text, "test_calc.py")
        task = make_task(PROGRAM, entry="calc.py", tests=[given]).task
        assert task.solution is not None
        lines.append(await _compared(name, most, task.solution, task.tests, task, jail))
    examples = [
        Example(name=str(n), origin="user", call=f"add({n}, 2)", expected=str(n + 2))
        for n in range(100)
    ]
    task = make_task(PROGRAM, entry="calc.py").task
    assert task.solution is not None
    lines.append(await _compared("100 literal examples", 1.0, task.solution, examples, task, jail))
    return lines


async def _compared(
    name: str, most: float, solution: Solution, tests: Sequence[TestCase], task: Task,
    jail: Sandbox,
) -> str:
    """One line: both medians and how they compare; the two are measured in turns."""
    brought = Brought(solution, task, jail, 5.0)
    ours = await shipping.shipment(jail, task.sites, with_pytest=True)
    job = Job(
        program=ALONE, modules=ours.modules, sites=ours.sites,
        files={**brought.files, "test_calc.py": tests[0].code},
        limits=Limits(wall_s=600.0, cpu_s=600.0),
    )

    async def plain() -> object:
        if isinstance(tests[0], Example):
            run = PlainRun()
            await run_snippets(brought, [(one.name, one, None) for one in tests], "", run)
            return run
        return await jail.run(job)

    async def whole() -> object:
        return await check(solution, tests, task, jail)

    cases: tuple[Callable[[], Awaitable[object]], ...] = (plain, whole)
    times: tuple[list[float], list[float]] = ([], [])
    for turn in range(REPEATS + 1):
        for act, found in zip(cases, times, strict=True):
            await asyncio.sleep(0.1)  # the next process makes itself ready
            began = time.perf_counter()
            await act()
            if turn:
                found.append(time.perf_counter() - began)
    floor, took = (statistics.median(found) for found in times)
    report = await check(solution, tests, task, jail)
    kinds = ", ".join(sorted({str(verdict.integrity) for verdict in report.verdicts}))
    return (
        f"{name} ({kinds}): {took * 1000:.0f} ms, {took / floor:.2f} x the plain run "
        f"({floor * 1000:.0f} ms), promised {most:g}"
    )
