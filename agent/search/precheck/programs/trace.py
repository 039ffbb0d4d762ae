"""Traces each test once: coverage, types, and the values at the failure."""

from __future__ import annotations

from typing import Any

from agent.search.precheck.programs.clock import CandidateLimits
from agent.search.precheck.programs.running import TestRun, answer_items
from agent.search.precheck.programs.watcher import Watcher


def main(jail: Any) -> None:
    """Answers each item with a trace of its tests, which has the result of the last one.

    An item has the indices of the tests, their step limit, and whether they share one execution of
    the program.
    """

    def answer(harness: Any, item: list[Any]) -> dict[str, Any]:
        places, steps, together = item
        limits = CandidateLimits(steps, jail.payload["cpu_s"], jail.payload["wall_s"])
        return _traced(harness, places, limits, together)

    answer_items(jail, answer)


def _traced(harness: Any, places: list[int], limits: Any, together: bool = False) -> dict[str, Any]:
    watcher = Watcher(harness.path)
    harness.keeps = False
    try:
        code = harness.compiled(harness.base)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        run = TestRun(False, exception=type(error).__name__, line=getattr(error, "lineno", None))
    else:
        # Tests of a file share its state here, since that may be why one of them fails.
        harness.tested = code
        if together:
            run = watcher.run(lambda: harness.begin_together(code, limits))
        for index in places:
            run = watcher.run(lambda: harness.run(code, index, limits))  # noqa: B023
    exception = "TimeoutError" if run.timeout else run.exception
    return watcher.row(run.passed, exception, run.message, run.line)
