"""What is asked of a model, and what comes back, alike for every provider."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

Speaker = Literal["user", "assistant"]

Finish = Literal["stop", "length", "refusal", "cut"]
"""How an answer ended: by itself; at a token limit; refused by the model; or cut, where the
connection ended cleanly and the mark of a finished answer never came."""

Effort = Literal["low", "medium", "high"]


@dataclass(frozen=True)
class Message:
    """One turn of a conversation."""

    speaker: Speaker
    text: str


@dataclass(frozen=True)
class Text:
    """The answer is prose."""


@dataclass(frozen=True)
class Code:
    """The answer is one fenced block of Python, or edits of a program, as the prompt asks."""


@dataclass(frozen=True)
class Json:
    """The answer is one JSON value, valid under a small, bounded JSON Schema (draft 2020-12)."""

    schema: Mapping[str, object]


Output = Text | Code | Json


@dataclass(frozen=True)
class Frame:
    """Text around what a model writes, part of its answer: it goes on from the opening, and stops
    at the closing. A small model so begins with its program, and adds no words after it."""

    opening: str
    closing: str


@dataclass(frozen=True)
class Request:
    """One question to a model.

    A provider with a model sends `system` and `messages`, which begin and end with the user's.
    Rules that stand in for a model read `variables`, the values that the prompt was rendered from.
    """

    role: str
    system: str
    messages: tuple[Message, ...]
    output: Output = Text()
    variables: Mapping[str, object] = field(default_factory=dict, compare=False, repr=False)
    max_tokens: int = 2_048
    """The most tokens an answer may have, a model's visible thinking included."""
    deadline_s: float = 120.0
    """Wall seconds the whole call may take, with its retries."""
    temperature: float | None = None
    """`None` is the provider's own choice; some models take none, and their provider says so."""
    seed: int | None = None
    """Of a sample, where the provider takes one (`Row.seeds`): the same seed gives the same answer,
    another one another sample."""
    frame: Frame | None = None
    """Kept to by providers that can go on from a text (`Row.frames`); others know nothing of it."""
    alternatives: int = 0
    """How many of a token's likeliest alternatives are wanted, where `Row.alternatives`."""
    effort: Effort | None = None
    """How much a model that thinks should think; others know nothing of it."""
    prompt: str = ""
    """The hash of the prompt's template."""
    again: bool = field(default=False, compare=False)
    """Its last answer has just broken off."""


MAX_TOKENS = 10**9
"""More than any call has; a larger count is somebody's mistake, or a trick."""


@dataclass(frozen=True)
class Usage:
    """Tokens of one call, as the provider counted them.

    `read` and `written` are the part of the input that came from, or went into, the provider's
    prompt cache; `input` has neither, so the whole input is the sum of the three.
    """

    input: int = 0
    output: int = 0
    read: int = 0
    written: int = 0
    estimated: bool = False
    """The provider did not count, or not to the end; these are our own counts."""

    @property
    def total(self) -> int:
        return self.input + self.output + self.read + self.written


class TokenAlternative(NamedTuple):
    """Another token that a model might have written."""

    at: int
    """Where it would stand in the reply's text: so many characters come before it."""
    text: str
    logprob: float


@dataclass(frozen=True)
class Reply:
    """A whole answer and how it came about; the last item of a provider's stream."""

    text: str
    finish: Finish
    provider: str
    model: str
    usage: Usage
    note: str = ""
    """What the provider said of its end, such as the category of a refusal."""
    cost_usd: float | None = None
    """Dollars; `None` is unknown, which is not 0."""
    wall_s: float = 0.0
    first_s: float | None = None
    """Seconds to the first delta; `None` where none came."""
    attempts: int = 1
    """Calls that were made to get it, the refused ones included."""
    cached: bool = False
    """It came from this run's log: nothing was sent and nothing paid."""
    alternatives: tuple[TokenAlternative, ...] = ()
    """As asked for (`Request.alternatives`), in the order of their places; a run's log has none."""
    parameters_b: float | None = None
    """Billions of parameters of the model, where its server tells."""


Stream = AsyncGenerator[str | Reply, None]
"""An answer as it comes: pieces of text, and at last its `Reply`."""
