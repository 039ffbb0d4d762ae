"""Runs attacks against a sandbox and, as a control, without a jail in a naive harness.

The naive harness is a typical first sandbox: `subprocess.run([python, file])` with a time-out, the
app's environment and inheritable descriptors, a reused folder, and a channel for the result. A
variant calls `exec` in one interpreter to save the start of Python.
"""

from __future__ import annotations

import asyncio
import errno
import json
import signal
import socket
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from sandbox.attacks.attack import ATTACK_SUCCEEDED, ATTACKS, Attack
from sandbox.attacks.targets import Targets
from sandbox.contract import script
from sandbox.levels import Isolation
from sandbox.sandbox import Sandbox

MAX_CONCURRENT = 4
_NAIVE_TIMEOUT_S = 120.0
_OUTPUT_KEPT = 10_000_000

_INTERPRETER = """\
import sys
*paths, facts = sys.argv[1:]
sys.argv[1:] = [facts]
for path in paths:
    try:
        exec(compile(open(path).read(), path, "exec"), {"__name__": "__main__"})
    except Exception as error:
        print(repr(error), file=sys.stderr)
"""


@dataclass(frozen=True)
class AttackResult:
    """The result of one attack.

    blocked   it started and was refused with the result that this level promises; if the level
              promises nothing, with any result that is not in `Attack.control`
    breached  it succeeded, or failed in a way that does not prove that the jail refused it
    skipped   it does not apply to this machine, or failed without a jail too
    """

    name: str
    result: Literal["blocked", "breached", "skipped"]
    errno: str = ""
    """Its result in the jail: an errno, signal or limit that ended it, `absent` or `through`."""
    control: str = ""
    """Its result in the naive harness."""
    why: str = ""
    """Why it was skipped, or the promised result if it was breached."""


@dataclass(frozen=True)
class AttackReport:
    """The reports of an attack's program, and how its process ended."""

    starts: int
    """The number of attempts that reported their start."""
    answer: str
    """What ended the process, else the last reported result, else empty."""


@dataclass(frozen=True)
class Gauntlet:
    """The results of all attacks at the tested level."""

    isolation: Isolation
    results: tuple[AttackResult, ...]

    def count(self, result: str) -> int:
        """The number of attacks with this result."""
        return sum(one.result == result for one in self.results)


async def gauntlet(
    sandbox: Sandbox, targets: Targets, attacks: Sequence[Attack] = ATTACKS
) -> Gauntlet:
    """Runs attacks on these targets against a sandbox."""
    isolation = await sandbox.isolation()
    return Gauntlet(isolation, tuple(await run_attacks(sandbox, targets, attacks, isolation.level)))


async def run_attacks(
    sandbox: Sandbox, targets: Targets, attacks: Sequence[Attack], level: str
) -> list[AttackResult]:
    """Runs every attack and its control; returns the results in the order of the attacks."""
    semaphore = asyncio.Semaphore(MAX_CONCURRENT)

    async def one(attack: Attack) -> AttackResult:
        async with semaphore:
            return await _one(sandbox, targets, attack, level)

    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(one(attack)) for attack in attacks]
    return [task.result() for task in tasks]


async def _one(sandbox: Sandbox, targets: Targets, attack: Attack, level: str) -> AttackResult:
    if why_unsupported := attack.why_unsupported():
        return AttackResult(attack.name, "skipped", why=why_unsupported)
    if (control := targets.control_runs.get(attack.name)) is None:
        control = await asyncio.to_thread(_in_naive_harness, attack, targets)
        targets.control_runs[attack.name] = control
    if control not in attack.control:
        found = control or "nothing: it did not complete"
        why = f"the result of its control was {found}, so it proves nothing here"
        return AttackResult(attack.name, "skipped", control=control, why=why)
    started, met, stderr_tail = await _in_jail(sandbox, targets, attack)
    promised = attack.refusals.get(level, "")
    if not started:
        why = f"it did not start: {stderr_tail}"
        return AttackResult(attack.name, "skipped", met, control, why)
    # If nothing is promised, an error that the control also gets does not count as blocked.
    is_blocked = met in promised.split(" or ") if promised else met not in (*attack.control, "")
    if is_blocked:
        return AttackResult(attack.name, "blocked", met, control)
    why = f"promised: {promised or 'nothing at this level'}" + ("" if met else f"; {stderr_tail}")
    return AttackResult(attack.name, "breached", met, control, why)


async def _in_jail(sandbox: Sandbox, targets: Targets, attack: Attack) -> tuple[bool, str, str]:
    """Whether the attack started, its result, and the end of its standard error."""
    started, met, stderr_tail = False, "", ""
    for number, text in enumerate(attack.texts()):
        job = script(
            text, limits=attack.limits, arguments=(targets.facts(),),
            package_folders=(targets.given_packages,) if attack.with_given_packages else (),
        )
        outcome = await sandbox.run(job)
        killed_by: str = "" if outcome.ended in ("completed", "exited") else outcome.ended
        if killed_by == "killed":
            killed_by = outcome.signal or killed_by
        report = read(outcome.stdout.encode(), killed_by)
        stderr_tail = outcome.stderr[-300:] or f"ended {outcome.ended}"
        started = started or report.starts > 0
        if number and not report.starts:
            return started, ATTACK_SUCCEEDED, f"the next job did not run: {stderr_tail}"
        met = report.answer
        if met in errno.errorcode.values():
            break  # the first job was refused, so the second has nothing to find
    return started, met, stderr_tail


def _in_naive_harness(attack: Attack, targets: Targets) -> str:
    """The result of the attack without a jail; empty if it did not start."""
    folder = Path(targets.folder, "controls", attack.name.replace("/", " "))
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for number, text in enumerate(attack.texts()):
        path = folder / f"attack-{number}.py"
        path.write_text(text, encoding="utf-8")
        paths.append(str(path))
    if attack.harness == "process":
        reports = [_run([path], folder, targets) for path in paths]
    else:
        reports = [_run(["-c", _INTERPRETER, *paths], folder, targets)]
    if not reports[0].starts:
        return ""
    if attack.harness == "interpreter" and reports[-1].starts < len(paths):
        return ATTACK_SUCCEEDED  # the harness died before it ran the next program
    return reports[-1].answer


def _run(arguments: list[str], folder: Path, targets: Targets) -> AttackReport:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        try:
            ended = subprocess.run(
                [sys.executable, *arguments, targets.facts()],
                stdin=subprocess.DEVNULL, capture_output=True, timeout=_NAIVE_TIMEOUT_S,
                check=False, cwd=folder, pass_fds=(targets.leaked_fd, theirs.fileno()),
            )
        except subprocess.TimeoutExpired as late:
            return read(late.stdout or b"", "timeout")
    code = ended.returncode
    return read(ended.stdout[:_OUTPUT_KEPT], signal.Signals(-code).name if code < 0 else "")


def read(printed: bytes, killed_by: str) -> AttackReport:
    """Parses the output of an attack, which may be anything. `killed_by`, if not empty, replaces
    the reported answer."""
    starts, answer = 0, ""
    for line in printed.split(b"\n"):
        if not line.startswith(b"{") or len(line) > 1000:
            continue
        try:
            entry = json.loads(line)
        except ValueError:
            continue
        if entry.get("started") is True:
            starts += 1
            answer = ""
        elif isinstance(entry.get("answer"), str):
            answer = entry["answer"]
    return AttackReport(starts, killed_by or answer)
