"""Upper estimates of the tokens that a call takes from a context window and a budget."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from llm.types import Effort, Request

MESSAGE_OVERHEAD = 32
"""Tokens around the text of one message: role, separators, chat template."""

RETRY_RESERVE = 256
"""Tokens that the first request leaves free, since a retry also quotes the rejection reason."""

THINKING: dict[Effort, int] = {"low": 2_048, "medium": 4_096, "high": 8_192}
"""Extra output tokens for a reasoning model, by effort."""


def texts_of(request: Request) -> tuple[str, ...]:
    """The system prompt and all messages of a request."""
    return (request.system, *(turn.text for turn in request.messages))


def question_tokens(count: Callable[[str], int], texts: Iterable[str]) -> int:
    """Tokens of a request with these texts; `count` counts the tokens of one text."""
    return sum(count(text) + MESSAGE_OVERHEAD for text in texts)


def answer_tokens(most: int, thinks: bool, effort: Effort | None) -> int:
    """Tokens of the longest answer, including the reasoning of a model that `thinks`."""
    return most + (THINKING[effort or "medium"] if thinks else 0)
