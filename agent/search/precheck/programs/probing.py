"""Calls candidates with other arguments than the tests', to see where they differ.

Nobody knows here which answer is right; what counts is who answers alike.
"""

from __future__ import annotations

import functools
from types import ModuleType
from typing import Any

from agent.search.precheck.changes import changed
from agent.search.precheck.programs.nearness import described

LOST_AFTER = 4
"""After so many calls that do not end, the rest of a candidate's are not made."""


Answer = tuple[str, int]
"""A value in words, `!` and an exception, `~` for no end, or nothing where it was not asked; and
the steps it took."""


def probed(harness: Any, item: dict[str, Any], limits: Any) -> list[list[Answer]]:
    """What each text of the item answers to each call."""
    calls = [compile(call, "<call>", "eval") for call in item["calls"]]
    return [
        _answers(harness, changed(harness.base, one), calls, limits) for one in item["changes"]
    ]


def _answers(harness: Any, text: str, calls: list[Any], limits: Any) -> list[Answer]:
    code = harness.compiled(text)
    loaded: list[ModuleType] = []
    load = functools.partial(_load, harness, code, loaded)
    answered: list[Answer] = []
    lost = 0
    # One module serves all calls: a candidate that keeps state keeps it alike in all others.
    if not harness.guarded(load, limits).passed:
        return [("!", 0) for _ in calls]
    for call in calls:
        if lost >= LOST_AFTER:
            answered.append(("", 0))
            continue
        answer: list[str] = []
        run = harness.guarded(functools.partial(_ask, loaded[0], call, answer), limits)
        if run.passed:
            answered.append((answer[0], run.steps))
        elif run.timeout:
            lost += 1
            answered.append(("~", run.steps))
        else:
            answered.append((f"!{run.exception}", run.steps))
    return answered


def _load(harness: Any, code: Any, loaded: list[ModuleType]) -> None:
    loaded.append(harness.module(code, harness.stem))


def _ask(module: ModuleType, call: Any, answer: list[str]) -> None:
    answer.append(described(eval(call, module.__dict__)))
