"""Encodes messages as lines of text, for channels that only carry short text.

A message is cut into lines of at most `_PIECE` characters. A line begins with a mark, which
distinguishes it from the output of a shell, and with `+` if more of the same message follows, or
`.` if it ends.
"""

from __future__ import annotations

import base64
import marshal
from typing import Any

_MARK = "@jail"
_PIECE = 16_384


class TooLong(Exception):
    """More data arrived than allowed."""


class Assembler:
    """Joins lines into messages; never stores more than the allowed bytes."""

    def __init__(self, most_bytes: int) -> None:
        self._most_bytes = most_bytes
        self._left = most_bytes
        self._buffer = bytearray()
        self._pieces: list[bytes] = []

    def renew(self) -> None:
        """Allows the full number of bytes again."""
        self._left = self._most_bytes

    def feed(self, part: bytes) -> list[str]:
        """The messages that `part` completes; raises `TooLong` beyond the allowed bytes."""
        self._left -= len(part)
        if self._left < 0:
            raise TooLong(f"more than {self._most_bytes} bytes")
        self._buffer += part
        *lines, rest = bytes(self._buffer).split(b"\n")
        self._buffer = bytearray(rest)
        return [message for line in lines if (message := self._feed_line(line)) is not None]

    def _feed_line(self, line: bytes) -> str | None:
        mark = _MARK.encode()
        line = line.rstrip(b"\r")
        if line.startswith(mark + b"+"):
            self._pieces.append(line[len(mark) + 1 :])
            return None
        if not line.startswith(mark + b"."):
            return None  # other output, such as a warning of the shell
        message = b"".join(self._pieces) + line[len(mark) + 1 :]
        self._pieces.clear()
        return message.decode("ascii", "replace")


def lines(message: str) -> list[str]:
    """The lines, with line ends, of a message of ASCII text without line breaks."""
    pieces = [message[first : first + _PIECE] for first in range(0, len(message), _PIECE)] or [""]
    return [
        f"{_MARK}{'.' if number == len(pieces) else '+'}{piece}\n"
        for number, piece in enumerate(pieces, 1)
    ]


def encode_message(value: Any) -> str:
    """Encodes a value for the supervisor, which trusts the host.

    `Any`: typeshed's type of marshal's values is private.
    """
    return base64.b64encode(marshal.dumps(value)).decode()


def decode_message(message: str) -> Any:
    """Decodes the result of `encode_message`; only for messages from the host."""
    return marshal.loads(base64.b64decode(message))
