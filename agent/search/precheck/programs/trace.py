"""Runs each test once, line by line: coverage, types, and the values where it went wrong."""

from __future__ import annotations

from typing import Any

from agent.search.precheck.programs.clock import CandidateLimits
from agent.search.precheck.programs.running import TestRun, answer_items
from agent.search.precheck.programs.watcher import Watcher, shown


def main(jail: Any) -> None:
    """Answers each item, the numbers of tests, their steps and whether they run on one program,
    with how the last of them ended and what all of them did until then."""

    def answer(harness: Any, item: list[Any]) -> dict[str, Any]:
        places, steps, together = item
        limits = CandidateLimits(steps, jail.payload["cpu_s"], jail.payload["wall_s"])
        return _seen(harness, places, limits, together)

    answer_items(jail, answer)


def _seen(
    harness: Any, places: list[int], limits: Any, together: bool = False
) -> dict[str, Any]:
    watcher = Watcher(harness.path)
    harness.keeps = False
    try:
        code = harness.compiled(harness.base)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        run = TestRun(False, exception=type(error).__name__, line=getattr(error, "lineno", None))
    else:
        # What one test leaves in its file is seen by the next: it may be why that one fails.
        harness.tested = code
        if together:
            run = watcher.run(lambda: harness.begin_together(code, limits))
        for index in places:
            run = watcher.run(lambda: harness.run(code, index, limits))  # noqa: B023
    return {
        "passed": run.passed,
        "exception": "TimeoutError" if run.timeout else run.exception,
        "message": run.message,
        "line": run.line,
        "hits": [[line, count] for line, count in watcher.hits.items()],
        "types": {name: sorted(kinds) for name, kinds in watcher.types.items()},
        "values": [] if run.passed else shown(watcher.left),
        "moments": watcher.moments,
    }
