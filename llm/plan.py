"""The plan: which model answers each role, and why; chosen once, before anything runs.

The routing: a local model writes, and the roles that think run on Claude where there is a key.
Without one they run on the local model, or by rules where that model is small, which the plan says.
Every other provider takes every role, or only writing where its model is small. `auto` is the best
of what is set up. Nothing set up is `mock`: no model. `mock` never stands in for a provider that
was asked for.
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
    row_of,
)

SMALL_B = 10.0
"""Models with fewer billions of parameters are asked plain questions, and only for programs."""

Work = Literal["write", "think", "list"]
"""What a role does: it writes programs, it thinks, or it answers with a few small facts, for which
a provider's cheaper model will do."""
Roles = Mapping[str, Work]

BESIDE = "anthropic"
"""It thinks where a small model writes."""
FAMILY, CUSTOM = "openai", "custom"
"""The row that may stand for any that is like it, and the one of an address that the user names."""


@dataclass(frozen=True)
class Choice:
    """Who answers a role."""

    role: str
    provider: str
    """A row of `PROVIDERS`, or `mock`."""
    model: str
    why: str
    optional: bool = False
    """Rules may answer in its place: its role thinks, and the user named no model for it."""
    measured_small: bool | None = None
    """Whether its answers showed a model that is small or slow; `None` before there are any."""

    @property
    def asks(self) -> bool:
        """Whether a model is asked."""
        return self.provider != MOCK

    @property
    def thinks(self) -> bool:
        """Whether the model thinks before it answers, as far as its name tells."""
        return self.asks and row_of(self.provider).thinking(self.model)

    @property
    def is_small(self) -> bool:
        """Whether the model is small or slow and needs the short loop: as measured, else by the
        billions of parameters in its name, else as the models of its provider are."""
        if self.measured_small is not None:
            return self.measured_small
        size = parameters_b(self.model)
        by_provider = self.asks and row_of(self.provider).small
        return by_provider if size is None else self.asks and size < SMALL_B

    @property
    def asked(self) -> tuple[str, str]:
        """Which model this is: two files of one name in different folders are two."""
        return self.provider, self.model

    @property
    def words(self) -> str:
        return named(self.provider, self.model) if self.asks else "no model"


@dataclass(frozen=True)
class ModelPlan:
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
        return any(choice.asks for choice in self.choices)

    def of(self, role: str) -> Choice | None:
        """Who answers a role; `None` where no model does."""
        return next((one for one in self.choices if one.role == role and one.asks), None)

    def measured(self, asked: tuple[str, str], shown: str) -> ModelPlan:
        """The plan once answers of a model have shown its class: `shown` says what makes it small
        or slow, so that rules answer the roles that can do without it; empty where nothing does."""
        why = f"rules answer: {shown}"
        return replace(self, choices=tuple(
            one if one.asked != asked
            else Choice(one.role, MOCK, "", why) if shown and one.optional
            else replace(one, measured_small=bool(shown))
            for one in self.choices
        ))


def resolve(
    keys: Mapping[str, Secret],
    roles: Roles,
    *,
    provider: str = "auto",
    model: str = "",
    by_role: Mapping[str, str] | None = None,
    fallbacks: tuple[str, ...] = (),
    given: Mapping[str, Option] | None = None,
    without: str = "no model",
) -> ModelPlan:
    """The plan for what is set and the keys there are, by the names of their variables.

    `provider` is `auto`, `mock` or a row of `PROVIDERS`; `model` is that provider's for every role
    it takes. `by_role` and `fallbacks` are `provider` or `provider/model`; `given` holds
    the variables of rows that are set, and `without` says that no model answers. Asks nobody.
    Raises `NeedsKey` or `NoProvider` where what was asked for by name cannot be had.
    """
    by_role = by_role or {}
    resolver = _Resolver(keys, roles, provider, model, given or {})
    resolver.check()
    if any(name.partition("/")[0].strip() == MOCK for name in fallbacks):
        raise NoProvider("LLM_FALLBACK names mock, which is no model and stands in for none")
    base: dict[str, Choice] | None = None
    if provider == MOCK:
        why = f"LLM_PROVIDER=mock: {without}"
    elif provider == "auto":
        base, why = resolver.auto(without)
    elif row_of(provider).small:
        base, why = resolver.beside_claude(provider, f"LLM_PROVIDER={provider}")
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
    used = list(dict.fromkeys(one.provider for one in choices if one.asks))
    if not used:
        lone = "LLM_FALLBACK is set, but there is no model that it could stand in for."
        return ModelPlan(MOCK, why, notes=(lone,) if fallbacks else ())
    notes = [resolver.note] if base is not None and resolver.note else []
    if CUSTOM in used and keys.get("OPENAI_API_KEY") and not keys.get(row_of(CUSTOM).key):
        notes.append("OPENAI_API_KEY is not sent to OPENAI_BASE_URL; a key for that server is "
                     f"{row_of(CUSTOM).key}.")
    stand_ins = tuple(resolver.choice("", name, "stands in where another cannot be reached")
                      for name in fallbacks)
    asked = {one.provider for one in (*choices, *stand_ins) if one.asks}
    family = [name for name in sorted(asked) if row_of(name).like == FAMILY]
    if _set(row_of(FAMILY), "base_url", resolver.given) and family and not any(
        _base_url(name, row_of(name), resolver.given) for name in family
    ):
        notes.append(
            f"OPENAI_BASE_URL is not used: {family[0]} is asked at its own address. To ask that "
            f"address instead, set LLM_PROVIDER={CUSTOM}."
        )
    return ModelPlan(" + ".join(used), why, choices, stand_ins, tuple(notes))


def with_preset(provider: str, given: Mapping[str, Option]) -> Mapping[str, Option]:
    """The variables that are set, where `LLM_PROVIDER` names a server without a key of its own, as
    `llama-server`: as its preset, so that `OPENAI_BASE_URL` says where it is."""
    family, row = row_of(FAMILY), PROVIDERS.get(provider)
    is_own = row is not None and row.like == FAMILY and row.local and not row.key
    if not (is_own and _set(family, "base_url", given)) or _set(family, "preset", given):
        return given
    return {**given, family.settings["preset"].variable: provider}


class _Resolver:
    """Finds who can answer a role, by what is set up."""

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
        """Raises `NoProvider` for what is set and cannot go together."""
        preset = _set(row_of(FAMILY), "preset", self.given)
        if preset and (preset not in PROVIDERS or PROVIDERS[preset].like != FAMILY):
            known = ", ".join(name for name, row in PROVIDERS.items() if row.like == FAMILY)
            raise NoProvider(f"OPENAI_PRESET={preset!r} is no preset; there are {known}")
        elsewhere = _set(row_of(FAMILY), "base_url", self.given)
        if elsewhere and preset not in ("", CUSTOM) and not PROVIDERS[preset].local:
            raise NoProvider(
                f"OPENAI_BASE_URL is another server than that of OPENAI_PRESET={preset}, "
                f"whose key must not go there: leave out one of them"
            )
        if self.model and self.provider in ("auto", MOCK):
            raise NoProvider(f"The model {self.model!r} needs its provider: set LLM_PROVIDER")

    def auto(self, without: str) -> tuple[dict[str, Choice] | None, str]:
        """The best of what is set up, and why."""
        small = [name for name, row in PROVIDERS.items() if row.small and self._set_up(row)]
        keyed = [name for name, row in PROVIDERS.items()
                 if row.auto and row.like != FAMILY and self._has(row.key)]
        server = self._server()
        wanted = [*small, *keyed, *([server] if server else [])]
        for name in wanted:
            if missing(name):
                continue
            if name in small:
                return self.beside_claude(name, "it is configured")
            if name in keyed:
                return self.alone(name, "there is a key for it")
            if self._model("", name):
                return self.alone(name, "it is configured")
            return None, f"{without} ({name} is configured, but no model is: set OPENAI_MODEL)"
        absent = missing(wanted[0]) if wanted else "nothing else is configured"
        return None, f"{without} ({absent})"

    def beside_claude(self, name: str, why: str) -> tuple[dict[str, Choice], str]:
        """A local model writes, and Claude answers the other roles where there is a key."""
        absent = "no key for Claude" if not self._has(row_of(BESIDE).key) else missing(BESIDE)
        if absent:
            lack = absent if absent.startswith("no key") else f"no Claude ({absent})"
            return self.alone(name, why, f"There is {lack}, so ", absent)
        own = self.everywhere(name, why)
        beside = self.everywhere(BESIDE, "thinking roles run on Claude")
        return {
            role: own[role] if work == "write" else beside[role]
            for role, work in self.roles.items()
        }, f"{why}; Claude thinks"

    def alone(
        self, name: str, why: str, so: str = "", absent: str = "a small model"
    ) -> tuple[dict[str, Choice], str]:
        """One provider for every role, or only for writing where its model is small."""
        own = self.everywhere(name, why if so else "")
        writer = next((own[role] for role, work in self.roles.items() if work == "write"), None)
        if writer is None or not writer.is_small:
            return own, why
        reason = f"{absent}: rules answer the other roles"
        self.note = (
            f"{so}{writer.words} writes programs, and rules answer the other roles: a small "
            "model's reviews and diagnoses cost more than they bring."
        )
        return {
            role: own[role] if work == "write" else Choice(role, MOCK, "", reason)
            for role, work in self.roles.items()
        }, f"{why}; {reason}"

    def everywhere(self, name: str, why: str = "") -> dict[str, Choice]:
        """Every role at one provider."""
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
        """A choice from `provider` or `provider/model`."""
        name, _, model = target.strip().partition("/")
        if name == MOCK:
            return Choice(role, MOCK, "", why)
        if name == FAMILY:
            name = self._server() or FAMILY
        row, absent = row_of(name), missing(name)
        if absent:
            raise NoProvider(f"{name} cannot be asked: {absent}")
        if row.needs_key and not self._has(row.key):
            raise NeedsKey(f"{name} needs a key: set {row.key}, or enter one", row.key)
        model = model or self._model(role, name)
        if not model:
            raise NoProvider(
                f"{name} has no default model: name one, as {row.settings['model'].variable} or "
                f"as {name}/MODEL"
            )
        if "base_url" in row.settings:
            checked_url(_base_url(name, row, self.given) or row.base_url, name)
        return Choice(role, name, model, why)

    def _model(self, role: str, name: str) -> str:
        """The model of a role at a provider, where none is named with it."""
        row = row_of(name)
        if row.like == FAMILY and name != (self._server() or FAMILY):
            return row.model  # the variables are those of another server
        fast = self.roles.get(role) == "list" and "fast_model" in row.settings
        return str(row.chosen("fast_model" if fast else "model", self.given))

    def _server(self) -> str:
        """Which server like `openai` is set up; empty where none is."""
        preset = _set(row_of(FAMILY), "preset", self.given)
        if preset:
            return preset
        asked = PROVIDERS.get(self.provider)
        if asked is not None and asked.like == FAMILY and self.provider != FAMILY:
            return self.provider
        if _set(row_of(FAMILY), "base_url", self.given):
            return CUSTOM
        return next((
            name for name, row in PROVIDERS.items()
            if row.like == FAMILY and row.auto and self._has(row.key)
        ), "")

    def _set_up(self, row: ProviderRow) -> bool:
        """Whether a user has said that there is a provider which needs no key."""
        return any(_set(row, option, self.given) for option in ("model", "base_url"))

    def _has(self, variable: str) -> bool:
        return bool(self.keys.get(variable, NO_KEY))


def _set(row: ProviderRow, option: str, given: Mapping[str, Option]) -> str:
    """What a user has set for an option; empty where they have not."""
    setting = row.settings.get(option)
    return "" if setting is None else str(given.get(setting.variable, ""))


def connection(
    choice: Choice, given: Mapping[str, Option], keys: Mapping[str, Secret]
) -> Connection:
    """How a choice is reached; raises `NeedsKey` where its key is gone."""
    row = row_of(choice.provider)
    key = keys.get(row.key, NO_KEY)
    if row.needs_key and not key:
        message = f"the key of {choice.provider}, {row.key}, is not here (any more)"
        raise NeedsKey(message, row.key)
    options = {
        option: given[setting.variable] for option, setting in row.settings.items()
        if setting.variable in given and option not in ("model", "fast_model", "base_url", "preset")
    }
    return Connection(
        choice.provider, choice.model, key, _base_url(choice.provider, row, given), options
    )


def _base_url(name: str, row: ProviderRow, given: Mapping[str, Option]) -> str:
    """The address that is set for a provider; empty where none is, or it is another server's, to
    which this one's key must not go."""
    foreign = row.like == FAMILY and name not in (CUSTOM, _set(row_of(FAMILY), "preset", given))
    return "" if foreign else _set(row, "base_url", given)


def parameters_b(model: str) -> float | None:
    """The billions of parameters that a model's name gives, as in `qwen2.5-coder:1.5b` or
    `mixtral-8x7b`; `None` where it gives none."""
    name = model.rsplit("/", 1)[-1].lower()
    found = re.search(r"(?<![a-z0-9.])(?:(\d+)x)?(\d+(?:\.\d+)?)b(?![a-z0-9])", name)
    return int(found[1] or 1) * float(found[2]) if found else None


def parse_roles(text: str) -> dict[str, str]:
    """Role to provider from words such as `critic=anthropic, planner=ollama/qwen3:4b`; raises
    `ValueError`."""
    found: dict[str, str] = {}
    for part in filter(None, (piece.strip() for piece in text.split(","))):
        role, given, target = (piece.strip() for piece in part.partition("="))
        if not (role and given and target):
            raise ValueError(f"{part!r}: write it as ROLE=PROVIDER or ROLE=PROVIDER/MODEL")
        found[role] = target
    return found
