"""Requests to models and their replies, the same for every provider."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

Speaker = Literal["user", "assistant"]

Finish = Literal["stop", "length", "refusal", "cut"]
"""How an answer ended: regularly, at a token limit, refused by the model, or cut, which means that
the connection closed before the marker of a finished answer arrived."""

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
    """The answer is one fenced block of Python or a list of edits, as the prompt requests."""


@dataclass(frozen=True)
class Json:
    """The answer is one JSON value, valid under a bounded JSON Schema (draft 2020-12)."""

    schema: Mapping[str, object]


Output = Text | Code | Json


@dataclass(frozen=True)
class Prefill:
    """Text around the model's output. The model continues after `text` and stops at `stop`,
    which keeps a small model from adding prose around its program."""

    text: str
    stop: str


@dataclass(frozen=True)
class Request:
    """One request to a model.

    A provider with a model sends `system` and `messages`, which begin and end with a user message.
    Rules read `variables`, the values from which the prompt was rendered.
    """

    role: str
    system: str
    messages: tuple[Message, ...]
    output: Output = Text()
    variables: Mapping[str, object] = field(default_factory=dict, compare=False, repr=False)
    max_tokens: int = 2_048
    """The maximum tokens of the answer, including visible reasoning."""
    deadline_s: float = 120.0
    """Wall seconds for the whole call, including retries."""
    temperature: float | None = None
    """`None` is the provider's default. If a model takes none, the reply's `note` says so."""
    seed: int | None = None
    """The sampling seed, used where `ProviderRow.supports_seed` is set."""
    prefill: Prefill | None = None
    """Used where `ProviderRow.supports_prefill` is set, ignored elsewhere."""
    alternatives: int = 0
    """Likeliest alternatives wanted per token, where `ProviderRow.alternatives` is set."""
    effort: Effort | None = None
    """The reasoning effort of a reasoning model; other models ignore it."""
    prompt: str = ""
    """The hash of the prompt's template."""
    again: bool = field(default=False, compare=False)
    """Whether the previous answer to this request was interrupted."""


MAX_TOKENS = 10**9
"""More than any call uses; larger counts are invalid."""


@dataclass(frozen=True)
class Usage:
    """Tokens of one call, as the provider counted them.

    `read` and `written` are input tokens read from or written into the provider's prompt cache.
    `input` excludes both, so the whole input is the sum of the three.
    """

    input: int = 0
    output: int = 0
    read: int = 0
    written: int = 0
    estimated: bool = False
    """Whether these are our own estimates, because the provider's count is missing or partial."""

    @property
    def total(self) -> int:
        return self.input + self.output + self.read + self.written


class TokenAlternative(NamedTuple):
    """Another token that a model considered likely at a position."""

    at: int
    """The character offset in the reply's text."""
    text: str
    logprob: float


@dataclass(frozen=True)
class Reply:
    """A whole answer with its usage and cost; the last item of a provider's stream."""

    text: str
    finish: Finish
    provider: str
    model: str
    usage: Usage
    note: str = ""
    """The provider's remark on the end of the answer, such as the category of a refusal."""
    cost_usd: float | None = None
    """Dollars; `None` is unknown, which is not 0."""
    wall_s: float = 0.0
    first_s: float | None = None
    """Seconds to the first delta; `None` if there was none."""
    attempts: int = 1
    """Calls made for it, including rejected ones."""
    cached: bool = False
    """Whether it came from this run's log; nothing was sent or charged."""
    alternatives: tuple[TokenAlternative, ...] = ()
    """The requested `Request.alternatives` in text order; not saved in a run's log."""
    parameters_b: float | None = None
    """Billions of parameters of the model, if its server reports them."""


Stream = AsyncGenerator[str | Reply, None]
"""A streamed answer: pieces of text, then the `Reply`."""
