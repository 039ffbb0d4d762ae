"""Tokens heard one by one as text: whole characters only, and to the end of the answer alone.

A forward that verifies copied tokens brings several at once, of which some may lie behind the end;
they are not heard, so that an answer is the same however its tokens came.
"""

from __future__ import annotations

import io
import tokenize
from collections.abc import Callable, Collection, Iterable, Sequence

from llm.types import Finish

_BROKEN = "\ufffd"
"""What a tokenizer writes for bytes that are no character, or not one yet."""
_SEARCH = "<<<<<<< SEARCH"


class Fence:
    """Reads lines until the fenced program that was opened is closed again.

    As `llm.asking.answers` reads them: a fence closes one of no more backticks, and one within a
    string of several lines belongs to the program. Edits have no fence around them.
    """

    def __init__(self) -> None:
        self._line = ""
        self._opened = 0
        self._code: list[str] = []
        self._edits = False
        self.closed = False

    def heard(self, text: str) -> str:
        """The part of the text up to the end of the closing line."""
        kept = ""
        for line in text.splitlines(keepends=True):
            kept += line
            self._line += line
            if not self._line.endswith(("\n", "\r")):
                continue
            self._whole(self._line)
            if self.closed:
                return kept
            self._line = ""
        return kept

    def _whole(self, line: str) -> None:
        fence = len(line) - len(line.lstrip("`"))
        after = line[fence:].strip()
        self._edits = self._edits or line.startswith(_SEARCH)
        if self._edits:
            return
        if not self._opened:
            self._opened = fence if fence >= 3 and "`" not in after else 0
        elif fence >= self._opened and not after and not _in_string("".join(self._code)):
            self.closed = True
        else:
            self._code.append(line)


def _in_string(code: str) -> bool:
    """Whether a string of several lines has begun and not ended."""
    try:
        for _ in tokenize.generate_tokens(io.StringIO(code).readline):
            pass
    except tokenize.TokenError as error:
        return "string" in str(error)  # the other cause is a bracket that is still open
    except SyntaxError:
        return False
    return False


class Listener:
    """Calls `emit` with each new piece of text, and knows how the answer ended."""

    def __init__(
        self, decode: Callable[[Sequence[int]], str], ends: Collection[int],
        emit: Callable[[str], None], fence: Fence | None,
    ) -> None:
        self._decode = decode
        self._ends = ends
        self._emit = emit
        self._fence = fence
        self._heard: list[int] = []
        self._shown = self._whole = 0  # two marks: text is decoded from the first, new behind both
        self.tokens = 0
        self.finish: Finish | None = None

    def hear(self, tokens: Iterable[int]) -> None:
        """What one run of the network brought. A character that is never made whole is dropped."""
        for token in tokens:
            if self.finish is None:
                self._hear(token)

    def _hear(self, token: int) -> None:
        self.tokens += 1
        if token in self._ends:
            self.finish = "stop"
            return
        self._heard.append(token)
        # Some tokenizers write a token differently at the beginning of a text, so that the new
        # text is the difference of two, the first of which begins at a whole character.
        before = self._decode(self._heard[self._shown:self._whole])
        after = self._decode(self._heard[self._shown:])
        if len(after) <= len(before) or after.endswith(_BROKEN):
            return
        self._shown, self._whole = self._whole, len(self._heard)
        text = after[len(before):]
        if self._fence is not None:
            text = self._fence.heard(text)
            if self._fence.closed:
                self.finish = "stop"
        self._emit(text)
