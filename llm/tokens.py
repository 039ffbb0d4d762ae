"""Tokens that a call may take, of a window and of a budget: rather too many of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from llm.types import Effort, Request

TURN = 32
"""Around the text of a turn: its role, its separators, its share of a chat template."""

REASON = 256
"""What a first question leaves free, so that a second one can say why its answer was refused."""

THINKING: dict[Effort, int] = {"low": 2_048, "medium": 4_096, "high": 8_192}
"""What a model that thinks is given beside its answer, by effort."""


def texts_of(request: Request) -> tuple[str, ...]:
    """All texts of a question."""
    return (request.system, *(turn.text for turn in request.messages))


def question_tokens(count: Callable[[str], int], texts: Iterable[str]) -> int:
    """Tokens of a question whose turns are these texts; `count` counts those of one."""
    return sum(count(text) + TURN for text in texts)


def answer_tokens(most: int, thinks: bool, effort: Effort | None) -> int:
    """Tokens of the longest answer, with what is thought before it where the model thinks."""
    return most + (THINKING[effort or "medium"] if thinks else 0)
