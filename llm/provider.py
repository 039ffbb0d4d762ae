"""The protocol of a provider, the connection one is made of, and the table of providers.

A provider is a file in `llm/providers` and a row in `llm/providers.toml`. Whatever differs between
providers and is no code stands in the row, and is read from there: by plans, settings, prices,
pages and the README.
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


MAX_CHARACTERS = 16
"""Characters a token, taken over a whole text, above which a count of its tokens cannot be: words
and programs have 3 to 5, and single tokens of blanks more."""


def estimated_tokens(text: str) -> int:
    """An estimate that is rather too high, for providers that do not bring their tokenizer: a
    third of the characters, and no less than a token for each that is not ASCII."""
    wide = sum(1 for character in text if character > "\x7f")
    return -(-(len(text) - wide) // CHARACTERS_A_TOKEN) + wide


def too_few(tokens: int, characters: int) -> bool:
    """Whether no text of so many characters has so few tokens."""
    return characters > tokens * MAX_CHARACTERS


def overlong(tokens: int) -> str:
    """The message for an answer that was cut off at its token limit."""
    return f"does not keep to the {tokens:,} tokens that its answer may have; it was cut off"


def checked_url(url: str, provider: str) -> str:
    """The address as it is, if it is one; else `NoProvider`."""
    try:
        parts = urlsplit(url)
        sound = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        sound = False
    if not sound:
        raise NoProvider(
            f"the base URL of {provider} is not an address like https://host/path: set "
            f"{row_of(provider).settings['base_url'].variable}"
        )
    return url


def sayable(text: str) -> str:
    """The text with what no encoding can carry, lone surrogates, written out."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


Option = str | int | bool


@dataclass(frozen=True)
class Setting:
    """A variable by which a user sets an option of a provider."""

    variable: str
    default: Option
    """Its type is that of every value of the option."""
    about: str
    """What it does, in a line of Markdown."""
    alias: str = ""
    """Another variable for the same, which counts where the first is not set."""
    least: int = 0


@dataclass(frozen=True)
class ProviderRow:
    """What is known of a provider without importing it."""

    factory: str
    """`module:callable`, called with a `Connection`."""
    package: str = ""
    """The package that shows that what it imports is installed; empty where it imports none."""
    extra: str = ""
    """The optional dependency set that brings it."""
    like: str = ""
    """The row whose code and variables it shares; its own name where it shares none."""
    settings: Mapping[str, Setting] = field(default_factory=dict)
    """The variables by what they set: `model`, `fast_model`, `base_url`, or an option of its own
    for `Connection.option`."""
    needs: str = ""
    """What must be there beside the package, for people."""
    key: str = ""
    """The environment variable of its key; empty where it takes none."""
    key_when: str = ""
    """When a key is wanted that is not always needed, for people."""
    needs_key: bool = False
    auto: bool = False
    """`auto` takes it where its key is there."""
    small: bool = False
    """Its models are small: they write, and leave thinking to others where they can."""
    local: bool = False
    """It runs on the user's machine, where loading a model may take minutes."""
    in_process: bool = False
    """Its model is loaded by this process, into itself or a child."""
    free: bool = False
    """Nothing is paid for it; else its price is looked up by its name and the model."""
    base_url: str = ""
    """Where it is unless that is set; empty where there is no address, or it must be set."""
    model: str = ""
    """The model that is asked where none is named; empty leaves it to the variable's default."""
    thinks: str = r"(?!)"
    """A pattern of the models that think unasked, and take an effort."""
    temperature: Literal["always", "unless thinking", "never"] = "always"
    """Which models take a temperature; others are sent none, and choose their own."""
    json: Literal["schema", "object", "none"] = "none"
    """How an answer in JSON is asked for: constrained by its schema, constrained to be JSON, or
    by words alone. Without the first, the schema is put into the system prompt."""
    longest: int = 0
    """Tokens of the longest answer of its newest models, thoughts included; 0 is unknown."""
    lengths: bool = True
    """Whether its schemas may bound the length of strings."""
    stream_usage: bool = True
    """Whether it takes the wish for token counts at a stream's end."""
    limit: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    """What it calls the most tokens of an answer."""
    seeds: bool = False
    """Whether it takes a seed."""
    frames: bool = False
    """Whether it goes on from a text that its answer begins with (`Request.frame`)."""
    alternatives: bool = False
    """Whether it tells of each token what else was likely there (`Request.alternatives`)."""
    lists_windows: bool = False
    """Whether its list of models may tell how long a question may be: known before the first one,
    it can be cut to that. Far servers have room for nearly every question of ours."""

    def thinking(self, model: str) -> bool:
        """Whether a model thinks where nothing is said of it, as far as its name tells."""
        return re.match(self.thinks, model) is not None

    def default(self, option: str) -> Option:
        """What an option is where nobody sets it."""
        own = {"model": self.model, "base_url": self.base_url}.get(option, "")
        return own or (self.settings[option].default if option in self.settings else "")

    def chosen(self, option: str, given: Mapping[str, Option]) -> Option:
        """What an option is by the variables that are set."""
        setting = self.settings.get(option)
        own = None if setting is None else given.get(setting.variable)
        return self.default(option) if own is None else own


def named(provider: str, model: str) -> str:
    """A model in words; of a path, the name of the file or folder alone."""
    return f"{provider}/{Path(model).name if Path(model).is_absolute() else model}"


MOCK = "mock"
"""The plan without a model, made of rules: it is no row."""


def read_rows(path: Path) -> dict[str, ProviderRow]:
    """The table of providers in a TOML file, by name."""
    with path.open("rb") as file:
        content = tomllib.load(file)
    return {name: _row(name, content) for name in content}


def _row(name: str, content: dict[str, dict[str, Any]]) -> ProviderRow:  # as TOML has it
    own = content[name]
    kind = content[own.get("like", name)]
    words: tuple[str, ...] = ("factory", "package", "extra")
    shared = {word: kind[word] for word in words if word in kind}
    options: dict[str, Any] = kind.get("settings", {})
    settings = {option: Setting(**one) for option, one in options.items()}
    fields: dict[str, Any] = {**shared, "like": name, **own, "settings": settings}
    return ProviderRow(**fields)


PROVIDERS = read_rows(Path(__file__).with_name("providers.toml"))
"""Providers with a model."""


def row_of(name: str) -> ProviderRow:
    """The row of a provider; raises `NoProvider` where there is none."""
    if name not in PROVIDERS:
        known = ", ".join(["auto", MOCK, *PROVIDERS])
        raise NoProvider(
            f"There is no provider {name!r}. Set LLM_PROVIDER to one of: {known}."
        )
    return PROVIDERS[name]


@dataclass(frozen=True)
class Connection:
    """Whom to ask, and how it is reached."""

    provider: str
    """A row of `PROVIDERS`."""
    model: str
    key: Secret = NO_KEY
    base_url: str = ""
    """Empty is the provider's own."""
    options: Mapping[str, Option] = field(default_factory=dict)
    """What is set of the provider's own options."""
    connect_s: float = 5.0
    stall_s: float = 60.0
    """Seconds without a byte after which a stream is given up."""

    @property
    def row(self) -> ProviderRow:
        return row_of(self.provider)

    def option(self, name: str) -> Option:
        """An option of the provider's own, as it is set or by default."""
        return self.options.get(name, self.row.settings[name].default)


Rules = Mapping[str, Callable[[Mapping[str, object]], str]]
"""Role name to a function from a request's variables to an answer's text."""


def open_provider(connection: Connection) -> Provider:
    """The provider of a connection. Raises `NoProvider` where what it imports is not installed."""
    from importlib import import_module

    row = connection.row
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


def missing(provider: str) -> str:
    """Which package a provider lacks here, and how to have it; empty where it lacks none."""
    from importlib.util import find_spec

    row = row_of(provider)
    if not row.package or find_spec(row.package) is not None:
        return ""
    return f'{row.package} is not installed: pip install -e ".[{row.extra}]"'


class RulesProvider:
    """The provider of the plan without a model: rules answer, computed from the real run.

    It stands in for no model: a role without a rule, or a rule that cannot answer, says so.
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
        """Nothing is held."""
