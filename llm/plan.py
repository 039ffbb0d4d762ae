"""The plan: who answers, chosen once before anything runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from llm.errors import NoProvider

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
    if wanted == "mock":
        return Plan("mock", "LLM_PROVIDER=mock: no model, memory and search only")
    if wanted != "auto":
        raise NoProvider(
            f"The provider {wanted!r} is not built into this version. "
            f"Set LLM_PROVIDER (or --provider) to one of: auto, mock."
        )
    keys = [name for name in KEY_NAMES if environment.get(name)]
    if keys:
        return Plan(
            "mock",
            f"no model: memory and search only ({keys[0]} is set, but this version has no "
            "model providers built in yet, so nothing is sent and nothing is spent)",
        )
    return Plan("mock", "no model: memory and search only (nothing else is configured)")
