"""Chooses the model of each role before a run; the plan records the choice and the reasons.

A local model writes, and the thinking roles run on Claude if there is a key. Without a key they run
on the local model, or by rules if that model is small, which the plan notes. Every other provider
takes all roles, or only writing if its model is small. `auto` selects the best configured provider.
Without any, the provider is `mock`: rules without a model. `mock` never replaces a provider that
was requested.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal

from llm.errors import NeedsKey, NoProvider
from llm.keys import NO_KEY, Secret
from llm.provider import (
    MOCK,
    PROVIDERS,
    Connection,
    Option,
    ProviderRow,
    checked_url,
    missing,
    named,
    provider_row,
)

SMALL_B = 10.0
"""Billions of parameters; models with fewer get simple prompts and only write programs."""

Work = Literal["write", "think", "list"]
"""What a role does: write programs, think, or list a few facts, for which a provider's cheaper
model is sufficient."""
Roles = Mapping[str, Work]

THINKING_PROVIDER = "anthropic"
"""The provider of the thinking roles if a small model writes."""
OPENAI, CUSTOM = "openai", "custom"
"""The row that stands for all compatible servers, and the row of a server that the user names."""


@dataclass(frozen=True)
class Choice:
    """The provider and model of a role."""

    role: str
    provider: str
    """A row of `PROVIDERS`, or `mock`."""
    model: str
    why: str
    optional: bool = False
    """Whether rules may replace it: it is a thinking role without a model set by the user."""
    measured_small: bool | None = None
    """Whether its answers showed that the model is small or slow; `None` before the first one."""

    @property
    def uses_model(self) -> bool:
        """Whether a model is used."""
        return self.provider != MOCK

    @property
    def thinks(self) -> bool:
        """Whether the model reasons before it answers, judged by its name."""
        return self.uses_model and provider_row(self.provider).thinking(self.model)

    @property
    def is_small(self) -> bool:
        """Whether the model is small or slow, so that it gets simple prompts and few kinds of
        request: as measured, else by the size in its name, else by its provider."""
        if self.measured_small is not None:
            return self.measured_small
        size = parameters_b(self.model)
        by_provider = self.uses_model and provider_row(self.provider).small
        return by_provider if size is None else self.uses_model and size < SMALL_B

    @property
    def model_key(self) -> tuple[str, str]:
        """The provider and the full model name, which identify the model."""
        return self.provider, self.model

    @property
    def words(self) -> str:
        return named(self.provider, self.model) if self.uses_model else "no model"


@dataclass(frozen=True)
class ModelPlan:
    """The model of each role with the reasons."""

    provider: str
    """A short form of the providers: `mock`, `anthropic`, `ollama + anthropic`."""
    why: str
    choices: tuple[Choice, ...] = ()
    """One for each role; empty if there is no model."""
    fallbacks: tuple[Choice, ...] = ()
    notes: tuple[str, ...] = ()
    """Differences from the usual plan, for users."""

    @property
    def has_model(self) -> bool:
        return any(choice.uses_model for choice in self.choices)

    def of(self, role: str) -> Choice | None:
        """The choice of a role; `None` if no model answers it."""
        return next((one for one in self.choices if one.role == role and one.uses_model), None)

    def measured(self, asked: tuple[str, str], shown: str) -> ModelPlan:
        """Returns the plan after first answers of the model with the key `asked`. `shown` says why
        it is small or slow, so that rules answer its optional roles; empty if it is neither."""
        why = f"rules answer: {shown}"
        return replace(self, choices=tuple(
            one if one.model_key != asked
            else Choice(one.role, MOCK, "", why) if shown and one.optional
            else replace(one, measured_small=bool(shown))
            for one in self.choices
        ))


def resolve(
    keys: Mapping[str, Secret], roles: Roles, *, provider: str = "auto", model: str = "",
    by_role: Mapping[str, str] | None = None, fallbacks: tuple[str, ...] = (),
    given: Mapping[str, Option] | None = None, no_model_reason: str = "no model",
) -> ModelPlan:
    """The plan for the given settings and keys. Makes no calls.

    Args:
        keys: Keys by variable name.
        roles: Role name to its work.
        provider: `auto`, `mock` or a row of `PROVIDERS`.
        model: The model of `provider` for all its roles.
        by_role: Role name to `provider` or `provider/model`.
        fallbacks: Each is `provider` or `provider/model`.
        given: The provider variables that are set.
        no_model_reason: The reason that is shown if no model answers.

    Raises `NeedsKey` or `NoProvider` if a requested provider is unavailable.
    """
    by_role = by_role or {}
    resolver = _Resolver(keys, roles, provider, model, given or {})
    resolver.check()
    if any(name.partition("/")[0].strip() == MOCK for name in fallbacks):
        raise NoProvider("LLM_FALLBACK contains mock, which is not a model: remove it")
    base: dict[str, Choice] | None = None
    if provider == MOCK:
        why = no_model_reason
    elif provider == "auto":
        base, why = resolver.auto(no_model_reason)
    elif provider_row(provider).small:
        base, why = resolver.local_with_claude(provider, f"LLM_PROVIDER={provider}")
    else:
        base, why = resolver.alone(provider, f"LLM_PROVIDER={provider}")
    unknown = sorted(by_role.keys() - roles.keys())
    if unknown:
        raise NoProvider(f"LLM_ROLES names {', '.join(unknown)}; the roles are {', '.join(roles)}")
    choices = tuple(
        resolver.choice(role, by_role[role], f"set for this role: {by_role[role]}")
        if role in by_role
        else base[role] if base is not None
        else Choice(role, MOCK, "", why)
        for role in roles
    )
    used = list(dict.fromkeys(one.provider for one in choices if one.uses_model))
    if not used:
        unused = "LLM_FALLBACK is not used, since no model is configured."
        return ModelPlan(MOCK, why, notes=(unused,) if fallbacks else ())
    notes = [resolver.note] if base is not None and resolver.note else []
    if CUSTOM in used and keys.get("OPENAI_API_KEY") and not keys.get(provider_row(CUSTOM).key):
        notes.append("OPENAI_API_KEY is not sent to OPENAI_BASE_URL; set "
                     f"{provider_row(CUSTOM).key} for a key of that server.")
    fallback_choices = tuple(resolver.choice("", name, "used if another model is unreachable")
                             for name in fallbacks)
    asked = {one.provider for one in (*choices, *fallback_choices) if one.uses_model}
    family = [name for name in sorted(asked) if provider_row(name).same_as == OPENAI]
    if _get(provider_row(OPENAI), "base_url", resolver.given) and family and not any(
        _base_url(name, provider_row(name), resolver.given) for name in family
    ):
        notes.append(
            f"OPENAI_BASE_URL is not used: {family[0]} has its own address. To use that address "
            f"instead, set LLM_PROVIDER={CUSTOM}."
        )
    return ModelPlan(" + ".join(used), why, choices, fallback_choices, tuple(notes))


def with_preset(provider: str, given: Mapping[str, Option]) -> Mapping[str, Option]:
    """The set variables, with `provider` as the preset if it is a local server without a key, such
    as `llama-server`. `OPENAI_BASE_URL` then applies to it."""
    family, row = provider_row(OPENAI), PROVIDERS.get(provider)
    is_keyless_local = row is not None and row.same_as == OPENAI and row.local and not row.key
    if not (is_keyless_local and _get(family, "base_url", given)) or _get(family, "preset", given):
        return given
    return {**given, family.settings["preset"].variable: provider}


class _Resolver:
    """Chooses the models of roles from the configured providers."""

    def __init__(
        self, keys: Mapping[str, Secret], roles: Roles, provider: str, model: str,
        given: Mapping[str, Option],
    ) -> None:
        self.keys = keys
        self.roles = roles
        self.provider = provider
        self.model = model
        self.given = given
        self.note = ""

    def check(self) -> None:
        """Raises `NoProvider` for conflicting settings."""
        preset = _get(provider_row(OPENAI), "preset", self.given)
        if preset and (preset not in PROVIDERS or PROVIDERS[preset].same_as != OPENAI):
            known = ", ".join(name for name, row in PROVIDERS.items() if row.same_as == OPENAI)
            raise NoProvider(f"OPENAI_PRESET={preset!r} is not a preset; choose one of {known}")
        elsewhere = _get(provider_row(OPENAI), "base_url", self.given)
        if elsewhere and preset not in ("", CUSTOM) and not PROVIDERS[preset].local:
            raise NoProvider(
                f"OPENAI_BASE_URL differs from the server of OPENAI_PRESET={preset}, whose key "
                f"must not be sent there: remove one of them"
            )
        if self.model and self.provider in ("auto", MOCK):
            raise NoProvider(f"The model {self.model!r} needs its provider: set LLM_PROVIDER")

    def auto(self, no_model_reason: str) -> tuple[dict[str, Choice] | None, str]:
        """The choices for the best configured provider, and the reason."""
        small = [name for name, row in PROVIDERS.items() if row.small and self._set_up(row)]
        keyed = [name for name, row in PROVIDERS.items()
                 if row.auto and row.same_as != OPENAI and self._has(row.key)]
        server = self._openai_server()
        wanted = [*small, *keyed, *([server] if server else [])]
        for name in wanted:
            if missing(name):
                continue
            if name in small:
                return self.local_with_claude(name, "it is configured")
            if name in keyed:
                return self.alone(name, "there is a key for it")
            if self._model("", name):
                return self.alone(name, "it is configured")
            why = f"{name} is configured without a model: set OPENAI_MODEL"
            return None, f"{no_model_reason} ({why})"
        absent = missing(wanted[0]) if wanted else "nothing else is configured"
        return None, f"{no_model_reason} ({absent})"

    def local_with_claude(self, name: str, why: str) -> tuple[dict[str, Choice], str]:
        """A local model for writing, and Claude for the other roles if there is a key."""
        absent = "no key for Claude" if not self._has(
            provider_row(THINKING_PROVIDER).key
        ) else missing(THINKING_PROVIDER)
        if absent:
            lack = absent if absent.startswith("no key") else f"no Claude ({absent})"
            return self.alone(name, why, f"There is {lack}, so ", absent)
        own = self.one_for_all_roles(name, why)
        claude = self.one_for_all_roles(THINKING_PROVIDER, "thinking roles run on Claude")
        return {
            role: own[role] if work == "write" else claude[role]
            for role, work in self.roles.items()
        }, f"{why}; Claude thinks"

    def alone(
        self, name: str, why: str, so: str = "", absent: str = "a small model"
    ) -> tuple[dict[str, Choice], str]:
        """Returns one provider for all roles, or only for writing if its model is small, and why.

        Args:
            why: Why the provider was chosen.
            so: The first words of `note`, which is set for a small model.
            absent: Why no other model answers the other roles.
        """
        own = self.one_for_all_roles(name, why if so else "")
        writer = next((own[role] for role, work in self.roles.items() if work == "write"), None)
        if writer is None or not writer.is_small:
            return own, why
        reason = f"{absent}: rules answer the other roles"
        self.note = (
            f"{so}{writer.words} writes programs, and rules answer the other roles: a small "
            "model's reviews and diagnoses cost more than they help."
        )
        return {
            role: own[role] if work == "write" else Choice(role, MOCK, "", reason)
            for role, work in self.roles.items()
        }, f"{why}; {reason}"

    def one_for_all_roles(self, name: str, why: str = "") -> dict[str, Choice]:
        """One provider for all roles."""
        wanted = self.model if self.provider == name else ""
        target = f"{name}/{wanted}" if wanted else name
        return {
            role: replace(
                self.choice(role, target, why or f"every role runs on {name}"),
                optional=work != "write",
            )
            for role, work in self.roles.items()
        }

    def choice(self, role: str, target: str, why: str) -> Choice:
        """Returns the choice for `target`: `provider` or `provider/model`. Raises `NeedsKey` or
        `NoProvider` if it is unavailable."""
        name, _, model = target.strip().partition("/")
        if name == MOCK:
            return Choice(role, MOCK, "", why)
        if name == OPENAI:
            name = self._openai_server() or OPENAI
        row, absent = provider_row(name), missing(name)
        if absent:
            raise NoProvider(f"{name} cannot be used: {absent}")
        if row.needs_key and not self._has(row.key):
            raise NeedsKey(f"{name} needs a key: set {row.key}, or enter one", row.key)
        model = model or self._model(role, name)
        if not model:
            raise NoProvider(
                f"{name} has no default model: set {row.settings['model'].variable}, or write "
                f"{name}/MODEL"
            )
        if "base_url" in row.settings:
            checked_url(_base_url(name, row, self.given) or row.base_url, name)
        return Choice(role, name, model, why)

    def _model(self, role: str, name: str) -> str:
        """The default model of a role at a provider."""
        row = provider_row(name)
        if row.same_as == OPENAI and name != (self._openai_server() or OPENAI):
            return row.model  # the variables belong to another server
        fast = self.roles.get(role) == "list" and "fast_model" in row.settings
        return str(row.chosen("fast_model" if fast else "model", self.given))

    def _openai_server(self) -> str:
        """The configured OpenAI-compatible server; empty if there is none."""
        preset = _get(provider_row(OPENAI), "preset", self.given)
        if preset:
            return preset
        asked = PROVIDERS.get(self.provider)
        if asked is not None and asked.same_as == OPENAI and self.provider != OPENAI:
            return self.provider
        if _get(provider_row(OPENAI), "base_url", self.given):
            return CUSTOM
        return next((
            name for name, row in PROVIDERS.items()
            if row.same_as == OPENAI and row.auto and self._has(row.key)
        ), "")

    def _set_up(self, row: ProviderRow) -> bool:
        """Whether the user has configured a provider that needs no key."""
        return any(_get(row, option, self.given) for option in ("model", "base_url"))

    def _has(self, variable: str) -> bool:
        return bool(self.keys.get(variable, NO_KEY))


def _get(row: ProviderRow, option: str, given: Mapping[str, Option]) -> str:
    """The user's value of an option; empty if it is not set."""
    setting = row.settings.get(option)
    return "" if setting is None else str(given.get(setting.variable, ""))


def connection(
    choice: Choice, given: Mapping[str, Option], keys: Mapping[str, Secret]
) -> Connection:
    """The connection of a choice; raises `NeedsKey` if its key is no longer set."""
    row = provider_row(choice.provider)
    key = keys.get(row.key, NO_KEY)
    if row.needs_key and not key:
        message = f"the key of {choice.provider} is no longer set: set {row.key} or enter one"
        raise NeedsKey(message, row.key)
    options = {
        option: given[setting.variable] for option, setting in row.settings.items()
        if setting.variable in given and option not in ("model", "fast_model", "base_url", "preset")
    }
    return Connection(
        choice.provider, choice.model, key, _base_url(choice.provider, row, given), options
    )


def _base_url(name: str, row: ProviderRow, given: Mapping[str, Option]) -> str:
    """The URL that is set for a provider; empty if there is none, or if it belongs to another
    server, to which this provider's key must not be sent."""
    foreign = row.same_as == OPENAI and name not in (
        CUSTOM, _get(provider_row(OPENAI), "preset", given)
    )
    return "" if foreign else _get(row, "base_url", given)


def parameters_b(model: str) -> float | None:
    """The billions of parameters in a model's name, such as `qwen2.5-coder:1.5b` or `mixtral-8x7b`;
    `None` if it has none."""
    name = model.rsplit("/", 1)[-1].lower()
    found = re.search(r"(?<![a-z0-9.])(?:(\d+)x)?(\d+(?:\.\d+)?)b(?![a-z0-9])", name)
    return int(found[1] or 1) * float(found[2]) if found else None


def parse_roles(text: str) -> dict[str, str]:
    """Parses role assignments such as `critic=anthropic, planner=ollama/qwen3:4b`; raises
    `ValueError`."""
    found: dict[str, str] = {}
    for part in filter(None, (piece.strip() for piece in text.split(","))):
        role, given, target = (piece.strip() for piece in part.partition("="))
        if not (role and given and target):
            raise ValueError(f"{part!r}: write it as ROLE=PROVIDER or ROLE=PROVIDER/MODEL")
        found[role] = target
    return found
