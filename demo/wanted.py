"""Who a visitor wants to be answered by, of what the page offers; pure.

A public page offers what is paid for by a key and stands at an address of its own. What would make
the host ask its own network or machine, or load a model, is chosen in the settings only.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from llm.plan import parse_roles
from llm.provider import PROVIDERS

NO_MODEL = "mock"
LONGEST_NAME = 200
LONGEST_ROLES = 2_000


class BadModelChoice(ValueError):
    """What is wanted cannot be read, or is not offered here; the message says what can be done."""


@dataclass(frozen=True)
class ModelChoice:
    """What was chosen on the page; empty leaves it to the plan."""

    provider: str = ""
    model: str = ""
    roles: str = ""
    """As in `debugger=anthropic, generator=groq/MODEL`."""

    def by_role(self, *, public: bool) -> Mapping[str, str]:
        """Role to provider and model; raises `BadModelChoice` for what cannot be had here."""
        if len(self.model) > LONGEST_NAME or len(self.roles) > LONGEST_ROLES:
            raise BadModelChoice("That is longer than any name of a model.")
        if not (self.model + self.roles).isprintable():
            raise BadModelChoice("The name of a model is one line of plain characters.")
        _offered_here(self.provider or NO_MODEL, public)
        if self.model and self.provider in ("", NO_MODEL):
            raise BadModelChoice("A model is named together with its provider: choose one.")
        try:
            roles = parse_roles(self.roles)
        except ValueError as error:
            raise BadModelChoice(f"The roles cannot be read: {error}") from error
        for target in roles.values():
            _offered_here(target.partition("/")[0], public)
        return roles


def keyed(*, public: bool) -> dict[str, str]:
    """The providers that take a key, and the variable of each."""
    return {
        name: row.key for name, row in PROVIDERS.items()
        if row.key and (row.needs_key or not (public or row.local))
    }


def offered(*, public: bool) -> tuple[str, ...]:
    """The providers that a visitor may choose."""
    local = () if public else tuple(
        name for name in PROVIDERS if name not in keyed(public=False)
    )
    return (*keyed(public=public), *local)


def _offered_here(name: str, public: bool) -> None:
    choices = (NO_MODEL, *offered(public=public))
    if name not in choices:
        raise BadModelChoice(
            f"{name!r} is not offered on this page; there are {', '.join(choices)}."
        )
