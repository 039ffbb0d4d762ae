"""The plain run: runs tests as a user does, in one jailed process with the program.

It gives the outcome of each test in pytest's classes, and the tamper indicators observed meanwhile.
Whether a pass can be believed is decided elsewhere.
"""

from __future__ import annotations

import hashlib
import json
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from agent.core.domain import TestCase
from agent.verify import jail_modules
from agent.verify.examples.examples import ended, lacks_permission, with_refusals
from agent.verify.groups import Group
from agent.verify.plain.canary import Canary, RunVariation
from agent.verify.rewriting.masking import mask
from agent.verify.subject import Subject
from agent.verify.tamper_indicators import message_of
from sandbox.sandbox import Process
from sandbox.types import Json, Outcome

START_S = 30.0
"""Limit for the start of an interpreter and the collection of a file on a busy machine."""
WALL_FACTOR = 3.0
"""A test's deadline in wall time, as a multiple of its processor time."""
GRACE_S = 4.0
MAX_S = 3600.0
"""Limit of a whole process; each of its tests has a deadline of its own."""

_OTHER_LIMITS = {"open_files": 1000, "memory_mib": 1024}
"""Limits of a run in another environment, which differ from the usual ones."""

Row = Mapping[str, Any]


@dataclass
class PlainRun:
    rows: dict[str, Row] = field(default_factory=dict)
    """Outcomes by test, or by pytest node."""
    indicators: dict[str, list[str]] = field(default_factory=dict)
    """Messages of tamper indicators by test; under "" those outside of any test."""
    loaded: dict[str, str] = field(default_factory=dict)
    """Modules to their files: relative to the program's folder, or absolute. Files of the program
    that ran are also listed under their own path."""
    problem: str = ""
    skipped: str = ""

    def indicators_of(self, test: str) -> list[str]:
        return [*self.indicators.get(test, ()), *self.indicators.get("", ())]


async def run_tests(
    group: Group, run: PlainRun, keys: Sequence[str] = (), variation: RunVariation = ""
) -> None:
    """Runs the tests of these keys, or all of a group, restarting after a test that ended the
    process; a file runs in one pytest session."""
    while remaining := [*group.remaining(keys, run.rows).values()]:
        before = len(run.rows)
        finished = await _one_process(group, remaining, run, keys, variation)
        if finished or len(run.rows) == before:
            return


async def _one_process(
    group: Group, tests: list[TestCase], run: PlainRun, keys: Sequence[str], variation: RunVariation
) -> bool:
    """Runs the remaining tests in one process; returns whether it finished."""
    subject = group.subject
    key = secrets.token_bytes(32)
    rewriting = Canary(variation, f"_{secrets.token_hex(8)}")
    with_pytest = group.code is not None or subject.needs_packages(tests)
    folders = subject.task.site_dirs
    ours = await jail_modules.bundle(subject.sandbox, folders, with_pytest=with_pytest)
    # As similar to a user's machine as the jail can be: with processes, sockets and `/tmp`.
    user_machine = variation == "user machine"
    starts, connects = (True, True) if user_machine else subject.grants(tests)
    files = {
        path: rewriting.program(text) if path.endswith(".py") else text
        for path, text in subject.files_for(tests).items()
    }
    test_files = {} if group.code is None else {group.path: rewriting.test(group.code)}
    all_files = {**subject.test_support, **files, **test_files}
    program = [path for path in files if path.endswith(".py") and path not in subject.test_support]
    code = "\n".join(dict.fromkeys(test.code for test in tests))
    helpers: list[Json] = [*subject.helpers(code)]
    payload = subject.payload | group.payload(keys, run.rows) | {
        "text": files[subject.solution.entry], "words": code + subject.helper_texts,
        "key": key.hex(), "variation": variation, "canary_name": rewriting.name,
        "cpu_s": subject.test_s, "files": [*all_files],
        "program_files": [*program], "test_files": [*test_files, *helpers],
        "texts": "\n".join(mask(files[path]) for path in program),
        "names": [*sorted(subject.all_modules)],
    }
    job = replace(
        subject.job("plain_run", payload, MAX_S, ours), files=all_files, stdin=subject.task.stdin,
        processes=starts, loopback=connects,
    )
    if user_machine:
        job = replace(job, limits=replace(job.limits, **_OTHER_LIMITS))
    async with subject.sandbox.start(job) as process:
        finished = await _listen(process, key, subject, run)
        if any(lacks_permission(row) for row in run.rows.values()):
            refusals = (await process.kill()).refusals
            run.rows = {name: with_refusals(row, refusals) for name, row in run.rows.items()}
    return finished


async def _listen(process: Process, key: bytes, subject: Subject, run: PlainRun) -> bool:
    """Receives the process's messages; returns whether it finished, rather than ended early."""
    receive_timeout_s = START_S
    running_test, count = "", 0
    while True:
        message = await process.receive(receive_timeout_s)
        if isinstance(message, Outcome):
            _record_early_end(message, running_test, subject, run)
            return False
        sent = authenticated_content(message, key, count)
        if sent is None:
            run.indicators.setdefault("", []).append(message_of("forged-message"))
            continue
        count += 1
        match sent:
            case {"begin": str(running_test)}:
                receive_timeout_s = subject.test_s * WALL_FACTOR + GRACE_S
            case {"ended": str(test)}:
                run.rows[test] = sent
                if sent["status"] == "timeout":
                    subject.timed_out.append(test)
                running_test, receive_timeout_s = "", START_S
            case {"sign": str(rule), "detail": str(detail), "test": str(test)}:
                run.indicators.setdefault(test, []).append(message_of(rule, detail))
            case {"done": True, "problem": str(problem), "loaded": dict(loaded)}:
                run.problem, run.loaded = problem, {**run.loaded, **loaded}
                run.skipped = str(sent.get("skipped", ""))
                return True


def authenticated_content(message: Json, key: bytes, count: int) -> dict[str, Any] | None:
    """The content of a message that our own runner signed; `None` for any other message."""
    match message:
        case {"said": str(text), "mark": str(mark)}:
            keyed = hashlib.blake2b(key=key, digest_size=16)
            keyed.update(f"{count}\0{text}".encode("utf-8", "surrogatepass"))
            if secrets.compare_digest(keyed.hexdigest(), mark):
                sent = json.loads(text)
                return sent if isinstance(sent, dict) else None
    return None


def _record_early_end(outcome: Outcome, running_test: str, subject: Subject, run: PlainRun) -> None:
    """Records that the process ended early, during a test or outside of any."""
    if running_test:
        if outcome.ended == "timeout":
            subject.timed_out.append(running_test)
            run.rows[running_test] = {
                "status": "timeout", "message": f"did not end within {subject.test_s:g} s",
            }
        else:
            run.rows[running_test] = {"status": "error", "message": ended(outcome)}
        return
    if run.rows:
        run.indicators.setdefault("", []).append(message_of("ended-early"))
    if not run.problem:
        last_line = outcome.stderr.strip().rpartition("\n")[2][-300:]
        run.problem = (
            "collecting the tests timed out" if outcome.ended == "timeout"
            else last_line or ended(outcome)
        )
