"""Calls candidates with other arguments than the tests, to find different behaviours."""

from __future__ import annotations

import functools
from types import ModuleType
from typing import Any

from agent.search.precheck.changes import changed
from agent.search.precheck.programs.nearness import described

MAX_TIMEOUTS = 4
"""After so many timeouts the remaining calls of a candidate are not made."""


Answer = tuple[str, int]
"""The answer to a call, as in `agent.search.values.ProbeResult`, and its steps."""


def probed(harness: Any, item: dict[str, Any], limits: Any) -> list[list[Answer]]:
    """The answer of each text of the item to each call."""
    calls = [compile(call, "<call>", "eval") for call in item["calls"]]
    return [_answers(harness, changed(harness.base, one), calls, limits) for one in item["changes"]]


def _answers(harness: Any, text: str, calls: list[Any], limits: Any) -> list[Answer]:
    code = harness.compiled(text)
    modules: list[ModuleType] = []
    answers: list[Answer] = []
    values: list[str] = []
    timeouts = 0

    def load() -> None:
        modules.append(harness.module(code, harness.stem))

    def ask(call: Any) -> None:
        values.append(described(eval(call, modules[0].__dict__)))

    # One module serves all calls: the state of all candidates then depends on the same calls.
    if not harness.run_limited(load, limits).passed:
        return [("!", 0) for _ in calls]
    for call in calls:
        if timeouts >= MAX_TIMEOUTS:
            answers.append(("", 0))
            continue
        run = harness.run_limited(functools.partial(ask, call), limits)
        timeouts += run.timeout
        answer = values[-1] if run.passed else "~" if run.timeout else f"!{run.exception}"
        answers.append((answer, run.steps))
    return answers
