"""Runs the tests of many candidates one after another."""

from __future__ import annotations

import re
import time
from dataclasses import replace
from typing import Any

from agent.search.precheck.changes import changed, short_hash
from agent.search.precheck.programs.clock import CandidateLimits
from agent.search.precheck.programs.probing import probed
from agent.search.precheck.programs.running import TestRun, answer_items

COMPILE_ERRORS = (SyntaxError, ValueError, RecursionError, MemoryError, OverflowError)
"""The exceptions of compiling untrusted text."""
_ADDRESS = re.compile(r"\b0x[0-9a-f]+\b")
SLOW_TESTS = 2
"""After this many timeouts all other tests of the base have the short step limit."""
WATCH_FROM_STEP, MAX_WATCHED_RUN_S = 2, 0.1
"""The first step and the longest run in which the unrepaired program's loops are watched."""
WALL_FACTOR = 10
MAX_FAILED_TESTS = 3
"""Failing tests after which a candidate that passes none of them is no partial fix."""


def main(jail: Any) -> None:
    """Answers items until the host ends the process: `baseline` once, then `candidates`."""
    answer_items(jail, _handle)


def _handle(harness: Any, item: dict[str, Any]) -> Any:
    limits = CandidateLimits(*item["limits"])
    if item["kind"] == "baseline":
        return _baseline(harness, item, limits)
    if item["kind"] == "probes":
        return probed(harness, item, limits)
    harness.base_output = item["base_output"]
    return _answers(harness, item, limits)


def _baseline(harness: Any, item: dict[str, Any], limits: Any) -> dict[str, Any]:
    """The results of all tests of the base."""
    runs = _base_runs(harness, item, limits)
    return {
        "runs": [
            [run.passed, run.timeout, run.exception, run.message, run.line, run.steps, run.types,
             run.near, run.cpu_s] for run in runs
        ],
        "output": harness.base_output,
        # Tests that run together may leave state to the next one, which is hidden too.
        "hidden": item["together"] or _has_hidden_state(harness, item, limits, runs),
    }


def _has_hidden_state(harness: Any, item: dict[str, Any], limits: Any, runs: list[TestRun]) -> bool:
    """Whether a run of the unrepaired program looks endless although it ends."""
    watched = replace(limits, watch_at=WATCH_FROM_STEP)
    return any(
        harness.run(harness.compiled(item["text"]), index, watched).endless
        for index, run in zip(item["tests"], runs, strict=True)
        if run.steps > WATCH_FROM_STEP and not run.timeout and run.cpu_s < MAX_WATCHED_RUN_S
    )


def _answers(harness: Any, item: dict[str, Any], limits: Any) -> list[Any]:
    """The rows of as many candidates as fit into the item's processor time, at least one.

    The wall-clock time is limited to `WALL_FACTOR` times as much, for candidates that only wait.
    """
    cpu_start_s, wall_start_s = time.process_time(), time.monotonic()
    answers: list[Any] = []
    for one in item["changes"]:
        answers.append(_answer(harness, changed(harness.base, one), item, limits))
        if time.process_time() - cpu_start_s > item["slice_s"]:
            break
        if time.monotonic() - wall_start_s > item["slice_s"] * WALL_FACTOR:
            break
    return answers


def _answer(harness: Any, text: str, item: dict[str, Any], limits: Any) -> list[Any]:
    """The row of one candidate: [ended, passed, exception, message, line, types, near, behaviour].

    `passed` has 1, 0 or - for each test; `near` is in hundredths.
    """
    try:
        code = harness.compiled(text)
    except COMPILE_ERRORS as error:
        return ["syntax", "", type(error).__name__, str(error)[:200],
                getattr(error, "lineno", None), [], [], ""]
    order: list[int] = item["order"]
    pending = {*item["failing"]}
    passed = ["-"] * harness.count
    gained = missed = 0
    first: TestRun | None = None
    types: set[str] = set()
    near = [0] * harness.count
    failures: list[str] = []
    loaded = harness.begin_together(code, limits) if item["together"] else None
    for index in order:
        run = harness.run(code, index, limits) if loaded is None or loaded.passed else loaded
        passed[index] = "1" if run.passed else "0"
        was_failing = index in pending
        pending.discard(index)
        gained += run.passed and was_failing
        missed += was_failing and not run.passed
        types.update(run.types)
        if run.passed:
            continue
        near[index] = round(run.near * 100)
        failures.append(f"{index} {run.exception} {run.got or _ADDRESS.sub('', run.message)}")
        if first is None or (run.timeout and not first.timeout):
            first = run
        if item["mode"] == "early":
            break
        if item["mode"] == "fit" and (run.timeout or not was_failing):
            break
        if item["mode"] == "fit" and not gained and (not pending or missed >= MAX_FAILED_TESTS):
            break
    if first is None:
        return ["ok", "".join(passed), "", "", None, sorted(types), near, ""]
    ended = "endless" if first.endless else "timeout" if first.timeout else "failed"
    behaviour = "" if first.timeout else short_hash("\n".join(failures))
    return [ended, "".join(passed), first.exception, first.message, first.line, [], near, behaviour]


def _base_runs(harness: Any, item: dict[str, Any], limits: Any) -> list[TestRun]:
    """Runs all tests of the base; those that hang have a short step limit."""
    try:
        code = harness.compiled(item["text"])
    except COMPILE_ERRORS as error:
        line = getattr(error, "lineno", None)
        broken = TestRun(False, exception=type(error).__name__, message=str(error)[:200], line=line)
        return [broken] * len(item["tests"])
    loaded = harness.begin_together(code, limits) if item["together"] else None
    if loaded is not None and not loaded.passed:
        return [loaded] * len(item["tests"])
    short = replace(limits, steps=min(item["short_steps"], limits.steps))
    runs: list[TestRun] = []
    for index in item["tests"]:
        hanging = index in item["hanging"] or sum(run.timeout for run in runs) >= SLOW_TESTS
        runs.append(harness.run(code, index, short if hanging else limits))
    return runs
