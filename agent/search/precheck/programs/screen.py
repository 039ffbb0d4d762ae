"""Runs many candidates one after the other and says how far each came."""

from __future__ import annotations

import re
import time
import types
from dataclasses import replace
from typing import Any

from agent.search.precheck.changes import changed, short_hash
from agent.search.precheck.programs.clock import CandidateLimits
from agent.search.precheck.programs.probing import probed
from agent.search.precheck.programs.running import TestRun, answer_items

BROKEN = (SyntaxError, ValueError, RecursionError, MemoryError, OverflowError)
"""What compiling untrusted text may raise."""
_ADDRESS = re.compile(r"\b0x[0-9a-f]+\b")
SLOW_TESTS = 2
LOOKED_FROM, LOOKED_AGAIN_S = 2, 0.1
"""The step of a base's runs from which on they are looked at, and the longest that are."""
WAITING = 10
HOPELESS = 3
"""A candidate that passes none of so many failing tests is no partial fix worth more runs."""


def main(jail: Any) -> None:
    """Answers items until the host ends the process: `baseline` once, then `candidates`.

    `jail` is the guest's only global; its type lives on the other side of the wall.
    """
    answer_items(jail, _answered)


def _answered(harness: Any, item: dict[str, Any]) -> Any:
    limits = CandidateLimits(*item["limits"])
    if item["kind"] == "baseline":
        return _baseline(harness, item, limits)
    if item["kind"] == "probes":
        return probed(harness, item, limits)
    harness.base_output = item["base_output"]
    return _answers(harness, item, limits)


def _baseline(harness: Any, item: dict[str, Any], limits: Any) -> dict[str, Any]:
    """Every test of the base: what passed, and the steps each took."""
    runs = _all(harness, item, limits)
    return {
        "runs": [_row(run) for run in runs], "output": harness.base_output,
        # What one test leaves to the next is not seen from within either.
        "hidden": item["together"] or _has_hidden_state(harness, item, limits, runs),
    }


def _has_hidden_state(harness: Any, item: dict[str, Any], limits: Any, runs: list[TestRun]) -> bool:
    """Whether a run of the base that comes to an end seems to repeat itself all the same."""
    looked = replace(limits, look_at=LOOKED_FROM)
    return any(
        harness.run(harness.compiled(item["text"]), index, looked).endless
        for index, run in zip(item["tests"], runs, strict=True)
        if run.steps > LOOKED_FROM and not run.timeout and run.cpu_s < LOOKED_AGAIN_S
    )


def _answers(harness: Any, item: dict[str, Any], limits: Any) -> list[Any]:
    """The answers to as many candidates as fit into the item's time, at least one: processor
    time, or several times as long where the candidates wait for something."""
    began, begun = time.process_time(), time.monotonic()
    answers: list[Any] = []
    for one in item["changes"]:
        answers.append(_answer(harness, changed(harness.base, one), item, limits))
        if time.process_time() - began > item["slice_s"]:
            break
        if time.monotonic() - begun > item["slice_s"] * WAITING:
            break
    return answers


def _answer(harness: Any, text: str, item: dict[str, Any], limits: Any) -> list[Any]:
    """[ended, passed, exception, message, line, types, near, did]: `passed` as 1, 0 and -, `near`
    in hundredths."""
    try:
        code = harness.compiled(text)
    except BROKEN as error:
        return ["syntax", "", type(error).__name__, str(error)[:200],
                getattr(error, "lineno", None), [], [], ""]
    order: list[int] = item["order"]
    waiting = {*item["failing"]}
    passed = ["-"] * harness.count
    gained = missed = 0
    first: TestRun | None = None
    seen: list[str] = []
    near = [0] * harness.count
    did: list[str] = []
    loaded = harness.begin_together(code, limits) if item["together"] else None
    for index in order:
        run = harness.run(code, index, limits) if loaded is None or loaded.passed else loaded
        passed[index] = "1" if run.passed else "0"
        was_failing = index in waiting
        waiting.discard(index)
        gained += run.passed and was_failing
        missed += was_failing and not run.passed
        seen += run.types
        if run.passed:
            continue
        near[index] = round(run.near * 100)
        did.append(f"{index} {run.exception} {run.got or _ADDRESS.sub('', run.message)}")
        if first is None or (run.timeout and not first.timeout):
            first = run
        if item["mode"] == "early":
            break
        if item["mode"] == "fit" and (run.timeout or not was_failing):
            break
        if item["mode"] == "fit" and not gained and (not waiting or missed >= HOPELESS):
            break
    if first is None:
        return ["ok", "".join(passed), "", "", None, sorted(set(seen)), near, ""]
    ended = "endless" if first.endless else "timeout" if first.timeout else "failed"
    known = "" if first.timeout else short_hash("\n".join(did))
    return [
        ended, "".join(passed), first.exception, first.message, first.line, [], near, known
    ]


def _all(harness: Any, item: dict[str, Any], limits: Any) -> list[TestRun]:
    """Tests known to hang, and all after a few that did not end, get a short budget."""
    try:
        code: types.CodeType = harness.compiled(item["text"])
    except BROKEN as error:
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


def _row(run: TestRun) -> list[Any]:
    return [
        run.passed, run.timeout, run.exception, run.message, run.line, run.steps, run.types,
        run.near, run.cpu_s,
    ]
