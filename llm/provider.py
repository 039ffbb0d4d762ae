"""The protocol of a provider, the table of providers, and the plan that chooses one."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import Protocol, cast

from llm.errors import NoProvider


@dataclass(frozen=True)
class Request:
    """One question to a model.

    `variables` are the values the prompt was rendered from. A provider with a model sends
    `system` and `user`; rules that stand in for a model read `variables`.
    """

    role: str
    system: str
    user: str
    variables: Mapping[str, object] = field(default_factory=dict)


class Provider(Protocol):
    """A request in, a stream of text deltas out; raises only `LlmError`."""

    name: str
    model: str

    def stream(self, request: Request) -> AsyncIterator[str]:
        """Yields the answer's text piece by piece."""


Rules = Mapping[str, Callable[[Mapping[str, object]], str]]
"""Role name to a function from a request's variables to an answer's text."""

PROVIDERS: dict[str, str] = {"mock": "llm.providers.mock:MockProvider"}
"""Provider name to `module:class`, imported when asked for. `mock` is the plan without a model."""

KEY_NAMES = (
    "ANTHROPIC_API_KEY",
    "OPENAI_API_KEY",
    "QWEN_API_KEY",
    "GROQ_API_KEY",
    "GEMINI_API_KEY",
)


@dataclass(frozen=True)
class Plan:
    """Which provider answers, and why, in words."""

    provider: str
    why: str

    @property
    def has_model(self) -> bool:
        return self.provider != "mock"


def resolve(wanted: str, environment: Mapping[str, str]) -> Plan:
    """Chooses the provider once, before anything runs.

    `auto` is the best of what is configured and built in. A provider asked for by name that
    cannot be had raises `NoProvider`; it is never replaced by another.
    """
    choices = ", ".join(["auto", *sorted(PROVIDERS)])
    if wanted == "mock":
        return Plan("mock", "LLM_PROVIDER=mock: no model, memory and search only")
    if wanted != "auto":
        raise NoProvider(
            f"The provider {wanted!r} is not built into this version. "
            f"Set LLM_PROVIDER (or --provider) to one of: {choices}."
        )
    keys = [name for name in KEY_NAMES if environment.get(name)]
    if keys:
        return Plan(
            "mock",
            f"no model: memory and search only ({keys[0]} is set, but this version has no "
            "model providers built in yet, so nothing is sent and nothing is spent)",
        )
    return Plan("mock", "no model: memory and search only (nothing else is configured)")


def open_provider(plan: Plan, rules: Rules) -> Provider:
    """The provider of a plan; `rules` answer where the plan has no model."""
    module, _, factory = PROVIDERS[plan.provider].partition(":")
    make = cast(Callable[[Rules], Provider], getattr(import_module(module), factory))
    return make(rules)
