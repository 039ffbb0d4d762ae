"""What has come of an answer in lines."""

from __future__ import annotations

from ollama import ChatResponse

from llm.provider import estimated_tokens, sayable
from llm.providers.wire import TOLD, token_count
from llm.types import Finish, Usage

_FINISHES: dict[str | None, Finish] = {"stop": "stop", "length": "length"}
"""Every other end is an answer that is not whole: none told, or the model unloaded amid it."""


class Answer:
    """What has come so far."""

    def __init__(self) -> None:
        self.accepted = False
        """The server has said 200: whatever comes now, the call may be paid for."""
        self.started = False
        self.done = False
        self._reason: str | None = None
        self.pieces: list[str] = []
        self._thoughts: list[str] = []
        self._counts: tuple[int | None, int | None] = (None, None)

    def read(self, part: ChatResponse) -> str:
        """Takes a line in; gives the text it adds to the answer."""
        self.started = True
        if part.done:
            self.done, self._reason = True, part.done_reason or "stop"
            self._counts = (token_count(part.prompt_eval_count), token_count(part.eval_count))
        self._thoughts.append(sayable(part.message.thinking or ""))
        text = sayable(part.message.content or "")
        if text:
            self.pieces.append(text)
        return text

    @property
    def finish(self) -> Finish:
        return _FINISHES.get(self._reason, "cut")

    @property
    def note(self) -> str:
        """The reason of the end, where it is a strange one."""
        return "" if self._reason in (None, *_FINISHES) else sayable(str(self._reason))[:TOLD]

    def usage(self, sent: str) -> Usage:
        """As counted there, else our own estimate. A question that the server still holds from
        the last call is left out of the count by some versions."""
        asked, answered = self._counts
        said = estimated_tokens("".join((*self.pieces, *self._thoughts)))
        return Usage(
            input=asked or estimated_tokens(sent),
            output=answered or said,
            estimated=not asked or (not answered and said > 0),
        )
