"""The protocol of a provider, its connection, and the table of providers.

A provider is a module in `llm/providers` and a row in `llm/providers.toml`. The row holds all data
that differs between providers, for plans, settings, prices, pages and documentation.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Protocol
from urllib.parse import urlsplit

from llm.errors import NoModel, NoProvider
from llm.keys import NO_KEY, Secret
from llm.types import Reply, Request, Stream, Usage


class Provider(Protocol):
    """A source of answers: a model behind an API, a model in this process, or a wrapper of another
    provider. Used from one event loop."""

    name: str
    model: str

    def stream(self, request: Request) -> Stream:
        """Yields the answer's text piece by piece, and the `Reply` as the last item.

        The joined pieces are the reply's text. A token limit, a refusal and a cut connection are
        replies (`finish`), since they are billed. All other errors raise an `LlmError`, never an
        exception of an SDK. Closing the iterator or cancelling its task ends the call at the
        provider as soon as possible.
        """

    async def models(self) -> tuple[str, ...]:
        """The available models, which also validates the key; spends no tokens.

        This provider's model is spelled as in `model`, though its server may list a longer name.
        """

    def count(self, text: str) -> int:
        """Tokens of a text: exact if `exact`, otherwise an upper estimate."""

    @property
    def thinks(self) -> bool:
        """Whether the model reasons before it answers, which counts as output tokens. For some
        models this is known only after an answer."""

    @property
    def exact(self) -> bool:
        """Whether `count` uses the model's tokenizer."""

    @property
    def window(self) -> int | None:
        """The context window: tokens of request and answer together; `None` if unknown."""

    async def close(self) -> None:
        """Ends connections and workers; the provider is not used again."""


CHARACTERS_A_TOKEN = 3
"""Python has 3 to 4 characters per token under common tokenizers; a low value estimates high."""


MAX_CHARACTERS = 16
"""The maximum characters per token of a plausible count. Words and programs have 3 to 5, tokens of
several blanks more."""


def estimated_tokens(text: str) -> int:
    """An upper estimate of the tokens of a text without a tokenizer: a third of the ASCII
    characters, and one token for each other character."""
    wide = sum(1 for character in text if character > "\x7f")
    return -(-(len(text) - wide) // CHARACTERS_A_TOKEN) + wide


def implausibly_few(tokens: int, characters: int) -> bool:
    """Whether this number of tokens is impossible for a text of this many characters."""
    return characters > tokens * MAX_CHARACTERS


def overlong_message(tokens: int) -> str:
    """The message for an answer that exceeds its token limit."""
    return f"exceeded the limit of {tokens:,} tokens for its answer; the call was ended"


def checked_url(url: str, provider: str) -> str:
    """The URL if it is valid; otherwise raises `NoProvider`."""
    try:
        parts = urlsplit(url)
        sound = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        sound = False
    if not sound:
        raise NoProvider(
            f"the base URL of {provider} is not a URL such as https://host/path: correct "
            f"{provider_row(provider).settings['base_url'].variable}"
        )
    return url


def escape_surrogates(text: str) -> str:
    """The text with lone surrogates, which cannot be encoded, written as escapes."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


Option = str | int | bool


@dataclass(frozen=True)
class Setting:
    """An environment variable for an option of a provider."""

    variable: str
    default: Option
    """The default, whose type is the type of the option."""
    about: str
    """A line of Markdown."""
    alias: str = ""
    """Another variable, used if the first is not set."""
    least: int = 0


@dataclass(frozen=True)
class ProviderRow:
    """The data of a provider; reading it does not import the provider's packages."""

    factory: str
    """`module:callable`, called with a `Connection`."""
    package: str = ""
    """The package whose presence shows that the requirements are installed; empty for none."""
    extra: str = ""
    """The optional dependency set that installs the package."""
    same_as: str = ""
    """The row whose code and variables it shares; its own name if none."""
    settings: Mapping[str, Setting] = field(default_factory=dict)
    """Settings by option: `model`, `fast_model`, `base_url`, or an option of its own for
    `Connection.option`."""
    needs: str = ""
    """Requirements other than the package, for people."""
    key: str = ""
    """The environment variable of its key; empty for none."""
    key_when: str = ""
    """When an optional key is needed, for people."""
    needs_key: bool = False
    auto: bool = False
    """Whether `auto` uses it if its key is set."""
    small: bool = False
    """Whether its models are small, so that they write and other models do the thinking roles."""
    local: bool = False
    """Whether it runs on the user's machine, where loading a model may take minutes."""
    in_process: bool = False
    """Whether this process or its child loads the model."""
    free: bool = False
    """Whether it is free of charge; otherwise prices are looked up by provider and model."""
    base_url: str = ""
    """The default URL; empty if there is none or it must be set."""
    model: str = ""
    """The default model; empty uses the variable's default."""
    thinks: str = r"(?!)"
    """A pattern of the models that reason by default and take an effort."""
    temperature: Literal["always", "unless thinking", "never"] = "always"
    """Which models take a temperature."""
    json_mode: Literal["schema", "object", "none"] = "none"
    """How JSON is requested: constrained by a schema, constrained to be JSON, or by the prompt
    alone. Except for `schema`, the schema is part of the system prompt."""
    longest: int = 0
    """The maximum output tokens of its newest models, including reasoning; 0 if unknown."""
    supports_string_lengths: bool = True
    """Whether schemas may limit the length of strings."""
    stream_usage: bool = True
    """Whether it accepts the option for token counts at the end of a stream."""
    max_tokens_parameter: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    """Its parameter for the maximum output tokens."""
    supports_seed: bool = False
    """Whether it takes a seed."""
    supports_prefill: bool = False
    """Whether it continues a given beginning of the answer (`Request.prefill`)."""
    alternatives: bool = False
    """Whether it returns likely alternatives of each token (`Request.alternatives`)."""
    lists_windows: bool = False
    """Whether its list of models may include context windows. It is then read before the first
    request, which is cut to fit. The windows of other servers hold nearly every request."""

    def thinking(self, model: str) -> bool:
        """Whether a model reasons by default, judged by its name."""
        return re.match(self.thinks, model) is not None

    def default(self, option: str) -> Option:
        """The default of an option."""
        own = {"model": self.model, "base_url": self.base_url}.get(option, "")
        return own or (self.settings[option].default if option in self.settings else "")

    def chosen(self, option: str, given: Mapping[str, Option]) -> Option:
        """The value of an option by the variables that are set."""
        setting = self.settings.get(option)
        own = None if setting is None else given.get(setting.variable)
        return self.default(option) if own is None else own


def named(provider: str, model: str) -> str:
    """`provider/model` for people; a path is shortened to its last part."""
    return f"{provider}/{Path(model).name if Path(model).is_absolute() else model}"


MOCK = "mock"
"""The provider without a model, whose answers come from rules; it has no row."""


def read_rows(path: Path) -> dict[str, ProviderRow]:
    """The table of providers in a TOML file, by name."""
    with path.open("rb") as file:
        content = tomllib.load(file)
    return {name: _row(name, content) for name in content}


def _row(name: str, content: dict[str, dict[str, Any]]) -> ProviderRow:  # as TOML has it
    own = content[name]
    kind = content[own.get("same_as", name)]
    names = ("factory", "package", "extra")
    shared: dict[str, Any] = {key: kind[key] for key in names if key in kind}
    options: dict[str, Any] = kind.get("settings", {})
    settings = {option: Setting(**one) for option, one in options.items()}
    fields: dict[str, Any] = {**shared, "same_as": name, **own, "settings": settings}
    return ProviderRow(**fields)


PROVIDERS = read_rows(Path(__file__).with_name("providers.toml"))
"""Providers with a model."""


def provider_row(name: str) -> ProviderRow:
    """The row of a provider; raises `NoProvider` for an unknown name."""
    if name not in PROVIDERS:
        known = ", ".join(["auto", MOCK, *PROVIDERS])
        raise NoProvider(f"There is no provider {name!r}. Set LLM_PROVIDER to one of: {known}.")
    return PROVIDERS[name]


@dataclass(frozen=True)
class Connection:
    """A provider and model with the data for connecting to them."""

    provider: str
    """A row of `PROVIDERS`."""
    model: str
    key: Secret = NO_KEY
    base_url: str = ""
    """Empty uses the provider's default."""
    options: Mapping[str, Option] = field(default_factory=dict)
    """The provider-specific options that are set."""
    connect_s: float = 5.0
    stall_s: float = 60.0
    """Seconds without a byte after which a stream is aborted."""

    @property
    def row(self) -> ProviderRow:
        return provider_row(self.provider)

    def option(self, name: str) -> Option:
        """The value of a provider-specific option, or its default."""
        return self.options.get(name, self.row.settings[name].default)


Rules = Mapping[str, Callable[[Mapping[str, object]], str]]
"""Role name to a function from a request's variables to an answer's text."""


def open_provider(connection: Connection) -> Provider:
    """The provider of a connection. Raises `NoProvider` if its packages are not installed."""
    from importlib import import_module

    row = connection.row
    module, _, factory = row.factory.partition(":")
    try:
        found = import_module(module, __package__)
        make: Callable[[Connection], Provider] = getattr(found, factory)
        return make(connection)
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] == __package__.partition(".")[0]:
            raise  # a module of this package is missing, not one of the extra
        raise NoProvider(
            f"The provider {connection.provider} needs {error.name}, which is not installed: "
            f"{install_words(row.extra)}"
        ) from error


def missing(provider: str) -> str:
    """The missing package of a provider and how to install it; empty if none is missing."""
    from importlib.util import find_spec

    row = provider_row(provider)
    if not row.package or find_spec(row.package) is not None:
        return ""
    return f"{row.package} is not installed: {install_words(row.extra)}"


def install_words(extra: str) -> str:
    """How to install an extra of this package."""
    return f'in the checkout, pip install ".[{extra}]" or pipx install --force ".[{extra}]"'


class RulesProvider:
    """The provider of the plan without a model, whose answers come from rules.

    A role without a rule raises `NoModel`.
    """

    name = MOCK
    model = "none"
    thinks = False
    exact = False
    window = None

    def __init__(self, rules: Rules) -> None:
        self._rules = rules

    async def stream(self, request: Request) -> Stream:
        if request.role not in self._rules:
            raise NoModel(f"the role {request.role!r} needs a model, and none is configured")
        text = self._rules[request.role](request.variables)
        yield text
        yield Reply(text, "stop", self.name, self.model, Usage(), cost_usd=0.0)

    async def models(self) -> tuple[str, ...]:
        return ()

    def count(self, text: str) -> int:
        return estimated_tokens(text)

    async def close(self) -> None:
        """Does nothing."""
