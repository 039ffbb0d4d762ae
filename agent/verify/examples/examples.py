"""Examples judged without a process for the tests: a call goes out, a value comes back.

An example is a call of the program's own functions with literal arguments, and the literal it
must give or the builtin exception it must raise. Nothing of it needs to run beside the program
but the call, so only the solution has a process, and the host itself compares. Any other test,
and any answer that is not plain (`plain`), is for the tests' process.
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
from agent.core.trees import expression, literal
from agent.verify.examples import plain_values
from agent.verify.examples.library import Writing
from agent.verify.examples.plain_values import NotPlain
from agent.verify.rewriting.messages import first_line, is_literal, short
from agent.verify.subject import Subject
from sandbox.sandbox import Process
from sandbox.types import Json, Outcome, SandboxError

START_S = 30.0
"""A busy machine may take this long to start an interpreter."""
LAST_WORD_S = 0.05
ANSWER_BYTES = 2_000_000
"""More than any answer that the host compares, escapes and all."""
_NOT_ALLOWED = ("PermissionError", "FileNotFoundError", "Permission denied", "not permitted")

_TRUTHS = {"true": "a true value", "false": "a false value"}

Row = Mapping[str, Any]


@dataclass(frozen=True)
class ExampleCall:
    """What an example asks of the program, and what the host keeps to itself."""

    call: str
    names: tuple[str, ...]
    """The program's names in the call."""
    expected: Any
    """Any literal, or `None` where an exception is expected."""
    exception: str = ""
    parts: int = 0
    how: str = "=="
    """How it is expected: equal (`==`), the very constant (`is`), `true` or `false`."""


def example_call(test: TestCase) -> ExampleCall | None:
    """What the test asks, where the host itself can compare the answer."""
    match test:
        case Example(call=call, expected=expected):
            return asked_call(expression(call), expression(expected))
        case Raises(call=call, exception=exception):
            return asked_call(expression(call), ast.Constant(None), exception)
    return None


def asked_call(
    node: ast.expr | None, expected: ast.expr | None, exception: str = "", how: str = "=="
) -> ExampleCall | None:
    """A call whose answer the host can compare; `None` where that is more than the program's own
    names and literals, or what is expected is none."""
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
    call = ast.unparse(Writing().visit(node))
    return ExampleCall(call, tuple(names), value[0], exception, parts, how)


def _is_plain_call(node: ast.expr, names: list[str]) -> bool:
    """Whether an expression is calls, attributes, items, literals and names of the program alone.

    A name that Python has too might be either's; the tests' process can tell.
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
    """A process that holds the program alone, and answers calls one after another."""

    def __init__(self, process: Process, numbers: Sequence[str], wall_s: float) -> None:
        self.process = process
        self._numbers = iter(numbers)
        self._wall_s = wall_s

    async def answer(self) -> Mapping[str, Json] | Outcome:
        """The answer to the next call, or how the process ended; raises `NotPlain` for what is
        neither."""
        reply, number = await self.process.receive(self._wall_s), next(self._numbers)
        if isinstance(reply, Outcome) or (isinstance(reply, dict) and reply.get("id") == number):
            return reply
        raise NotPlain("no answer to what was asked")


@asynccontextmanager
async def asking(
    subject: Subject, calls: Sequence[tuple[str, Sequence[str]]], wall_s: float
) -> AsyncIterator[ProgramProcess]:
    """A process about to answer these calls, each with the program's names in it; `wall_s` is for
    each of them."""
    numbers = [secrets.token_hex(8) for _ in calls]
    called: list[Json] = [
        {"id": number, "call": call, "names": [*names]}
        for number, (call, names) in zip(numbers, calls, strict=True)
    ]
    job = subject.job(
        "answer_calls", {**subject.payload, "calls": called}, START_S + len(called) * wall_s
    )
    message_bytes = min(ANSWER_BYTES * (1 + len(called)), 64_000_000)
    limits = replace(job.limits, message_bytes=message_bytes)
    async with subject.sandbox.start(replace(job, files=subject.files, limits=limits)) as process:
        begun = await process.receive(START_S)
        if begun != {"begun": True}:
            how = begun.stderr.strip()[-300:] if isinstance(begun, Outcome) else "no greeting"
            raise SandboxError(f"the solution's process did not begin: {how}")
        yield ProgramProcess(process, numbers, wall_s)


async def answers(subject: Subject, asks: Sequence[ExampleCall]) -> list[Row | None]:
    """A row for each of the first examples, up to and with the one that ends the process; none
    where the answer is not plain, so that the tests' process must judge the example."""
    wall_s = subject.test_s
    rows: list[Row | None] = []
    async with asking(subject, [(ask.call, ask.names) for ask in asks], wall_s) as asked:
        for ask in asks:
            started = time.monotonic()
            row = await _row(ask, asked, wall_s)
            rows.append(row and {**row, "wall_s": time.monotonic() - started})
            if row and row.get("last"):
                break
        else:
            # It has no more to say; its end is nearer than that of one that must be killed.
            await asked.process.receive(LAST_WORD_S)
        if any(row and lacks_permission(row) for row in rows):
            refusals = (await asked.process.kill()).refusals
            rows = [row and explained(row, refusals) for row in rows]
    return rows


async def _row(ask: ExampleCall, asked: ProgramProcess, wall_s: float) -> Row | None:
    """What one answer shows; the `last` ends the process."""
    row = {"status": "error", "call": ask.call, "last": True}
    try:
        reply = await asked.answer()
        if not isinstance(reply, Outcome):
            return _judged(ask, reply)
    except NotPlain as error:
        return row | {"message": f"the solution's process sent what is no answer: {error}"}
    if reply.ended == "timeout":
        return row | {"status": "timeout", "message": f"no end within {wall_s:g} s"}
    return row | {"message": ended(reply)}


def _judged(ask: ExampleCall, answer: Mapping[str, Json]) -> Row | None:
    match answer:
        case {"untold": str()}:
            return None
        case {"raised": dict(raised), "loaded": bool(loaded)}:
            return _raised(ask, raised, loaded)
        case {"value": value}:
            return _compared(ask, value)
    raise NotPlain("an answer without a value")


def _raised(ask: ExampleCall, raised: Mapping[str, Json], loaded: bool) -> Row:
    match raised:
        case {"name": str(name), "text": str(text), "place": str(where), "kinds": list(kinds)}:
            if loaded and ask.exception and ask.exception in kinds:
                return {"status": "passed"}
            said = first_line(f"{name}: {text}" if text else name)
            return {
                "status": "error", "message": f"{said} at {where}" if where else said,
                "got": said, "call": ask.call if loaded else "",
            }
    raise NotPlain("an exception that is none")


def _compared(ask: ExampleCall, wire: Json) -> Row:
    """What the host sees of a value: equal values have equally many parts, so an answer that
    has more or fewer need not be rebuilt."""
    if ask.exception:
        return {
            "status": "failed", "call": ask.call, "got": plain_values.shown(wire),
            "expected": f"raises {ask.exception}",
            "message": f"{short(ask.call)} gave {short(plain_values.shown(wire))}: "
                       f"it did not raise {ask.exception}",
        }
    count = plain_values.parts(wire)
    if count == ask.parts or (ask.how in _TRUTHS and count <= plain_values.MAX_PARTS):
        value = plain_values.decode(wire)
        differs = plain_values.differs(value, ask.expected)
        if ask.how in _TRUTHS:
            holds = bool(value) is (ask.how == "true")
        else:
            holds = ask.expected == value and not (ask.how == "is" and differs)
        if holds:
            return {"status": "passed", "type_differs": differs and ask.how == "=="}
    got = plain_values.shown(wire)
    expected = _TRUTHS.get(ask.how) or plain_values.shown(plain_values.encode(ask.expected))
    return {
        "status": "failed", "call": ask.call, "got": got, "expected": expected,
        "message": f"{short(ask.call)} gave {short(got)}, expected {short(expected)}",
    }


def ended(outcome: Outcome) -> str:
    """How a solution's process ended, in the words of a verdict."""
    if outcome.ended == "garbled":
        return f"the solution's process sent what is no message: {outcome.limit}"
    how = outcome.limit or (outcome.signal and f"signal {outcome.signal}") or (
        f"exit code {outcome.exit_code}" if outcome.exit_code is not None else outcome.ended
    )
    return f"the solution ended its process ({how})"


def lacks_permission(row: Row) -> bool:
    """Whether a test failed for want of what a jail may not give."""
    message = str(row.get("message"))
    return row.get("status") != "passed" and any(word in message for word in _NOT_ALLOWED)


def explained(row: Row, refusals: tuple[str, ...]) -> Row:
    """Such a failure, with the rules of the jail that the program met."""
    if not refusals or not lacks_permission(row):
        return row
    return {**row, "message": f"{row['message']}; {'; '.join(refusals)}"}
