"""Runs each test once, line by line: coverage, types, and the values where it went wrong."""

from __future__ import annotations

from typing import Any

from agent.repair.screening.programs.clock import Limits
from agent.repair.screening.programs.running import TestRun, answer_items
from agent.repair.screening.programs.watcher import Watcher, shown


def main(jail: Any) -> None:
    """Answers each item, the number of a test and its steps, with what was seen of it."""

    def answer(harness: Any, item: list[int]) -> dict[str, Any]:
        index, steps = item
        return _seen(harness, index, Limits(steps, jail.payload["cpu_s"], jail.payload["wall_s"]))

    answer_items(jail, answer)


def _seen(harness: Any, index: int, limits: Any) -> dict[str, Any]:
    watcher = Watcher(harness.path)
    try:
        code = harness.compiled(harness.base)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        run = TestRun(False, exception=type(error).__name__, line=getattr(error, "lineno", None))
    else:
        run = watcher.run(lambda: harness.run(code, index, limits))
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
