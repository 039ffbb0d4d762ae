"""The plain run: tests as a user runs them, in one jailed process, with real objects.

Its word is the outcome of each test, in pytest's own classes. It does not say whether a pass can
be believed, but tells what the program was seen doing to its tests meanwhile (`indicators`).
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
from agent.verify.examples.examples import ended, explained, lacks_permission
from agent.verify.groups import Group
from agent.verify.plain.canary import Canary, CanaryKind
from agent.verify.rewriting.masking import mask
from agent.verify.subject import Subject
from agent.verify.tamper_indicators import words
from sandbox.sandbox import Process
from sandbox.types import Json, Outcome

START_S = 30.0
"""A busy machine may take this long to start an interpreter and to collect a file."""
WALL_FACTOR = 3.0
"""A test's deadline is processor time; on the wall it has so many times as much."""
GRACE_S = 4.0
MAX_S = 3600.0
"""Of a whole process; each of its tests has a deadline of its own."""

_OTHER_LIMITS = {"open_files": 1000, "memory_mib": 1024}
"""Of a run in other surroundings: what a program could know the usual ones by."""

Row = Mapping[str, Any]


@dataclass
class PlainRun:
    """What a plain run reported."""

    rows: dict[str, Row] = field(default_factory=dict)
    """Test, or node of pytest, to how it came out."""
    indicators: dict[str, list[str]] = field(default_factory=dict)
    """Test to what was seen there, in words; under "" what was seen outside of any test."""
    loaded: dict[str, str] = field(default_factory=dict)
    """Modules to their files: relative to the program's folder, or absolute. Files of the program
    that ran, as a module or otherwise, stand under their own path too."""
    problem: str = ""
    """Why no test could be collected."""
    skipped: str = ""
    """Why the whole file sets itself aside."""

    def indicators_of(self, test: str) -> list[str]:
        """What was seen while the test ran, or outside of any."""
        return [*self.indicators.get(test, ()), *self.indicators.get("", ())]


async def run_tests(
    group: Group, run: PlainRun, keys: Sequence[str] = (), canary: CanaryKind = ""
) -> None:
    """Runs the tests of these keys, or all of a group, and again what is left after one that ended
    the process; a file in one session of pytest."""
    while asked := [*group.left(keys, run.rows).values()]:
        before = len(run.rows)
        finished = await _one_process(group, asked, run, keys, canary)
        if finished or len(run.rows) == before:
            return


async def _one_process(
    group: Group, asked: list[TestCase], run: PlainRun, keys: Sequence[str], canary: CanaryKind
) -> bool:
    """Runs what is left in one process; whether it came to its end."""
    subject = group.subject
    key = secrets.token_bytes(32)
    rewriting = Canary(canary, f"_{secrets.token_hex(8)}")
    with_pytest = group.code is not None or subject.needs_packages(asked)
    ours = await jail_modules.bundle(subject.sandbox, subject.task.sites, with_pytest)
    # As nearly as a user's machine as the jail can be: with processes, sockets and `/tmp`.
    apart = canary == "elsewhere"
    starts, connects = (True, True) if apart else subject.grants(asked)
    files = {
        path: rewriting.program(text) if path.endswith(".py") else text
        for path, text in subject.files_for(asked).items()
    }
    tests = {} if group.code is None else {group.path: rewriting.test(group.code)}
    laid = {**subject.test_support, **files, **tests}
    program = [path for path in files if path.endswith(".py") and path not in subject.test_support]
    code = "\n".join(dict.fromkeys(test.code for test in asked))
    helpers: list[Json] = [*subject.helpers(code)]
    sent = subject.payload | group.payload(keys, run.rows) | {
        "text": files[subject.solution.entry], "words": code + subject.helper_words,
        "key": key.hex(), "canary": canary, "canary_name": rewriting.name, "cpu_s": subject.test_s,
        "program_files": [*program], "test_files": [*tests, *helpers], "laid": [*laid],
        "texts": "\n".join(mask(files[path]) for path in program),
        "names": [*sorted(subject.all_modules)],
    }
    job = replace(
        subject.job("plain_run", sent, MAX_S, ours), files=laid, stdin=subject.task.stdin,
        processes=starts, loopback=connects,
    )
    if apart:
        job = replace(job, limits=replace(job.limits, **_OTHER_LIMITS))
    async with subject.sandbox.start(job) as process:
        finished = await _listen(process, key, subject, run)
        if any(lacks_permission(row) for row in run.rows.values()):
            refusals = (await process.kill()).refusals
            run.rows = {name: explained(row, refusals) for name, row in run.rows.items()}
    return finished


async def _listen(process: Process, key: bytes, subject: Subject, run: PlainRun) -> bool:
    """Takes what the process tells until it is done, or has ended."""
    patience_s = START_S
    begun, count = "", 0
    while True:
        message = await process.receive(patience_s)
        if isinstance(message, Outcome):
            _cut_off(message, begun, subject, run)
            return False
        sent = authentic(message, key, count)
        if sent is None:
            run.indicators.setdefault("", []).append(words("forged-word"))
            continue
        count += 1
        match sent:
            case {"begin": str(begun)}:
                patience_s = subject.test_s * WALL_FACTOR + GRACE_S
            case {"ended": str(test)}:
                run.rows[test] = sent
                if sent["status"] == "timeout":
                    subject.late.append(test)
                begun, patience_s = "", START_S
            case {"sign": str(sign), "detail": str(detail), "test": str(test)}:
                run.indicators.setdefault(test, []).append(words(sign, detail))
            case {"done": True, "problem": str(problem), "loaded": dict(loaded)}:
                run.problem, run.loaded = problem, {**run.loaded, **loaded}
                run.skipped = str(sent.get("skipped", ""))
                return True


def authentic(message: Json, key: bytes, count: int) -> dict[str, Any] | None:
    """What our own runner says; `None` for anything else."""
    match message:
        case {"said": str(text), "mark": str(mark)}:
            keyed = hashlib.blake2b(key=key, digest_size=16)
            keyed.update(f"{count}\0{text}".encode("utf-8", "surrogatepass"))
            if secrets.compare_digest(keyed.hexdigest(), mark):
                sent = json.loads(text)
                return sent if isinstance(sent, dict) else None
    return None


def _cut_off(outcome: Outcome, begun: str, subject: Subject, run: PlainRun) -> None:
    """The process is gone: in the midst of a test, or outside of any."""
    if begun:
        if outcome.ended == "timeout":
            subject.late.append(begun)
            run.rows[begun] = {
                "status": "timeout", "message": f"no end within {subject.test_s:g} s",
            }
        else:
            run.rows[begun] = {"status": "error", "message": ended(outcome)}
        return
    if run.rows:
        run.indicators.setdefault("", []).append(words("ended-early"))
    if not run.problem:
        said = outcome.stderr.strip().rpartition("\n")[2][-300:]
        run.problem = (
            "collecting the tests came to no end" if outcome.ended == "timeout"
            else said or ended(outcome)
        )
