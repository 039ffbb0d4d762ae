"""The protocol of a provider, the connection one is made of, and the table of providers."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

from llm.errors import NoProvider
from llm.keys import NO_KEY, Secret
from llm.types import Request, Stream


class Provider(Protocol):
    """Something that answers questions: a model behind an interface, a model in this process, or
    another provider wrapped. Used from one event loop."""

    name: str
    model: str

    def stream(self, request: Request) -> Stream:
        """Yields the answer's text piece by piece, and as its last item the `Reply`, once.

        The pieces joined are the reply's text. A token limit, a refusal and a cut connection are
        replies (`finish`), since they are paid for; everything else raises an `LlmError`, never an
        exception of an SDK. Closing the iterator, or cancelling its task, ends the call at the
        provider as soon as it can be ended there, and pays for no more.
        """

    async def models(self) -> tuple[str, ...]:
        """The models that can be asked, which shows that the key is good; spends no tokens.

        This provider's own is spelled as its `model` is, though its server may list it in full: so
        it is among them if it can be asked.
        """

    def count(self, text: str) -> int:
        """Tokens of a text: the model's own count where `exact`, else an estimate that is rather
        too high."""

    @property
    def thinks(self) -> bool:
        """Whether it thinks before it answers, and what it thinks counts as tokens of the answer;
        of some models that is known once they have answered."""

    @property
    def exact(self) -> bool:
        """Whether `count` is by the model's own tokenizer."""

    @property
    def window(self) -> int | None:
        """Tokens that question and answer may have together; `None` where that is unknown."""

    async def close(self) -> None:
        """Ends connections and workers; the provider is not used again."""


CHARACTERS_A_TOKEN = 3
"""Of Python under common tokenizers there are 3 to 4; the fewer, the higher the estimate."""


def estimated_tokens(text: str) -> int:
    """An estimate that is rather too high, for providers that do not bring their tokenizer: a
    third of the characters, and no less than a token for each that is not ASCII."""
    wide = sum(1 for character in text if character > "\x7f")
    return -(-(len(text) - wide) // CHARACTERS_A_TOKEN) + wide


def sayable(text: str) -> str:
    """The text with what no encoding can carry, lone surrogates, written out."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


@dataclass(frozen=True)
class Connection:
    """Whom to ask, and how it is reached. Equal connections share a provider."""

    provider: str
    """A row of `PROVIDERS`."""
    model: str
    key: Secret = NO_KEY
    base_url: str = ""
    """Empty is the provider's own."""
    preset: str = ""
    """A row of `llm.providers.presets.PRESETS`, for OpenAI-compatible servers."""
    num_ctx: int = 8_192
    """The context window that a local server is asked to allocate."""
    keep_alive: str = "10m"
    """How long a local server keeps the model in memory."""
    four_bit: bool = False
    """Load a local model with 4-bit weights."""
    connect_s: float = 5.0
    stall_s: float = 60.0
    """Seconds without a byte after which a stream is given up."""


Rules = Mapping[str, Callable[[Mapping[str, object]], str]]
"""Role name to a function from a request's variables to an answer's text."""


@dataclass(frozen=True)
class Row:
    """What the table knows of a provider without importing it."""

    factory: str
    """`module:callable`, called with a `Connection`."""
    key_name: str = ""
    """The environment variable of its key; empty where it takes none."""
    needs_key: bool = False
    extra: str = ""
    """The optional dependency set that brings what it imports."""
    package: str = ""
    """The package that shows that the set is installed."""
    local: bool = False
    """It runs on this machine: the default home of the generator."""
    unthinking: str = r""
    """A pattern of the models that do not think unless they are told to; all of them by default."""


PROVIDERS: dict[str, Row] = {
    "anthropic": Row(
        ".providers.anthropic:AnthropicProvider", "ANTHROPIC_API_KEY", True, "anthropic",
        "anthropic",
        # Those since the fifth think unasked; some of them cannot be told not to.
        unthinking=r"claude-(?:[a-z]+-)?[34]\b",
    ),
    "ollama": Row(
        ".providers.ollama:OllamaProvider", "OLLAMA_API_KEY", extra="ollama",
        package="ollama", local=True,
    ),
    "huggingface": Row(
        ".providers.huggingface:HuggingFaceProvider", "HF_TOKEN", extra="local",
        package="transformers", local=True,
    ),
    "openai": Row(
        ".providers.openai:OpenAiProvider", "OPENAI_API_KEY", True, "openai", "openai"
    ),
}
"""Providers with a model. `mock`, the plan without one, is made of rules: `rules_provider`."""


def thinks_unasked(provider: str, model: str) -> bool:
    """Whether a model thinks where nothing is said of it, as far as its name tells."""
    return not re.search(PROVIDERS[provider].unthinking, model)


def open_provider(connection: Connection) -> Provider:
    """The provider of a connection. Raises `NoProvider` where what it imports is not installed."""
    from importlib import import_module

    row = PROVIDERS[connection.provider]
    module, _, factory = row.factory.partition(":")
    try:
        found = import_module(module, __package__)
        make: Callable[[Connection], Provider] = getattr(found, factory)
        return make(connection)
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] == __package__.partition(".")[0]:
            raise  # not one that the extra brings: this package itself is not whole
        raise NoProvider(
            f"The provider {connection.provider} needs {error.name}, which is not installed: "
            f'pip install -e ".[{row.extra}]"'
        ) from error


def rules_provider(rules: Rules) -> Provider:
    """The provider of the plan without a model."""
    from llm.providers.mock import MockProvider

    return MockProvider(rules)
