"""The host's side of the private channel, which trusts nothing that comes out of a jail.

Frames to the jail are a length and `marshal`; frames from it are kind, length, count and JSON.
`Inbox` checks limits before it stores data, so it never buffers more than a job may send.
"""

from __future__ import annotations

import json
import marshal
import struct
from collections import deque
from dataclasses import dataclass
from typing import Any, cast

from sandbox.inside.guest import BEGUN, END, MESSAGE, READY, RULE
from sandbox.types import DENIAL_MEANINGS, Json, SandboxError

_HEADER = struct.Struct(">BII")
_NO_MESSAGE = "data that is not a message"
_MAX_NESTING = 200
_MAX_VALUES = 4_000_000
_MESSAGE_COST = 100
_VALUE_COST = 24
"""The approximate memory of a value, which is charged against the bytes that a job may send: a
value of a few bytes on the wire can take a hundred in memory."""


class InvalidMessage(Exception):
    """Invalid data arrived; the text says why."""


@dataclass(frozen=True, slots=True)
class JailMessage:
    """A value from the jail; `count` is how many values the jail had received before it."""

    value: Json
    count: int


def frame(value: Any) -> bytes:
    """A frame for the jail; raises `SandboxError` for a value that is not JSON."""
    # Any: messages also contain code objects, and typeshed's type for that is private.
    try:
        body = marshal.dumps(value)
    except ValueError as error:
        raise SandboxError(f"a message to a job must be a JSON value: {error}") from error
    return len(body).to_bytes(4, "big") + body


class Inbox:
    """Parses bytes from the jail into messages."""

    def __init__(self, most_bytes: int) -> None:
        self.messages: deque[JailMessage] = deque()
        self.ready = False
        """Whether the program has called `receive`."""
        self.begun = False
        """Whether the job was started; an earlier failure is not caused by its code."""
        self.ended = False
        """Whether the program reported its end."""
        self.received_bytes = 0
        self.rules: set[str] = set()
        """The rules that the program violated, as reported by itself."""
        self._most_bytes = most_bytes
        self._left = most_bytes
        self._buffer = bytearray()

    def renew(self) -> None:
        """Allows the full number of bytes again."""
        self._left = self._most_bytes

    def feed(self, part: bytes) -> None:
        """Adds bytes; raises `InvalidMessage` for anything but messages within the limit."""
        self._buffer += part
        self.received_bytes += len(part)
        start = 0
        while len(self._buffer) - start >= _HEADER.size:
            kind, size, count = _HEADER.unpack_from(self._buffer, start)
            if kind not in (READY, MESSAGE, END, RULE, BEGUN) or self.ended:
                raise InvalidMessage(_NO_MESSAGE)
            if size > self._left:
                raise InvalidMessage(f"messages of more than {self._most_bytes} bytes")
            first = start + _HEADER.size
            if len(self._buffer) < first + size:
                break
            self._take(kind, bytes(self._buffer[first : first + size]), count)
            start = first + size
        del self._buffer[:start]

    def close(self) -> None:
        """Ends the input; raises `InvalidMessage` for data after the program's end."""
        if self.ended and self._buffer:
            raise InvalidMessage(_NO_MESSAGE)

    def _take(self, kind: int, body: bytes, count: int) -> None:
        if kind == READY and not self.ready and not body:
            self.ready = True
        elif kind == BEGUN and not self.begun and not body:
            self.begun = True
        elif kind == END and not body:
            self.ended = True
        elif kind == RULE and body.decode("ascii", "replace") in DENIAL_MEANINGS:
            # Each forked copy of a job reports it again.
            self._charge(_MESSAGE_COST)
            self.rules.add(body.decode("ascii"))
        elif kind == MESSAGE:
            values = body.count(b"[") + body.count(b"{") + body.count(b",")
            self._charge(max(_MESSAGE_COST, len(body), _VALUE_COST * values))
            self.messages.append(JailMessage(value_of(body), count))
        else:
            raise InvalidMessage(_NO_MESSAGE)

    def _charge(self, cost: int) -> None:
        self._left -= cost
        if self._left < 0:
            raise InvalidMessage(f"messages of more than {self._most_bytes} bytes")


def value_of(body: bytes) -> Json:
    """The value of a message; raises `InvalidMessage` if it is invalid or too large."""
    brackets = body.count(b"[") + body.count(b"{")
    if brackets + body.count(b",") > _MAX_VALUES:
        raise InvalidMessage(f"a message of more than {_MAX_VALUES} values")
    try:
        # json.loads returns Any; what it can return is exactly Json.
        value = cast(Json, json.loads(body.decode("utf-8", "surrogatepass")))
    except (ValueError, RecursionError) as error:
        raise InvalidMessage(f"a message that is not JSON: {error}") from error
    if brackets > _MAX_NESTING:
        _check_nesting(value)
    return value


def _check_nesting(value: Json) -> None:
    level: list[Json] = [value]
    for _ in range(_MAX_NESTING):
        level = [
            inner
            for outer in level
            if isinstance(outer, list | dict)
            for inner in (outer if isinstance(outer, list) else outer.values())
            if isinstance(inner, list | dict)
        ]
        if not level:
            return
    raise InvalidMessage(f"a message nested deeper than {_MAX_NESTING}")
