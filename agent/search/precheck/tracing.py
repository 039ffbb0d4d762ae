"""Traces each test once: covered lines, types of variables, and the state at the failure."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Any, cast

from agent.core.domain import Report, Script, Solution, Task, TestCase
from agent.search.precheck.batches import ProcessorTime, TimedBatch
from agent.search.precheck.jobs import KILL_S, job
from agent.search.precheck.members import importable, members
from agent.search.precheck.polluters import polluters
from agent.search.precheck.rows import MALFORMED_REPLY
from agent.search.values import Snapshot, Trace, TracedTest
from sandbox.sandbox import Sandbox
from sandbox.types import Json, LostItem

STEPS = 100_000
STEPS_HANGING = 5_000
CPU_S = 0.6
WALL_S = 3.0
"""For a test that only waits."""
BUSY = 10
"""The wall-clock limit as a multiple of the processor seconds, for a busy machine."""
SLOW_TESTS = 3
"""After this many timeouts the other tests are not traced."""


async def trace(
    solution: Solution, tests: Sequence[TestCase], task: Task, sandbox: Sandbox, *,
    hanging: Collection[int] = frozenset(), cpu_time: ProcessorTime | None = None,
    report: Report | None = None, order_dependent: bool = False,
) -> Trace:
    """Runs each test once under a tracer; a test that ends its process counts as failed.

    Args:
        hanging: The indices of tests known not to end, which run for a few steps only.
        cpu_time: Where processor seconds are added up.
        report: The tests' verdicts. A test of a file that fails there but passes alone is run
            again after its polluting tests.
        order_dependent: Whether tests are known to fail only after others. Tests that failed are
            then also checked for that, with their file executed again.
    """
    traced = await job(task, solution, tests, sandbox, "trace", cpu_s=CPU_S, wall_s=WALL_S)
    replies: list[Json | LostItem] = []
    slow = 0
    # `brief`, because the search keeps its own processes while it waits for the trace.
    async with sandbox.batch(replace(traced, brief=True)) as untimed:
        batch = TimedBatch(untimed, cpu_time or ProcessorTime())
        for index in range(len(tests) or 1):
            if slow >= SLOW_TESTS:
                replies.append(LostItem("timeout"))
                continue
            reply = await _run_traced(batch, [index], index in hanging)
            slow += _is_late(reply)
            replies.append(reply)
        polluted = await _polluted(batch, tests, replies, report, order_dependent)
    found = trace_of([polluted.get(place, reply) for place, reply in enumerate(replies)])
    files = {one.path: one.text for one in (*task.support, *solution.files)}
    return replace(found, order_dependent=bool(polluted), tests=tuple(
        replace(one, known_names=(
            one.known_names or importable(one.message, files, task.site_dirs)
        ))
        for one in found.tests
    ))


async def _run_traced(
    batch: TimedBatch, places: Sequence[int], hangs: bool = False, together: bool = False
) -> Json | LostItem:
    item: Json = [[*places], STEPS_HANGING if hangs else STEPS, together]
    wall_s = BUSY * CPU_S * len(places) + KILL_S
    found = [reply async for _, reply in batch.replies([item], wall_s)]
    return found[-1] if found else None


async def _polluted(
    batch: TimedBatch, tests: Sequence[TestCase], replies: Sequence[Json | LostItem],
    report: Report | None, known: bool,
) -> dict[int, Json | LostItem]:
    """The traces of tests that fail only after others, each traced together with those others."""
    failing = {one.test for one in report.failing} if report is not None else set[str]()
    of_files = [place for place, test in enumerate(tests) if isinstance(test, Script) and test.node]
    found: dict[int, Json | LostItem] = {}
    polluting: Sequence[int] = ()
    for place in of_files:
        async def fails(before: Sequence[int], place: int = place) -> bool:
            return _fails(await _run_traced(batch, [*before, place], together=True))

        if tests[place].name not in failing:
            continue
        if _fails(replies[place]) and not (known and not await fails(())):
            continue
        earlier = [one for one in of_files if one < place]
        if not (polluting and await fails(polluting)):
            polluting = await polluters(earlier, fails) if await fails(earlier) else ()
        if polluting:
            found[place] = await _run_traced(batch, [*polluting, place], together=True)
    return found


def _fails(reply: Json | LostItem) -> bool:
    return isinstance(reply, dict) and reply.get("passed") is False


def _is_late(reply: Json | LostItem) -> bool:
    if isinstance(reply, LostItem):
        return reply.ended == "timeout"
    return isinstance(reply, dict) and reply.get("exception") == "TimeoutError"


def trace_of(replies: Sequence[Json | LostItem]) -> Trace:
    """Parses the replies of all tests."""
    types: dict[str, set[str]] = {}
    moments: list[Snapshot] = []
    tests = [_traced(reply, types, moments) for reply in replies]
    names = {name: frozenset(kinds) for name, kinds in types.items()}
    return Trace(tuple(tests), names, tuple(moments))


def hanging(tests: Sequence[TestCase], report: Report) -> frozenset[int]:
    """The indices of tests with a timeout in the report."""
    late = {one.test for one in report.verdicts if one.status == "timeout"}
    return frozenset(place for place, test in enumerate(tests) if test.name in late)


def _traced(
    reply: Json | LostItem, types: dict[str, set[str]], moments: list[Snapshot]
) -> TracedTest:
    """Parses one reply; adds to the types and moments of all tests."""
    if isinstance(reply, LostItem):
        exception = "TimeoutError" if reply.ended == "timeout" else ""
        return TracedTest(False, exception=exception, message=reply.limit or reply.ended)
    row = cast(dict[str, Any], reply)
    try:
        own_types = {str(name): set(map(str, kinds)) for name, kinds in row["types"].items()}
        traced = TracedTest(
            passed=bool(row["passed"]), covered=frozenset(int(line) for line, _ in row["hits"]),
            exception=str(row["exception"]), message=str(row["message"]),
            line=row["line"] if isinstance(row["line"], int) else None,
            values=_pairs(row["values"]), known_names=members(str(row["message"])),
        )
        own_moments = [
            Snapshot(int(line), traced.passed, _pairs(values)) for line, values in row["moments"]
        ]
    except (AttributeError, KeyError, TypeError, ValueError):
        # The program shares the process and may have written to its channel.
        return TracedTest(passed=False, message=MALFORMED_REPLY)
    moments += own_moments
    for name, kinds in own_types.items():
        types.setdefault(name, set()).update(kinds)
    return traced


def _pairs(rows: Any) -> tuple[tuple[str, str], ...]:
    return tuple((str(name), str(value)) for name, value in rows)
