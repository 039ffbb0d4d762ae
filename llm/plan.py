"""The plan: which model answers each role, and why; chosen once, before anything runs.

The routing: with a local provider the generator alone runs on it, and the roles that think run on
Claude where there is a key, else on the same local model, which the plan says. `anthropic` and
`openai` take every role. `auto` is the best of what is configured. Nothing configured is `mock`:
no model. `mock` never stands in for a provider that was asked for.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from llm.errors import NeedsKey, NoProvider
from llm.keys import NO_KEY, Secret
from llm.provider import PROVIDERS, Connection, thinks_unasked
from llm.providers.presets import PRESETS

GENERATOR = "generator"
FAST = ("spec_tester", "qa_adversary", "memory_summariser")
"""Roles that answer with a few small facts: a provider's cheaper model takes them."""
ROLES = (GENERATOR, "debugger", "critic", "arbiter", "planner", *FAST)
LOCAL = tuple(name for name, row in PROVIDERS.items() if row.local)
NOTHING = "no model: memory and search only"
_KEYED_PRESETS = ("openai", "groq", "gemini", "qwen")
"""Presets that `auto` takes for their key alone, in this order. A Hugging Face token is no such
key: it never sends anything by being there."""
CUSTOM = "custom"


@dataclass(frozen=True)
class Wishes:
    """What a user has set about models."""

    provider: str = "auto"
    """`auto`, `mock`, a row of `PROVIDERS` or a preset of `openai`."""
    model: str = ""
    """The model of that provider for every role it takes; empty leaves it to the next fields."""
    roles: Mapping[str, str] = field(default_factory=dict)
    """Role to `provider` or `provider/model`."""
    fallbacks: tuple[str, ...] = ()
    """`provider` or `provider/model`, in the order in which they stand in; none by default."""
    configured: frozenset[str] = frozenset()
    """Providers that need no key and were named in the settings, so that `auto` may take them."""
    anthropic_model: str = "claude-sonnet-5-5"
    anthropic_fast_model: str = "claude-haiku-5-5"
    anthropic_base_url: str = ""
    ollama_model: str = "llama3.2:3b"
    ollama_base_url: str = "http://localhost:11434"
    hf_model: str = "meta-llama/Llama-3.2-3B-Instruct"
    openai_model: str = ""
    openai_preset: str = ""
    openai_base_url: str = ""
    num_ctx: int = 8_192
    keep_alive: str = "10m"
    four_bit: bool = False


@dataclass(frozen=True)
class Choice:
    """Who answers a role."""

    role: str
    provider: str
    """A row of `PROVIDERS`, or `mock`."""
    model: str
    why: str
    preset: str = ""

    @property
    def label(self) -> str:
        """The provider as users and price tables name it."""
        return self.preset or self.provider

    @property
    def thinks(self) -> bool:
        """Whether the model thinks before it answers, as far as its name tells."""
        if self.preset:
            return PRESETS[self.preset].thinks(self.model)
        return self.provider != "mock" and thinks_unasked(self.provider, self.model)

    @property
    def words(self) -> str:
        return "no model" if self.provider == "mock" else f"{self.label}/{self.model}"


@dataclass(frozen=True)
class Plan:
    """Who answers each role, and why, in words."""

    provider: str
    """The providers in short: `mock`, `anthropic`, `ollama + anthropic`."""
    why: str
    choices: tuple[Choice, ...] = ()
    """One for each role; none where there is no model."""
    fallbacks: tuple[Choice, ...] = ()
    notes: tuple[str, ...] = ()
    """What a user must know of how the plan departs from the usual one."""

    @property
    def has_model(self) -> bool:
        return any(choice.provider != "mock" for choice in self.choices)

    def of(self, role: str) -> Choice | None:
        """Who answers a role; `None` where no model does."""
        return next(
            (one for one in self.choices if one.role == role and one.provider != "mock"), None
        )


def resolve(wishes: Wishes, keys: Mapping[str, Secret]) -> Plan:
    """The plan for what is wished and the keys there are, by the names of their variables.

    Asks nobody. Raises `NeedsKey` or `NoProvider` where what was asked for by name cannot be had.
    """
    homes = _Homes(wishes, keys)
    wanted = wishes.provider
    if wishes.openai_preset and wishes.openai_preset not in PRESETS:
        raise NoProvider(
            f"OPENAI_PRESET={wishes.openai_preset!r} is no preset; there are {', '.join(PRESETS)}"
        )
    if wishes.openai_base_url and wishes.openai_preset not in ("", CUSTOM) and not (
        PRESETS[wishes.openai_preset].local
    ):
        raise NoProvider(
            f"OPENAI_BASE_URL is another server than that of OPENAI_PRESET={wishes.openai_preset}, "
            f"whose key must not go there: leave out one of them"
        )
    if wishes.model and wanted in ("auto", "mock"):
        raise NoProvider(
            f"The model {wishes.model!r} needs its provider: set LLM_PROVIDER (or --provider)"
        )
    if any(name.partition("/")[0].strip() == "mock" for name in wishes.fallbacks):
        raise NoProvider("LLM_FALLBACK names mock, which is no model and stands in for none")
    notes: tuple[str, ...] = ()
    if wanted == "mock":
        base, why = None, f"LLM_PROVIDER=mock: {NOTHING}"
    elif wanted == "auto":
        base, why = homes.best()
    elif wanted in LOCAL:
        base, why = homes.shared(wanted, f"LLM_PROVIDER={wanted}")
    else:
        base, why = homes.all(wanted), f"LLM_PROVIDER={wanted}"
    choices = tuple(
        homes.named(role, wishes.roles[role], f"set for this role: {wishes.roles[role]}")
        if role in wishes.roles
        else replace(base[role], role=role) if base is not None
        else Choice(role, "mock", "", why)
        for role in ROLES
    )
    unknown = sorted(wishes.roles.keys() - set(ROLES))
    if unknown:
        raise NoProvider(
            f"LLM_ROLES names {', '.join(unknown)}; the roles are {', '.join(ROLES)}"
        )
    used = list(dict.fromkeys(one.label for one in choices if one.provider != "mock"))
    if not used:
        lone = "LLM_FALLBACK is set, but there is no model that it could stand in for."
        return Plan("mock", why, notes=(lone,) if wishes.fallbacks else ())
    if base is not None and homes.note:
        notes = (homes.note,)
    if choices[ROLES.index(GENERATOR)].provider == "mock":
        notes += ("No model is given to the generator, so none writes a repair, and the other "
                  "roles are not asked about code that is brought.",)
    if CUSTOM in used and keys.get("OPENAI_API_KEY") and not keys.get("LLM_API_KEY"):
        notes += ("OPENAI_API_KEY is not sent to OPENAI_BASE_URL; a key for that server is "
                  "LLM_API_KEY.",)
    fallbacks = tuple(
        homes.named("", name, "stands in where another cannot be reached")
        for name in wishes.fallbacks
    )
    return Plan(" + ".join(used), why, choices, fallbacks, notes)


class _Homes:
    """Where roles can be at home, by what is configured."""

    def __init__(self, wishes: Wishes, keys: Mapping[str, Secret]) -> None:
        self.wishes = wishes
        self.keys = keys
        self.note = ""

    def best(self) -> tuple[dict[str, Choice] | None, str]:
        """The best of what is configured, and why."""
        absent = ""
        for local in LOCAL:
            if local in self.wishes.configured:
                absent = absent or missing(local)
                if not missing(local):
                    return self.shared(local, f"auto: {local} is configured")
        if self._has("ANTHROPIC_API_KEY"):
            absent = absent or missing("anthropic")
            if self._can_think():
                return self.all("anthropic"), "auto: there is a key for anthropic"
        preset = self._preset()
        if preset and missing("openai"):
            preset, absent = "", absent or missing("openai")
        if preset and (self._model_of(preset) or self.wishes.openai_model):
            why = f"auto: {preset} is configured"
            return self.all(preset), why
        if preset:
            return None, (
                f"{NOTHING} ({preset} is configured, but no model is: set OPENAI_MODEL)"
            )
        return None, f"{NOTHING} ({absent or 'nothing else is configured'})"

    def shared(self, local: str, why: str) -> tuple[dict[str, Choice], str]:
        """The generator on the local model, the roles that think on Claude."""
        own = self.named(GENERATOR, local, why)
        if self.wishes.provider == local and self.wishes.model:
            own = replace(own, model=self.wishes.model)
        if self._can_think():
            thinking = {
                role: self.named(role, "anthropic", "thinking roles run on Claude")
                for role in ROLES if role != GENERATOR
            }
            return {GENERATOR: own, **thinking}, f"{why}; Claude thinks"
        lack = "no key for Claude"
        if self._has("ANTHROPIC_API_KEY"):
            lack = missing("anthropic")
        reason = f"{lack}: the same local model thinks"
        self.note = (
            f"There is {lack if lack.startswith('no key') else f'no Claude ({lack})'}, so every "
            f"role runs on {own.words}; a small model thinks less well."
        )
        return {role: replace(own, role=role, why=reason) for role in ROLES} | {
            GENERATOR: own
        }, f"{why}; {reason}"

    def all(self, name: str) -> dict[str, Choice]:
        """Every role at one provider."""
        wanted = self.wishes.model if self.wishes.provider == name else ""
        target = f"{name}/{wanted}" if wanted else name
        return {role: self.named(role, target, f"every role runs on {name}") for role in ROLES}

    def named(self, role: str, target: str, why: str) -> Choice:
        """A choice from `provider` or `provider/model`."""
        name, _, model = target.strip().partition("/")
        if name == "mock":
            return Choice(role, "mock", "", why)
        provider, preset = self._home(name)
        absent = missing(provider)
        if absent:
            raise NoProvider(f"{name} cannot be asked: {absent}")
        self._must_have_key(name, provider, preset)
        model = model or self._default(role, provider, preset)
        if not model:
            raise NoProvider(
                f"{preset or provider} has no default model: name one, as OPENAI_MODEL or as "
                f"{name}/MODEL"
            )
        return Choice(role, provider, model, why, preset)

    def _home(self, name: str) -> tuple[str, str]:
        """The row of `PROVIDERS`, and the preset, that a name means."""
        if name == "openai":
            return "openai", self._preset() or "openai"
        if name in PRESETS:
            return "openai", name
        if name in PROVIDERS:
            return name, ""
        known = ", ".join(["auto", "mock", *PROVIDERS, *(n for n in PRESETS if n != "openai")])
        raise NoProvider(
            f"There is no provider {name!r}. Set LLM_PROVIDER (or --provider) to one of: {known}."
        )

    def _default(self, role: str, provider: str, preset: str) -> str:
        match provider:
            case "anthropic":
                fast = role in FAST
                return self.wishes.anthropic_fast_model if fast else self.wishes.anthropic_model
            case "ollama":
                return self.wishes.ollama_model
            case "huggingface":
                return self.wishes.hf_model
            case _:
                own = preset == (self._preset() or "openai")
                return (self.wishes.openai_model if own else "") or self._model_of(preset)

    def _must_have_key(self, name: str, provider: str, preset: str) -> None:
        variable, needed = key_of(provider, preset)
        if needed and not self._has(variable):
            raise NeedsKey(
                f"{name} needs a key: set {variable}, or give one on the page", variable
            )

    def _preset(self) -> str:
        """The OpenAI-compatible server that is configured; empty where none is."""
        if self.wishes.openai_preset:
            return self.wishes.openai_preset
        if self.wishes.provider in PRESETS and self.wishes.provider != "openai":
            return self.wishes.provider
        if self.wishes.openai_base_url:
            return CUSTOM
        return next(
            (name for name in _KEYED_PRESETS if self._has(PRESETS[name].key_name)), ""
        )

    def _model_of(self, preset: str) -> str:
        return PRESETS[preset].model if preset in PRESETS else ""

    def _can_think(self) -> bool:
        """Whether Claude can be asked."""
        return self._has("ANTHROPIC_API_KEY") and not missing("anthropic")

    def _has(self, variable: str) -> bool:
        return bool(self.keys.get(variable, NO_KEY))


def missing(provider: str) -> str:
    """Which package a provider lacks here, and how to have it; empty where it lacks none."""
    from importlib.util import find_spec

    row = PROVIDERS[provider]
    if find_spec(row.package) is not None:
        return ""
    return f'{row.package} is not installed: pip install -e ".[{row.extra}]"'


def key_of(provider: str, preset: str = "") -> tuple[str, bool]:
    """The variable of a provider's key, empty where it takes none, and whether it must be there."""
    if preset:
        return PRESETS[preset].key_name, PRESETS[preset].needs_key
    row = PROVIDERS[provider]
    return row.key_name, row.needs_key


def connection(choice: Choice, wishes: Wishes, keys: Mapping[str, Secret]) -> Connection:
    """How a choice is reached; raises `NeedsKey` where its key is gone."""
    variable, needed = key_of(choice.provider, choice.preset)
    key = keys.get(variable, NO_KEY)
    if needed and not key:
        raise NeedsKey(
            f"{choice.label} needs a key that is not here (any more): give {variable} again",
            variable,
        )
    base_url = {
        "anthropic": wishes.anthropic_base_url,
        "ollama": wishes.ollama_base_url,
        # Never together with the key of another server: `resolve` refuses that.
        "openai": wishes.openai_base_url if choice.preset in (CUSTOM, wishes.openai_preset) else "",
    }.get(choice.provider, "")
    return Connection(
        choice.provider, choice.model, key, base_url, choice.preset,
        num_ctx=wishes.num_ctx, keep_alive=wishes.keep_alive, four_bit=wishes.four_bit,
    )


def parse_roles(text: str) -> dict[str, str]:
    """Role to provider from words such as `debugger=anthropic, generator=ollama/qwen3:4b`; raises
    `ValueError`."""
    found: dict[str, str] = {}
    for part in filter(None, (piece.strip() for piece in text.split(","))):
        role, given, target = (piece.strip() for piece in part.partition("="))
        if not (role and given and target):
            raise ValueError(f"{part!r}: write it as debugger=anthropic/claude-sonnet-5-5")
        found[role] = target
    return found
