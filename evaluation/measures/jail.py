"""What a job and a verdict cost in a warm jail."""

from __future__ import annotations

import asyncio
import statistics
import sys
import time
from collections.abc import Awaitable, Callable, Iterator

from agent.checks import check, shipping
from agent.domain import Example, Script, Task
from agent.intake import paste
from sandbox import Job, SandboxUnavailable, open_sandbox

VERDICTS = 100
BAREST = "python -I -S -E -c pass"


def sandbox() -> Iterator[str]:
    """The jail's own figures, with what the judge keeps loaded in it."""
    if sys.platform != "linux":
        yield "the jail needs Linux"
        return
    from sandbox.bench import figures  # not everywhere can it be imported

    try:
        found = asyncio.run(figures(shipping.modules()))
    except SandboxUnavailable as refusal:
        yield str(refusal)
        return
    for figure in found:
        yield figure.line()


def verdicts() -> Iterator[str]:
    """What a verdict costs in a warm jail, beside the barest start of an interpreter."""
    solution = paste("def add(a, b):\n    return a + b\n", "").task.solution
    assert solution is not None
    examples = [
        Example(name=str(n), origin="user", call=f"add({n}, 2)", expected=str(n + 2))
        for n in range(10)
    ]
    leaf = Script(name="leaf", origin="user", code="x = 1\nassert add(x, 2) == 3")

    async def measure() -> dict[str, float]:
        jail = open_sandbox()
        answers = Job("jail.send(1)", modules=shipping.modules())

        async def bare() -> None:
            started = await asyncio.create_subprocess_exec(
                sys.executable, "-I", "-S", "-E", "-c", "pass"
            )
            await started.wait()

        cases: dict[str, Callable[[], Awaitable[object]]] = {
            BAREST: bare,
            "a job that only answers": lambda: jail.run(answers),
            "an example": lambda: check(solution, examples[:1], Task(), jail),
            "ten examples": lambda: check(solution, examples, Task(), jail),
            "a test of one call": lambda: check(solution, [leaf], Task(), jail),
        }
        medians = {}
        for name, act in cases.items():
            times = []
            for _ in range(VERDICTS):
                await asyncio.sleep(0.03)  # the next process makes itself ready
                began = time.perf_counter()
                await act()
                times.append(time.perf_counter() - began)
            medians[name] = statistics.median(times[VERDICTS // 10 :]) * 1000
        return medians

    try:
        medians = asyncio.run(measure())
    except SandboxUnavailable as refusal:
        yield str(refusal)
        return
    for name, median in medians.items():
        yield f"{name}: {median:.2f} ms, {median / medians[BAREST]:.2f} x the start"
