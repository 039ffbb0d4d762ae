"""The observed witness: tests in one jailed process, the program in another, joined by a channel.

The first never holds the program, the second never an expected value (`remote`). Its word decides
only how far a pass is believed: rows are `passed`, or say in words why the test cannot be followed
(`unfollowable`), or how it came out otherwise.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from agent.core.domain import TestCase
from agent.judge import jail_modules
from agent.judge.compared.examples import LAST_WORD_S, ended
from agent.judge.groups import Group
from sandbox.inside.guest import STANDING
from sandbox.sandbox import Process
from sandbox.types import Json, Outcome, SandboxError

START_S = 30.0
"""A busy machine may take this long to start two interpreters."""
GRACE_S = 4.0
"""The tests' process stops a test by itself; this much later the host does."""

Row = Mapping[str, Any]


@dataclass
class ObservedRun:
    """What the observed witness told, as far as it has come."""

    rows: dict[str, Row] = field(default_factory=dict)
    problem: str = ""
    """Why there are no more rows."""


async def follow(group: Group, run: ObservedRun, keys: Sequence[str] = ()) -> None:
    """Observes the tests of these keys, or all of a group; another pair of processes after a test
    that ends the program."""
    while asked := [*group.left(keys, run.rows).values()]:
        rows, last = await _session(group, asked, group.payload(keys, run.rows))
        run.rows |= rows
        if "done" in last or "unloaded" in last or not rows:
            run.problem = str(last.get("problem") or last.get("ended") or last.get("unloaded", ""))
            return


async def _session(
    group: Group, tests: list[TestCase], payload: dict[str, Json]
) -> tuple[dict[str, Row], Row]:
    """One pair of processes: rows by name, and the last message that is none."""
    subject, is_file = group.subject, group.code is not None
    wall_s = subject.test_s
    total_s = START_S + len(tests) * (wall_s + GRACE_S)
    # The same modules for both: both may come from one preloaded interpreter.
    ours = await jail_modules.bundle(
        subject.sandbox, subject.task.sites, subject.needs_packages(tests)
    )
    payload = payload | {
        "name": subject.name, "modules": list(subject.modules), "wall_s": wall_s,
        "stand_ins": [*sorted(subject.all_modules - STANDING)],
        "code": group.code, "conftest": subject.has_conftest,
    }
    # The text of a file goes by the channel: on disk another process might read it.
    tests_job = replace(
        subject.job("observe_tests", payload, total_s, ours),
        files={**subject.test_support, **({group.path: ""} if is_file else {})},
    )
    solution_payload = {**subject.payload, "last_site_is_ours": ours.last_site_is_ours}
    solution_job = replace(
        subject.job("observe_solution", solution_payload, total_s, ours), files=subject.files
    )
    async with subject.sandbox.pair(tests_job, solution_job, is_file) as (runner, solution_process):
        rows, last = await _listen(runner, wall_s)
        if "done" in last:
            # Their end is nearer than that of processes that must be killed.
            await asyncio.gather(runner.receive(LAST_WORD_S), solution_process.receive(LAST_WORD_S))
    return rows, last


async def _listen(runner: Process, wall_s: float) -> tuple[dict[str, Row], Row]:
    """Takes the rows of one session as they come, until it ends or a test ends it."""
    rows: dict[str, Row] = {}
    begun = ""
    patience_s = START_S
    while True:
        message = await runner.receive(patience_s)
        if isinstance(message, Outcome):
            if begun:
                rows[begun] = {"status": "error", "message": ended(message)}
                return rows, {}
            return rows, {"ended": message.stderr.strip()[-300:] or message.ended}
        if not isinstance(message, dict):
            raise SandboxError("the tests' process sent what is no message of ours")
        match message:
            case {"begin": str(name)}:
                begun, patience_s = name, wall_s + GRACE_S
            case {"verdict": dict(verdict), "name": str(name), "broken": broken, "last": last}:
                rows[name], begun, patience_s = verdict, "", START_S
                if broken or verdict.get("status") == "timeout":
                    return rows, {}
                if last:
                    return rows, {"done": True}
            case {"unloaded": dict(verdict)}:
                return rows, {"unloaded": str(verdict.get("message"))}
            case _:
                return rows, message
