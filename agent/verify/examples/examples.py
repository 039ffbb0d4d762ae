"""Judges examples without a process for tests: sends a call, and compares the returned value.

An example is a call of the program's own functions with literal arguments, and the literal it must
return or the builtin exception it must raise. Only the call runs in the program's process, and the
host compares the answer. Other tests, and answers that are not plain values, need a plain run.
"""

from __future__ import annotations

import ast
import builtins
import secrets
import sys
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any

from agent.core.domain import Example, Raises, TestCase
from agent.core.trees import expression, is_literal, literal
from agent.verify.examples import plain_values
from agent.verify.examples.library import ValuesToCalls
from agent.verify.examples.plain_values import BadWireForm
from agent.verify.rewriting.messages import first_line, short
from agent.verify.subject import Subject
from sandbox.sandbox import Process
from sandbox.types import Json, Outcome, SandboxError

START_S = 30.0
"""Limit for the start of an interpreter on a busy machine."""
EXIT_S = 0.05
ANSWER_BYTES = 2_000_000
"""More than any answer that the host compares, JSON escapes included."""
_NOT_ALLOWED = ("PermissionError", "FileNotFoundError", "Permission denied", "not permitted")

_TRUTHS = {"true": "a true value", "false": "a false value"}

Row = Mapping[str, Any]


@dataclass(frozen=True)
class ExampleCall:
    """A call of the program, and the expected answer, which only the host knows."""

    call: str
    names: tuple[str, ...]
    expected: Any
    """Any literal, or `None` where an exception is expected."""
    exception: str = ""
    parts: int = 0
    how: str = "=="
    """How the answer is compared: equal (`==`), identical (`is`), `true` or `false`."""


def example_call(test: TestCase) -> ExampleCall | None:
    """The call of a test whose answer the host can compare; `None` for any other test."""
    match test:
        case Example(call=call, expected=expected):
            return plain_call(expression(call), expression(expected))
        case Raises(call=call, exception=exception):
            return plain_call(expression(call), ast.Constant(None), exception)
    return None


def plain_call(
    node: ast.expr | None, expected: ast.expr | None, exception: str = "", how: str = "=="
) -> ExampleCall | None:
    """A call whose answer the host can compare.

    `None` where the call uses more than the program's names and literals, or no literal is
    expected.
    """
    value = expected and literal(expected)
    if node is None or not value:
        return None
    try:
        parts = plain_values.parts(plain_values.encode(value[0]))
    except ValueError:
        return None
    kind = getattr(builtins, exception, None) if exception else None
    if exception and not (isinstance(kind, type) and issubclass(kind, BaseException)):
        return None
    names: list[str] = []
    calls = any(isinstance(one, ast.Call) for one in ast.walk(node))
    if parts > plain_values.MAX_PARTS or not (calls and _is_plain_call(node, names) and names):
        return None
    call = ast.unparse(ValuesToCalls().visit(node))
    return ExampleCall(call, tuple(names), value[0], exception, parts, how)


def _is_plain_call(node: ast.expr, names: list[str]) -> bool:
    """Whether an expression has only calls, attributes, items, literals and program names.

    A name that Python defines too is ambiguous, so such a call is not plain.
    """
    match node:
        case ast.Name(id=name):
            names.append(name)
            return not hasattr(builtins, name) and name not in sys.stdlib_module_names
        case ast.Attribute(value=owner, attr=name):
            return not name.startswith("__") and _is_plain_call(owner, names)
        case ast.Subscript(value=owner, slice=key):
            return is_literal(key) and _is_plain_call(owner, names)
        case ast.Call(func=function, args=args, keywords=keywords):
            return _is_plain_call(function, names) and all(
                is_literal(arg) or _is_plain_call(arg, names)
                for arg in (*args, *(keyword.value for keyword in keywords))
            ) and all(keyword.arg for keyword in keywords)
    return False


class ProgramProcess:
    """A process with the program and no tests, which answers calls one after another."""

    def __init__(self, process: Process, numbers: Sequence[str], wall_s: float) -> None:
        self.process = process
        self._numbers = iter(numbers)
        self._wall_s = wall_s

    async def answer(self) -> Mapping[str, Json] | Outcome:
        """The answer to the next call, or how the process ended; raises `BadWireForm` otherwise."""
        reply, number = await self.process.receive(self._wall_s), next(self._numbers)
        if isinstance(reply, Outcome) or (isinstance(reply, dict) and reply.get("id") == number):
            return reply
        raise BadWireForm("not an answer to this call")


@asynccontextmanager
async def start_program(
    subject: Subject, calls: Sequence[tuple[str, Sequence[str]]], wall_s: float
) -> AsyncIterator[ProgramProcess]:
    """A process that answers these calls, each given with the program's names in it.

    `wall_s` is the deadline of each call.
    """
    numbers = [secrets.token_hex(8) for _ in calls]
    requests: list[Json] = [
        {"id": number, "call": call, "names": [*names]}
        for number, (call, names) in zip(numbers, calls, strict=True)
    ]
    job = subject.job(
        "answer_calls", {**subject.payload, "calls": requests}, START_S + len(requests) * wall_s
    )
    message_bytes = min(ANSWER_BYTES * (1 + len(requests)), 64_000_000)
    limits = replace(job.limits, message_bytes=message_bytes)
    async with subject.sandbox.start(replace(job, files=subject.files, limits=limits)) as process:
        begun = await process.receive(START_S)
        if begun != {"begun": True}:
            how = begun.stderr.strip()[-300:] if isinstance(begun, Outcome) else "wrong message"
            raise SandboxError(f"the program's process did not start: {how}")
        yield ProgramProcess(process, numbers, wall_s)


async def answers(subject: Subject, calls: Sequence[ExampleCall]) -> list[Row | None]:
    """A row for each call, up to the first that ends the process; `None` for an answer that is not
    plain, whose example needs a plain run."""
    wall_s = subject.test_s
    rows: list[Row | None] = []
    named = [(call.call, call.names) for call in calls]
    async with start_program(subject, named, wall_s) as program:
        for call in calls:
            started = time.monotonic()
            row = await _row(call, program, wall_s)
            rows.append(row and {**row, "wall_s": time.monotonic() - started})
            if row and row.get("last"):
                break
        else:
            # Waiting briefly for the exit is cheaper than killing the process.
            await program.process.receive(EXIT_S)
        if any(row and lacks_permission(row) for row in rows):
            refusals = (await program.process.kill()).refusals
            rows = [row and with_refusals(row, refusals) for row in rows]
    return rows


async def _row(call: ExampleCall, program: ProgramProcess, wall_s: float) -> Row | None:
    """The row of one answer; `last` in it says that the process ended."""
    row = {"status": "error", "call": call.call, "last": True}
    try:
        reply = await program.answer()
        if not isinstance(reply, Outcome):
            return _judged(call, reply)
    except BadWireForm as error:
        return row | {"message": f"the program's process sent an invalid answer: {error}"}
    if reply.ended == "timeout":
        return row | {"status": "timeout", "message": f"did not end within {wall_s:g} s"}
    return row | {"message": ended(reply)}


def _judged(call: ExampleCall, answer: Mapping[str, Json]) -> Row | None:
    match answer:
        case {"untold": str()}:
            return None
        case {"raised": dict(raised), "loaded": bool(loaded)}:
            return _raised(call, raised, loaded)
        case {"value": value}:
            return _compared(call, value)
    raise BadWireForm("an answer without a value")


def _raised(call: ExampleCall, raised: Mapping[str, Json], loaded: bool) -> Row:
    match raised:
        case {"name": str(name), "text": str(text), "place": str(where), "kinds": list(kinds)}:
            if loaded and call.exception and call.exception in kinds:
                return {"status": "passed"}
            message = first_line(f"{name}: {text}" if text else name)
            return {
                "status": "error", "message": f"{message} at {where}" if where else message,
                "got": message, "call": call.call if loaded else "",
            }
    raise BadWireForm("an invalid exception")


def _compared(call: ExampleCall, wire: Json) -> Row:
    """The row of a returned value, which is only rebuilt if it has as many parts as expected."""
    if call.exception:
        return {
            "status": "failed", "call": call.call, "got": plain_values.shown(wire),
            "expected": f"raises {call.exception}",
            "message": f"{short(call.call)} gave {short(plain_values.shown(wire))}: "
                       f"it did not raise {call.exception}",
        }
    count = plain_values.parts(wire)
    if count == call.parts or (call.how in _TRUTHS and count <= plain_values.MAX_PARTS):
        value = plain_values.decode(wire)
        differs = plain_values.differs(value, call.expected)
        if call.how in _TRUTHS:
            holds = bool(value) is (call.how == "true")
        else:
            holds = call.expected == value and not (call.how == "is" and differs)
        if holds:
            return {"status": "passed", "type_differs": differs and call.how == "=="}
    got = plain_values.shown(wire)
    expected = _TRUTHS.get(call.how) or plain_values.shown(plain_values.encode(call.expected))
    return {
        "status": "failed", "call": call.call, "got": got, "expected": expected,
        "message": f"{short(call.call)} gave {short(got)}, expected {short(expected)}",
    }


def ended(outcome: Outcome) -> str:
    """The message of a verdict on how a solution's process ended."""
    if outcome.ended == "garbled":
        return f"the program's process sent an invalid message: {outcome.limit}"
    how = outcome.limit or (outcome.signal and f"signal {outcome.signal}") or (
        f"exit code {outcome.exit_code}" if outcome.exit_code is not None else outcome.ended
    )
    return f"the program ended its process ({how})"


def lacks_permission(row: Row) -> bool:
    """Whether a test failed because of a permission that a jail may refuse."""
    message = str(row.get("message"))
    return row.get("status") != "passed" and any(word in message for word in _NOT_ALLOWED)


def with_refusals(row: Row, refusals: tuple[str, ...]) -> Row:
    """Adds the jail's refusals to the message of a test that lacked a permission."""
    if not refusals or not lacks_permission(row):
        return row
    return {**row, "message": f"{row['message']}; {'; '.join(refusals)}"}
