"""What the events of one answer tell, put together."""

from __future__ import annotations

from dataclasses import replace

import httpx2
from anthropic.types import RawMessageStreamEvent

from llm.provider import estimated_tokens, sayable
from llm.providers.wire import token_count
from llm.types import Finish, Usage

FINISHES: dict[str | None, Finish] = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "refusal": "refusal",
}
"""Every other end is an answer that is not whole: none told, or a turn to be gone on with."""


class Answer:
    """What the events of one answer have told so far."""

    def __init__(self) -> None:
        self.accepted = False
        """The server has said 200: whatever comes now, the call may be paid for."""
        self.started = False
        self._stop: str | None = None
        self._why = ""
        self._pieces: list[str] = []
        self._thoughts: list[str] = []
        self._counts: dict[str, int] = {}

    def taken(self, event: RawMessageStreamEvent) -> str:
        """The text that an event adds to the answer. The SDK makes its types of whatever comes,
        so that one of the wrong form is found out here."""
        try:
            text: object = self._read(event)
        except AttributeError as fault:
            raise httpx2.RemoteProtocolError(f"an event of the wrong form: {fault}") from fault
        if not isinstance(text, str):
            raise httpx2.RemoteProtocolError("an event whose text is none")
        self.started = True
        text = sayable(text)
        if text:
            self._pieces.append(text)
        return text

    def _read(self, event: RawMessageStreamEvent) -> str:
        """Thoughts are paid for and are not text; kinds that are not known add nothing."""
        match event.type:
            case "message_start":
                self._count(event.message.usage)
            case "content_block_start" if event.content_block.type == "text":
                return event.content_block.text
            case "content_block_delta" if event.delta.type == "text_delta":
                return event.delta.text
            case "content_block_delta" if event.delta.type == "thinking_delta":
                self._thoughts.append(str(event.delta.thinking))
            case "message_delta":
                self._count(event.usage)
                self._stop = event.delta.stop_reason or self._stop
                if details := event.delta.stop_details:
                    self._why = ": ".join(filter(None, (details.category, details.explanation)))
        return ""

    @property
    def text(self) -> str:
        return "".join(self._pieces)

    @property
    def finish(self) -> Finish:
        return FINISHES.get(self._stop, "cut")

    @property
    def note(self) -> str:
        """What was told of an end that is not the usual one."""
        return self._why or ("" if self.finish == "stop" else self._stop or "")

    def usage(self, sent: str) -> Usage:
        """As counted there, which is to the end where the end was told; else estimated."""
        asked = Usage(
            self._counts.get("input_tokens", 0), 0,
            self._counts.get("cache_read_input_tokens", 0),
            self._counts.get("cache_creation_input_tokens", 0),
        )
        said = estimated_tokens(self.text + "".join(self._thoughts))
        output = self._counts.get("output_tokens", 0)
        if asked.total and self._stop is not None and (output or not said):
            return replace(asked, output=output)
        if not asked.total:
            asked = Usage(estimated_tokens(sent))
        return replace(asked, output=max(output, said), estimated=True)

    def _count(self, told: object) -> None:
        """Later counts include the earlier ones; one that is not told again still holds, and
        what is told and is no count takes away what was known."""
        for name in ("input_tokens", "output_tokens", "cache_read_input_tokens",
                     "cache_creation_input_tokens"):
            value = getattr(told, name, None)
            if value is not None:
                self._counts[name] = token_count(value) or 0
