"""Runs attacks against a sandbox and says of each what became of it."""

from __future__ import annotations

import asyncio
import errno
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from sandbox.attacks import naive
from sandbox.attacks.attack import THROUGH, Attack
from sandbox.attacks.report import Report, read
from sandbox.attacks.world import World
from sandbox.contract import script
from sandbox.sandbox import Sandbox
from sandbox.types import Outcome

AT_ONCE = 4


@dataclass(frozen=True)
class Result:
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


async def assail(
    sandbox: Sandbox, world: World, attacks: Sequence[Attack], level: str
) -> list[Result]:
    """Tries every attack, each beside its control; results in the order of the attacks."""
    some = asyncio.Semaphore(AT_ONCE)

    async def one(attack: Attack) -> Result:
        async with some:
            return await _one(sandbox, world, attack, level)

    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(one(attack)) for attack in attacks]
    return [task.result() for task in tasks]


async def _one(sandbox: Sandbox, world: World, attack: Attack, level: str) -> Result:
    if unfit := attack.unfit():
        return Result(attack.name, "skipped", why=unfit)
    if attack.name not in world.answers:
        world.answers[attack.name] = await naive.answer(attack, world)
    control = world.answers[attack.name]
    if control not in attack.control:
        met = control or "nothing: it did not run to its end"
        why = f"its control met {met}, so nothing can be learned from it here"
        return Result(attack.name, "skipped", control=control, why=why)
    started, met, last_words = await _in_jail(sandbox, world, attack)
    promised = attack.refusals.get(level, "")
    if not started:
        return Result(attack.name, "skipped", met, control, f"it did not start: {last_words}")
    # Where nothing is promised, what the kernel itself found fault with was held by nobody.
    held = met in promised.split(" or ") if promised else met not in (*attack.control, "")
    if held:
        return Result(attack.name, "blocked", met, control)
    why = f"promised: {promised or 'nothing at this level'}"
    return Result(attack.name, "breached", met, control, why if met else f"{why}; {last_words}")


async def _in_jail(sandbox: Sandbox, world: World, attack: Attack) -> tuple[bool, str, str]:
    """Whether it started, what it met, and the end of what it complained of."""
    started, met, last_words = False, "", ""
    for number, text in enumerate(attack.texts()):
        job = script(
            text, limits=attack.limits, arguments=(world.facts(),),
            sites=(world.site,) if attack.with_site else (),
        )
        outcome = await sandbox.run(job)
        report = _read(outcome)
        last_words = outcome.stderr[-300:] or f"ended {outcome.ended}"
        started = started or report.started
        if number and not report.started:
            return started, THROUGH, f"the next job did not run: {last_words}"
        met = report.answer
        if met in errno.errorcode.values():
            break  # refused already, so there is nothing for the next job to find
    return started, met, last_words


def _read(outcome: Outcome) -> Report:
    ended_by = {"killed": outcome.signal or "killed"}.get(outcome.ended, outcome.ended)
    killed_by = "" if outcome.ended in ("completed", "exited") else ended_by
    return read(outcome.stdout.encode(), killed_by)
