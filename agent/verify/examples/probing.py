"""Puts calls beyond the tests' to a program, in processes that hold the program alone.

The processes are those that answer the judge's examples: a program that is probed sees nothing
else than one that is judged. No test and no expected value is anywhere near.
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
from agent.verify.examples.examples import asking
from agent.verify.examples.plain_values import NotPlain
from agent.verify.subject import Subject
from sandbox.sandbox import Sandbox
from sandbox.types import Json, Outcome

TOGETHER = 43
"""Calls that one process is asked at most; several processes answer side by side."""
MAX_LOST = 2
"""After so many calls that did not end, the others of their process are not made."""

Kind = Literal["value", "untold", "raised", "endless", "ended", "unloaded", "unasked"]
FAILURES: tuple[Kind, ...] = ("raised", "endless", "ended", "unloaded")


@dataclass(frozen=True)
class ProbeAnswer:
    """What a program gave for one call.

    value     a plain value, `words` its form that is alike in all processes
    untold    a value that cannot be sent: an object of the program's own
    raised    an exception, `words` its name
    endless   no end within the time for one call
    ended     the end of its process, or what is no answer
    unloaded  the program itself raised before the call was made
    unasked   the call was not made: time was up, or too many before it did not end
    """

    kind: Kind
    words: str = ""
    wire: Json = None
    """The wire form of a plain value."""

    @property
    def failed(self) -> bool:
        return self.kind in FAILURES


UNASKED = ProbeAnswer("unasked")


async def answers(
    solution: Solution, called: Sequence[str], task: Task, sandbox: Sandbox, *, wall_s: float,
    until: float,
) -> tuple[ProbeAnswer, ...]:
    """One answer for each call, each to the program loaded afresh; `wall_s` is for one call,
    `until` for all of them, on the monotonic clock."""
    subject = Subject(solution, task, sandbox, wall_s)
    parts = [called[first : first + TOGETHER] for first in range(0, len(called), TOGETHER)]
    found = await asyncio.gather(*(_part(subject, part, until) for part in parts))
    return tuple(one for part in found for one in part)


async def _part(subject: Subject, called: Sequence[str], until: float) -> list[ProbeAnswer]:
    """What one process answers, and another after a call that ends it."""
    found: list[ProbeAnswer] = []
    calls = [(call, _roots(call)) for call in called]
    while (left := calls[len(found) :]) and time.monotonic() < until and (
        [one.kind for one in found].count("endless") < MAX_LOST
    ):
        async with asking(subject, left, subject.wall_s) as asked:
            while len(found) < len(calls) and time.monotonic() < until:
                try:
                    found.append(_answered(await asked.answer()))
                except NotPlain:
                    found.append(ProbeAnswer("ended"))
                if found[-1].kind in ("ended", "endless"):
                    break
    return [*found, *[UNASKED] * (len(called) - len(found))]


def _answered(reply: Mapping[str, Json] | Outcome) -> ProbeAnswer:
    """A reply as an answer; raises `NotPlain` for what makes no sense."""
    if isinstance(reply, Outcome):
        return ProbeAnswer("endless" if reply.ended == "timeout" else "ended")
    match reply:
        case {"untold": str()}:
            return ProbeAnswer("untold")
        case {"raised": {"name": str(name)}, "loaded": bool(loaded)}:
            return ProbeAnswer("raised" if loaded else "unloaded", name)
        case {"value": value}:
            plain_values.shown(value)
            return ProbeAnswer("value", json.dumps(_alike(value)), value)
    raise NotPlain("an answer without a value")


def _alike(wire: Json) -> Json:
    """A value's wire form with the members of sets in an order of their own."""
    match wire:
        case ["s" | "z" as tag, list(items)]:
            return [tag, sorted(map(_alike, items), key=json.dumps)]
        case [str(tag), list(items)]:
            return [tag, [_alike(one) for one in items]]
    return wire


def _roots(call: str) -> list[str]:
    """The program's names at which a call begins, or what the call's own function is given."""
    node = parse_expression(call)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Lambda):
        return [_root(given, call) for given in node.args]
    return [_root(node, call)]


def _root(node: ast.expr, call: str) -> str:
    while not isinstance(node, ast.Name):
        match node:
            case ast.Call(func=inner) | ast.Attribute(value=inner):
                node = inner
            case _:
                raise ValueError(f"no call of a program's name: {call}")
    return node.id
