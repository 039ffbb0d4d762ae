"""Runs attacks against a sandbox, and beside it in a naive harness; says what became of each.

The naive harness is a sandbox as people write it first, the control of every attack:
`subprocess.run([python, file])` with a timeout, the app's environment, the descriptors that the
app lets its programs inherit, a folder that is used again, and a channel on which a result is
awaited. Where a harness saves the start of Python, it calls `exec` in one interpreter.
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

from sandbox.attacks.attack import ATTACKS, THROUGH, Attack
from sandbox.attacks.world import World
from sandbox.contract import script
from sandbox.levels import Isolation
from sandbox.sandbox import Sandbox

AT_ONCE = 4
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
    """What became of one attack.

    blocked   it started, and met exactly the refusal that this level promises; where a level
              promises nothing, any refusal but those of the kernel without a jail
    breached  it got through, or met anything else: an attack that failed for a reason of its
              own has shown nothing
    skipped   nothing can be said: it does not fit this machine, or did not even work where
              nothing holds it
    """

    name: str
    result: Literal["blocked", "breached", "skipped"]
    errno: str = ""
    """What it met in the jail: an errno, what ended it, `absent`, or `through`."""
    control: str = ""
    """What it met in the naive harness."""
    why: str = ""
    """Why it was skipped, or what was promised instead of what it met."""


@dataclass(frozen=True)
class AttackReport:
    """What an attack said of itself, and how its process ended."""

    starts: int
    """How many attempts said that they begin."""
    answer: str
    """What ended the process; else the last answer given; else empty."""


@dataclass(frozen=True)
class Gauntlet:
    """What became of every attack, at the level that was seen to hold."""

    isolation: Isolation
    results: tuple[AttackResult, ...]

    def count(self, result: str) -> int:
        """How many attacks ended so."""
        return sum(one.result == result for one in self.results)


async def gauntlet(
    sandbox: Sandbox, world: World, attacks: Sequence[Attack] = ATTACKS
) -> Gauntlet:
    """Runs attacks against a sandbox, in the surroundings planted for them."""
    isolation = await sandbox.isolation()
    return Gauntlet(isolation, tuple(await run_attacks(sandbox, world, attacks, isolation.level)))


async def run_attacks(
    sandbox: Sandbox, world: World, attacks: Sequence[Attack], level: str
) -> list[AttackResult]:
    """Tries every attack, each beside its control; results in the order of the attacks."""
    some = asyncio.Semaphore(AT_ONCE)

    async def one(attack: Attack) -> AttackResult:
        async with some:
            return await _one(sandbox, world, attack, level)

    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(one(attack)) for attack in attacks]
    return [task.result() for task in tasks]


async def _one(sandbox: Sandbox, world: World, attack: Attack, level: str) -> AttackResult:
    if unfit := attack.unfit():
        return AttackResult(attack.name, "skipped", why=unfit)
    if attack.name not in world.answers:
        world.answers[attack.name] = await asyncio.to_thread(_in_naive_harness, attack, world)
    control = world.answers[attack.name]
    if control not in attack.control:
        met = control or "nothing: it did not run to its end"
        why = f"its control met {met}, so nothing can be learned from it here"
        return AttackResult(attack.name, "skipped", control=control, why=why)
    started, met, stderr_tail = await _in_jail(sandbox, world, attack)
    promised = attack.refusals.get(level, "")
    if not started:
        return AttackResult(
            attack.name, "skipped", met, control, why=f"did not start: {stderr_tail}"
        )
    # Where nothing is promised, what the kernel itself found fault with was held by nobody.
    held = met in promised.split(" or ") if promised else met not in (*attack.control, "")
    if held:
        return AttackResult(attack.name, "blocked", met, control)
    why = f"promised: {promised or 'nothing at this level'}"
    return AttackResult(
        attack.name, "breached", met, control, why if met else f"{why}; {stderr_tail}"
    )


async def _in_jail(sandbox: Sandbox, world: World, attack: Attack) -> tuple[bool, str, str]:
    """Whether it started, what it met, and the end of what it complained of."""
    started, met, stderr_tail = False, "", ""
    for number, text in enumerate(attack.texts()):
        job = script(
            text, limits=attack.limits, arguments=(world.facts(),),
            sites=(world.site,) if attack.with_site else (),
        )
        outcome = await sandbox.run(job)
        killed_by: str = "" if outcome.ended in ("completed", "exited") else outcome.ended
        if killed_by == "killed":
            killed_by = outcome.signal or killed_by
        report = read(outcome.stdout.encode(), killed_by)
        stderr_tail = outcome.stderr[-300:] or f"ended {outcome.ended}"
        started = started or report.starts > 0
        if number and not report.starts:
            return started, THROUGH, f"the next job did not run: {stderr_tail}"
        met = report.answer
        if met in errno.errorcode.values():
            break  # refused already, so there is nothing for the next job to find
    return started, met, stderr_tail


def _in_naive_harness(attack: Attack, world: World) -> str:
    """What the attack met there; empty when it did not even start."""
    room = Path(world.folder, "rooms", attack.name.replace("/", " "))
    room.mkdir(parents=True, exist_ok=True)
    paths = []
    for number, text in enumerate(attack.texts()):
        path = room / f"attack-{number}.py"
        path.write_text(text, encoding="utf-8")
        paths.append(str(path))
    if attack.harness == "process":
        reports = [_run([path], room, world) for path in paths]
    else:
        reports = [_run(["-c", _INTERPRETER, *paths], room, world)]
    if not reports[0].starts:
        return ""
    if attack.harness == "interpreter" and reports[-1].starts < len(paths):
        return THROUGH  # the harness did not live to run the next program
    return reports[-1].answer


def _run(arguments: list[str], room: Path, world: World) -> AttackReport:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        try:
            ended = subprocess.run(
                [sys.executable, *arguments, world.facts()],
                stdin=subprocess.DEVNULL, capture_output=True, timeout=_NAIVE_TIMEOUT_S,
                check=False, cwd=room, pass_fds=(world.leaked, theirs.fileno()),
            )
        except subprocess.TimeoutExpired as late:
            return read(late.stdout or b"", "timeout")
    code = ended.returncode
    return read(ended.stdout[:_OUTPUT_KEPT], signal.Signals(-code).name if code < 0 else "")


def read(printed: bytes, killed_by: str) -> AttackReport:
    """The report in what a program printed, which may be anything; the process that ended it has
    the last word."""
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
