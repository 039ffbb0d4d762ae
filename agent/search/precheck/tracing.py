"""One watched run of each test: what it covered, what types it met, where it went wrong."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Any, cast

from agent.core.domain import Report, Script, Solution, Task, TestCase
from agent.search.precheck.batches import ProcessorTime, TimedBatch
from agent.search.precheck.jobs import KILL_S, job
from agent.search.precheck.members import importable, members
from agent.search.precheck.polluters import polluters
from agent.search.precheck.rows import NO_SENSE
from agent.search.values import Moment, Trace, Traced
from sandbox.sandbox import Sandbox
from sandbox.types import Json, LostItem

STEPS = 100_000
STEPS_HANGING = 5_000
CPU_S = 0.6
WALL_S = 3.0
"""For a test that uses no processor."""
BUSY = 10
"""So many times longer than on a machine of its own the process may take."""
SLOW_TESTS = 3
"""After this many tests that did not end, the others are not watched."""


async def trace(
    solution: Solution, tests: Sequence[TestCase], task: Task, sandbox: Sandbox, *,
    hanging: Collection[int] = frozenset(), work: ProcessorTime | None = None,
    report: Report | None = None, together: bool = False,
) -> Trace:
    """Runs each test once under a tracer; a test that ends its process is seen as failed.

    `hanging` are the places of tests known not to end: a few of their steps show enough. What the
    process works is added to `work`. A test of a file that fails in `report` and passes by itself
    is run beside those before it; where tests are known to fail `together`, each file is executed
    again for that, as what an earlier one leaves may be there.
    """
    watched = await job(task, solution, tests, sandbox, "trace", cpu_s=CPU_S, wall_s=WALL_S)
    replies: list[Json | LostItem] = []
    slow = 0
    # The search that waits for it keeps places of its own meanwhile.
    async with sandbox.batch(replace(watched, brief=True)) as uncounted:
        batch = TimedBatch(uncounted, work or ProcessorTime())
        for index in range(len(tests) or 1):
            if slow >= SLOW_TESTS:
                replies.append(LostItem("timeout"))
                continue
            reply = await _watched(batch, [index], index in hanging)
            slow += _is_late(reply)
            replies.append(reply)
        found = await _together(batch, tests, replies, report, together)
    seen = trace_of([found.get(place, reply) for place, reply in enumerate(replies)])
    return replace(seen, together=bool(found), tests=tuple(
        replace(one, members=one.members or importable(one.message, task, solution))
        for one in seen.tests
    ))


async def _watched(
    batch: TimedBatch, places: Sequence[int], hangs: bool = False, together: bool = False
) -> Json | LostItem:
    item: Json = [[*places], STEPS_HANGING if hangs else STEPS, together]
    wall_s = BUSY * CPU_S * len(places) + KILL_S
    found = [reply async for _, reply in batch.replies([item], wall_s)]
    return found[-1] if found else None


async def _together(
    batch: TimedBatch, tests: Sequence[TestCase], replies: Sequence[Json | LostItem],
    report: Report | None, known: bool,
) -> dict[int, Json | LostItem]:
    """What is seen of tests that fail beside earlier ones alone, and of these, on one program."""
    failing = {one.test for one in report.failing} if report is not None else set[str]()
    of_files = [
        place for place, test in enumerate(tests) if isinstance(test, Script) and test.node
    ]
    found: dict[int, Json | LostItem] = {}
    beside: Sequence[int] = ()
    for place in of_files:
        async def fails(before: Sequence[int], place: int = place) -> bool:
            return _fails(await _watched(batch, [*before, place], together=True))

        if tests[place].name not in failing:
            continue
        if _fails(replies[place]) and not (known and not await fails(())):
            continue
        earlier = [one for one in of_files if one < place]
        if not (beside and await fails(beside)):
            beside = await polluters(earlier, fails) if await fails(earlier) else ()
        if beside:
            found[place] = await _watched(batch, [*beside, place], together=True)
    return found


def _fails(reply: Json | LostItem) -> bool:
    """Whether a run was seen to fail."""
    return isinstance(reply, dict) and reply.get("passed") is False


def _is_late(reply: Json | LostItem) -> bool:
    if isinstance(reply, LostItem):
        return reply.ended == "timeout"
    return isinstance(reply, dict) and reply.get("exception") == "TimeoutError"


def trace_of(replies: Sequence[Json | LostItem]) -> Trace:
    """What was recorded of each test's run, together."""
    types: dict[str, set[str]] = {}
    moments: list[Moment] = []
    seen = [_traced(reply, types, moments) for reply in replies]
    kinds_of = {name: frozenset(kinds) for name, kinds in types.items()}
    return Trace(tuple(seen), kinds_of, tuple(moments))


def hanging(tests: Sequence[TestCase], report: Report) -> frozenset[int]:
    """The places of tests that were judged not to end."""
    late = {one.test for one in report.verdicts if one.status == "timeout"}
    return frozenset(place for place, test in enumerate(tests) if test.name in late)


def _traced(
    reply: Json | LostItem, types: dict[str, set[str]], moments: list[Moment]
) -> Traced:
    """Reads one reply and adds to what all tests saw together."""
    if isinstance(reply, LostItem):
        return Traced(passed=False, exception="TimeoutError" if reply.ended == "timeout" else "",
                      message=reply.limit or reply.ended)
    row = cast(dict[str, Any], reply)
    try:
        covered = frozenset(int(line) for line, _ in row["hits"])
        met = {str(name): {str(kind) for kind in kinds} for name, kinds in row["types"].items()}
        message = str(row["message"])
        traced = Traced(
            passed=bool(row["passed"]),
            covered=covered,
            exception=str(row["exception"]),
            message=message,
            line=row["line"] if isinstance(row["line"], int) else None,
            values=tuple((str(name), str(value)) for name, value in row["values"]),
            members=members(message),
        )
        met_here = [
            Moment(int(line), traced.passed, tuple((str(name), str(value)) for name, value in held))
            for line, held in row["moments"]
        ]
    except (AttributeError, KeyError, TypeError, ValueError):
        # The program shares the process and can write over our channel: nothing counts then.
        return Traced(passed=False, message=NO_SENSE)
    moments += met_here
    for name, kinds in met.items():
        types.setdefault(name, set()).update(kinds)
    return traced
