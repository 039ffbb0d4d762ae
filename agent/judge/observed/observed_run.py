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

from agent.core.domain import Script, TestCase
from agent.judge import jail_modules
from agent.judge.compared.examples import LAST_WORD_S, ended
from agent.judge.subject import Subject
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


async def observe_snippets(
    subject: Subject, tests: Sequence[tuple[str, TestCase, str | None]], run: ObservedRun
) -> None:
    """Observes snippets: a key for each, the test, and the program's output where it reads that."""
    waiting = {key: (test, output) for key, test, output in tests}
    while waiting:
        payload: dict[str, Json] = {
            "tests": [
                {
                    "name": key, "code": test.code, "output": output,
                    "loose": not isinstance(test, Script),
                }
                for key, (test, output) in waiting.items()
            ],
        }
        rows, last = await _session(subject, payload, [test for test, _ in waiting.values()])
        run.rows |= rows
        for key in rows:
            waiting.pop(key)
        if not rows:
            run.problem = str(last.get("ended", "the tests' process began no test"))
            return


async def observe_file(
    subject: Subject, code: str, tests: Sequence[TestCase], run: ObservedRun,
    only: Sequence[str], left_out: Sequence[str],
) -> None:
    """Observes one test file; a session of pytest for as long as no test ends the program.
    `only` are exact nodes; without any, all of the tests' but those that are `left_out`."""
    path = subject.test_path([*tests])
    nodes: list[Json] = [[node, []] for node in only] or [
        [test.node, [*test.without, *left_out]] for test in tests if isinstance(test, Script)
    ]
    while True:
        payload: dict[str, Json] = {
            "file": path, "code": code, "nodes": nodes, "done": [*run.rows],
            "conftest": subject.has_conftest,
        }
        # The text goes by the channel: on disk another process might read it.
        rows, last = await _session(subject, payload, tests, {path: ""}, shared=True)
        run.rows |= rows
        if "done" in last or "unloaded" in last or not rows:
            run.problem = str(last.get("problem") or last.get("ended") or last.get("unloaded", ""))
            return


async def _session(
    subject: Subject, payload: dict[str, Json], tests: Sequence[TestCase],
    test_files: Mapping[str, str] | None = None, shared: bool = False,
) -> tuple[dict[str, Row], Row]:
    """One pair of processes: rows by name, and the last message that is none."""
    wall_s = subject.test_s
    total_s = START_S + len(tests) * (wall_s + GRACE_S)
    # The same modules for both: both may come from one preloaded interpreter.
    ours = await jail_modules.bundle(
        subject.sandbox, subject.task.sites, subject.needs_packages([*tests])
    )
    payload = {
        "name": subject.name, "modules": list(subject.modules), "wall_s": wall_s, **payload,
    }
    tests_job = replace(
        subject.job("observe_tests", payload, total_s, ours),
        files={**subject.test_support, **(test_files or {})},
    )
    solution_payload = {**subject.payload, "last_site_is_ours": ours.last_site_is_ours}
    solution_job = replace(
        subject.job("observe_solution", solution_payload, total_s, ours), files=subject.files
    )
    async with subject.sandbox.pair(tests_job, solution_job, shared) as (runner, solution_process):
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
