"""What has come of an answer in chunks.

The SDK does not check chunks against its types, and compatible servers leave out what is not
optional and add what is not known: so each value is looked at here.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace

from llm.provider import estimated_tokens, sayable
from llm.providers.wire import TOLD, token_count
from llm.types import Finish, Reply, Usage

_FINISHES: dict[str, Finish] = {
    "stop": "stop", "eos": "stop", "eos_token": "stop", "stop_sequence": "stop",
    "tool_calls": "stop", "function_call": "stop",  # no tool was offered: the text is judged
    "length": "length", "max_tokens": "length",
    "content_filter": "refusal", "safety": "refusal",
}


@dataclass
class Answer:
    """What has come so far."""

    begun: float
    """By `time.perf_counter`."""
    accepted: bool = False
    """The server has said 200: whatever comes now, the call may be paid for."""
    started: bool = False
    """A chunk has come."""
    pieces: list[str] = field(default_factory=list)
    thoughts: list[str] = field(default_factory=list)
    refusal: str = ""
    finish: str = ""
    usage: Usage | None = None
    first_s: float | None = None

    def take(self, chunk: object) -> str:
        """Takes a chunk in; gives the text it adds to the answer. Thoughts are paid, not text."""
        self.started = True
        self.usage = _usage(getattr(chunk, "usage", None)) or self.usage
        text = ""
        choices = getattr(chunk, "choices", None)
        for choice in choices if isinstance(choices, list) else ():
            delta = getattr(choice, "delta", None)
            text += _text(getattr(delta, "content", None))
            self.refusal += _text(getattr(delta, "refusal", None))
            for name in ("reasoning_content", "reasoning"):
                self.thoughts.append(_text(getattr(delta, name, None)))
            self.finish = sayable(str(getattr(choice, "finish_reason", None) or self.finish))
        if text:
            self.pieces.append(text)
            if self.first_s is None:
                self.first_s = time.perf_counter() - self.begun
        return text

    def counted(self, sent: str) -> Usage:
        """The server's count; our own estimate where it has not counted, or not to the end, or
        says that there was nothing to count."""
        usage = self.usage or Usage()
        asked = replace(usage, output=0)
        said = estimated_tokens("".join((*self.pieces, *self.thoughts, self.refusal)))
        if asked.total and self.finish and (usage.output or not said):
            return usage
        if not asked.total:
            asked = Usage(estimated_tokens(sent))
        return replace(asked, output=max(said, usage.output), estimated=True)

    def reply(self, provider: str, model: str, sent: str, unsent: str) -> Reply:
        """The answer as it ended. A reason that nobody knows is no mark of a finished one."""
        finish = _FINISHES.get(self.finish.lower(), "cut")
        why = "" if self.finish in ("", "stop", "length") else self.finish[:TOLD]
        if self.refusal:
            finish, why = "refusal", self.refusal[:TOLD]
        return Reply(
            "".join(self.pieces), finish, provider, model, self.counted(sent),
            note="; ".join(filter(None, (why, unsent))),
            wall_s=time.perf_counter() - self.begun, first_s=self.first_s,
        )


def _usage(told: object) -> Usage | None:
    """The last count of a stream; nothing where a server sends zeros until it knows better."""
    asked, answered = (
        whole_number(getattr(told, name, None)) for name in ("prompt_tokens", "completion_tokens")
    )
    # Gemini leaves a model's thoughts out of the one, and has them in the total.
    answered = max(answered, whole_number(getattr(told, "total_tokens", None)) - asked)
    if not asked and not answered:
        return None
    details = getattr(told, "prompt_tokens_details", None)
    read = min(asked, whole_number(getattr(details, "cached_tokens", None)))
    written = min(asked - read, whole_number(getattr(details, "cache_write_tokens", None)))
    return Usage(asked - read - written, answered, read, written)


def whole_number(value: object) -> int:
    """The value, or 0 for what is no count."""
    return token_count(value) or 0


def _text(value: object) -> str:
    """A text, or the texts among parts, as some servers send them beside a model's thoughts."""
    if isinstance(value, list):
        parts = [part for part in value if isinstance(part, dict) and part.get("type") == "text"]
        return "".join(_text(part.get("text")) for part in parts)
    return sayable(value) if isinstance(value, str) else ""
