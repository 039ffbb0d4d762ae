"""Probes a program with calls beyond the tests', in processes without tests.

The processes are the same as for the judge's examples, so that a program cannot distinguish
probing from judging. They hold no test and no expected value.
"""

from __future__ import annotations

import ast
import asyncio
import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from agent.core.domain import Solution, Task
from agent.core.trees import parse_expression
from agent.verify.examples import plain_values
from agent.verify.examples.examples import start_program
from agent.verify.examples.plain_values import BadWireForm
from agent.verify.subject import Subject
from sandbox.sandbox import Sandbox
from sandbox.types import Json, Outcome

BATCH_SIZE = 43
"""Maximum number of calls per process; processes run concurrently."""
MAX_TIME_OUTS = 2
"""After this many time-outs the other calls of their process are skipped."""

Kind = Literal["value", "untold", "raised", "endless", "ended", "unloaded", "unasked"]
FAILURES: tuple[Kind, ...] = ("raised", "endless", "ended", "unloaded")


@dataclass(frozen=True)
class ProbeAnswer:
    """A program's answer to one call.

    value     a plain value; `words` is its canonical form
    untold    a value that is not plain, such as an object of the program
    raised    an exception; `words` is its name
    endless   a time-out
    ended     the process ended, or sent an invalid answer
    unloaded  loading the program raised an exception
    unasked   the call was not made: time was up, or too many earlier calls timed out
    """

    kind: Kind
    words: str = ""
    wire: Json = None

    @property
    def failed(self) -> bool:
        return self.kind in FAILURES


NOT_ASKED = ProbeAnswer("unasked")


async def answers(
    solution: Solution, called: Sequence[str], task: Task, sandbox: Sandbox, *, wall_s: float,
    until: float,
) -> tuple[ProbeAnswer, ...]:
    """One answer for each call, the program loaded again for each.

    Args:
        called: The calls.
        wall_s: Deadline of one call, in seconds.
        until: Deadline of all calls, on the monotonic clock.
    """
    subject = Subject(solution, task, sandbox, wall_s)
    batches = [called[first : first + BATCH_SIZE] for first in range(0, len(called), BATCH_SIZE)]
    found = await asyncio.gather(*(_answer_batch(subject, batch, until) for batch in batches))
    return tuple(one for batch in found for one in batch)


async def _answer_batch(subject: Subject, called: Sequence[str], until: float) -> list[ProbeAnswer]:
    """The answers of one process, restarted after a call that ends it."""
    found: list[ProbeAnswer] = []
    calls = [(call, _roots(call)) for call in called]
    while (left := calls[len(found) :]) and time.monotonic() < until and (
        [one.kind for one in found].count("endless") < MAX_TIME_OUTS
    ):
        async with start_program(subject, left, subject.wall_s) as program:
            while len(found) < len(calls) and time.monotonic() < until:
                try:
                    found.append(_probe_answer(await program.answer()))
                except BadWireForm:
                    found.append(ProbeAnswer("ended"))
                if found[-1].kind in ("ended", "endless"):
                    break
    return [*found, *[NOT_ASKED] * (len(called) - len(found))]


def _probe_answer(reply: Mapping[str, Json] | Outcome) -> ProbeAnswer:
    """A reply as an answer; raises `BadWireForm` for an invalid one."""
    if isinstance(reply, Outcome):
        return ProbeAnswer("endless" if reply.ended == "timeout" else "ended")
    match reply:
        case {"untold": str()}:
            return ProbeAnswer("untold")
        case {"raised": {"name": str(name)}, "loaded": bool(loaded)}:
            return ProbeAnswer("raised" if loaded else "unloaded", name)
        case {"value": value}:
            plain_values.shown(value)
            return ProbeAnswer("value", json.dumps(_canonical(value)), value)
    raise BadWireForm("an answer without a value")


def _canonical(wire: Json) -> Json:
    """A value's wire form with the members of sets sorted."""
    match wire:
        case ["s" | "z" as tag, list(items)]:
            return [tag, sorted(map(_canonical, items), key=json.dumps)]
        case [str(tag), list(items)]:
            return [tag, [_canonical(item) for item in items]]
    return wire


def _roots(call: str) -> list[str]:
    """The program's names that a call starts with; for a called lambda, those of its arguments."""
    node = parse_expression(call)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Lambda):
        return [_root(argument, call) for argument in node.args]
    return [_root(node, call)]


def _root(node: ast.expr, call: str) -> str:
    while not isinstance(node, ast.Name):
        match node:
            case ast.Call(func=inner) | ast.Attribute(value=inner):
                node = inner
            case _:
                raise ValueError(f"not a call of a program's name: {call}")
    return node.id
