"""The models that a session's runs may use: API keys, model plans and providers.

Keys are stored only here, in memory, separately for each visitor: not in the environment, a run's
state, its log or a file. A visitor is identified by the hash of a random token of their browser.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Protocol, runtime_checkable

from agent.core.settings import GENERATOR, ROLES, Settings
from agent.memory.visitors import VisitorAddresses
from llm import Connection, ModelPlan, NoProvider, Provider, Secret, open_provider, resolve
from llm.errors import NeedsKey
from llm.plan import Choice, connection, with_preset
from llm.prices import Prices, prices_with
from llm.provider import PROVIDERS, provider_row
from llm.redaction import LogRedaction, Redactor
from llm.router import Breaker

LOCAL_USER = ""
"""The identifier of the local user: the terminal, the library, and the page on loopback."""
WITHOUT_MODEL = "no model: memory and search only"
MAX_VISITORS = 200
"""Limit of visitors whose keys are kept, because all logged text is searched for each key. Of the
visitors who share an address with the most others, the one with the oldest key is removed first."""
LONGEST_KEY = 1_000
MAX_BREAKERS = 4_000


def key_names() -> tuple[str, ...]:
    """The environment variables that hold API keys of models."""
    return tuple(dict.fromkeys(row.key for row in PROVIDERS.values() if row.key))


def visitor_id(word: str) -> str:
    """The identifier of a visitor for their browser's random token; empty for the local user."""
    return hashlib.sha256(word.encode()).hexdigest()[:32] if word else LOCAL_USER


@runtime_checkable
class DescribedProvider(Protocol):
    """A provider whose model runs in this process."""

    def describe(self) -> str:
        """Describes where the model runs and how fast, or why it does not run."""

    def warm(self) -> None:
        """Begins to load the model."""


class BadKey(ValueError):
    """The given text cannot be a key; the message says why."""


class Models:
    """Plans, keys and providers; used from the session's event loop."""

    def __init__(
        self, settings: Settings, opener: Callable[[Connection], Provider] = open_provider,
        most_visitors: int = MAX_VISITORS,
    ) -> None:
        """Raises `BadPrices` for an invalid price table."""
        self.settings = settings
        self.prices: Prices = prices_with(settings.prices)
        self._options = with_preset(settings.provider, settings.options)
        self._open = opener
        self._most_visitors = most_visitors
        self._host = {
            name: Secret(settings.environment[name])
            for name in key_names() if settings.environment.get(name, "").strip()
        }
        self._visitor_keys: dict[str, dict[str, Secret]] = {}
        self.addresses = VisitorAddresses()
        self._breakers: dict[tuple[str, ...], Breaker] = {}
        self.log_redaction = LogRedaction(self.redactor())
        """The filter for log handlers, which removes every known key."""

    # Keys.

    def add_key(self, visitor: str, variable: str, key: str) -> None:
        """Saves or replaces a visitor's key; an empty one removes it.

        Raises:
            BadKey: The variable or the key is invalid. The message never contains the key.
        """
        if variable not in key_names():
            raise BadKey(f"{variable} is no key of a model; choose one of {', '.join(key_names())}")
        secret = Secret(key)
        if secret and (not secret.reveal().isascii() or not secret.reveal().isprintable()
                       or " " in secret.reveal() or len(secret.reveal()) > LONGEST_KEY):
            raise BadKey("A key is one line of plain characters without spaces: copy it again.")
        mine = self._visitor_keys.pop(visitor, {})  # reinserted at the end: the first is the oldest
        mine.pop(variable, None)
        if secret:
            mine[variable] = secret
        if mine:
            self._visitor_keys[visitor] = mine
        while len(self._visitor_keys) > self._most_visitors:
            visitors = [one for one in self._visitor_keys if one != LOCAL_USER]
            self.forget(self.addresses.next_evicted(visitors))
        self.log_redaction.redactor = self.redactor()

    def forget(self, visitor: str) -> None:
        """Removes all keys of a visitor."""
        self._visitor_keys.pop(visitor, None)
        self.log_redaction.redactor = self.redactor()

    def available_keys(self, visitor: str) -> tuple[str, ...]:
        """The names of the keys that a visitor's runs can use."""
        return tuple(sorted(self.keys(visitor)))

    def keys(self, visitor: str) -> Mapping[str, Secret]:
        """The keys that a visitor's runs can use: their own, and the host's if allowed."""
        serves = self.settings.host_keys or visitor == LOCAL_USER
        return {**(self._host if serves else {}), **self._visitor_keys.get(visitor, {})}

    def redactor(self) -> Redactor:
        """A redactor that removes every known key from a text."""
        given = (key for keys in self._visitor_keys.values() for key in keys.values())
        return Redactor(key.reveal() for key in (*self._host.values(), *given))

    # Plans.

    def plan(
        self, visitor: str = LOCAL_USER, provider: str | None = None,
        roles: Mapping[str, str] | None = None, model: str | None = None,
    ) -> ModelPlan:
        """The model plan of the settings, with the overrides of a run or visitor.

        Raises:
            NoProvider: The provider is not available.
            NeedsKey: An API key is missing.
        """
        ours = self.settings
        if model is None:  # the model of the settings belongs to their provider
            model = ours.model if provider in (None, "", ours.provider) else ""
        plan = resolve(
            self.keys(visitor), ROLES, provider=provider or ours.provider, model=model,
            by_role={**ours.roles, **(roles or {})}, fallbacks=ours.fallbacks,
            given=self._options, no_model_reason=WITHOUT_MODEL,
        )
        if plan.has_model and plan.of(GENERATOR) is None:
            note = ("No model is given to the generator, so none writes a repair, and the other "
                    "roles are not asked about code that a user submits.")
            plan = replace(plan, notes=(*plan.notes, note))
        return plan

    def missing_key(self, plan: ModelPlan, visitor: str) -> str:
        """States which key of a plan is missing; empty if none is."""
        try:
            for choice in plan.choices:
                if choice.uses_model:
                    self._connection(choice, visitor)
        except NeedsKey as error:
            return str(error)
        return ""

    # Providers.

    def provider(self, choice: Choice, visitor: str) -> Provider:
        """Opens a provider, which the caller must close.

        Raises:
            NoProvider: The provider is not available.
            NeedsKey: Its API key is missing.
        """
        return self._open(self._connection(choice, visitor))

    def breaker(self, choice: Choice, visitor: str) -> Breaker:
        """The circuit breaker of a model, shared by all runs of a visitor."""
        whose = (visitor, *choice.model_key)
        if whose not in self._breakers and len(self._breakers) >= MAX_BREAKERS:
            del self._breakers[next(iter(self._breakers))]
        return self._breakers.setdefault(whose, Breaker())

    async def test_key(self, visitor: str, name: str) -> tuple[str, ...]:
        """Lists a provider's models to check that it is reachable and the key is valid. It costs
        nothing. Raises an `LlmError` if the check fails."""
        choice = Choice("", name, str(provider_row(name).default("model")) or "any", "tested")
        async with self._opened(choice, visitor) as provider:
            return await provider.models()

    async def local_status(self, plan: ModelPlan, visitor: str) -> tuple[str, ...]:
        """Describes the models of a plan that run in this process, without loading them."""
        found = []
        for choice in self._in_process(plan):
            try:
                async with self._opened(choice, visitor) as provider:
                    if isinstance(provider, DescribedProvider):
                        found.append(provider.describe())
            except NoProvider as error:
                found.append(str(error))
        return tuple(found)

    async def warm(self) -> None:
        """Begins to load the in-process model of the settings, so that the first call is not slow.
        Errors are reported by that call."""
        for choice in self._in_process(self.plan())[:1]:
            # Not closed, so that the model stays loaded.
            provider = await asyncio.to_thread(self._open, self._connection(choice, LOCAL_USER))
            if isinstance(provider, DescribedProvider):
                provider.warm()

    def _in_process(self, plan: ModelPlan) -> list[Choice]:
        """The choices of models that run in this process, each model once."""
        return list({
            one.model_key: one for one in plan.choices if one.uses_model
            and provider_row(one.provider).in_process
        }.values())

    def _connection(self, choice: Choice, visitor: str) -> Connection:
        return connection(choice, self._options, self.keys(visitor))

    @asynccontextmanager
    async def _opened(self, choice: Choice, visitor: str) -> AsyncIterator[Provider]:
        provider = self.provider(choice, visitor)
        try:
            yield provider
        finally:
            await provider.close()
