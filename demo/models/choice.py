"""Validates a visitor's choice of providers and models. Pure functions.

A public page offers only providers that need a key and have a fixed address. Providers that would
let a visitor reach the host's network or load a model on the host can be chosen only in the
settings.
"""

from __future__ import annotations

from collections.abc import Mapping

from demo.browser_state import Visit
from llm.plan import parse_roles
from llm.provider import MOCK, PROVIDERS

LONGEST_NAME = 200
LONGEST_ROLES = 2_000


class BadModelChoice(ValueError):
    """The choice is invalid, or not offered on this page; the message says what to do."""


def chosen_roles(visit: Visit, *, public: bool) -> Mapping[str, str]:
    """Returns provider and model by role, from text such as `debugger=anthropic,
    generator=groq/MODEL`. Raises `BadModelChoice`."""
    provider, model, roles = visit["provider"], visit["model"], visit["roles"]
    if len(model) > LONGEST_NAME or len(roles) > LONGEST_ROLES:
        raise BadModelChoice("The name of the model is too long. Enter a shorter one.")
    if not (model + roles).isprintable():
        raise BadModelChoice("The name of a model must be one line of printable characters.")
    _refuse_unless_offered(provider or MOCK, public)
    if model and provider in ("", MOCK):
        raise BadModelChoice("A model needs its provider. Choose the provider too.")
    try:
        by_role = parse_roles(roles)
    except ValueError as error:
        raise BadModelChoice(f"The roles cannot be read: {error}") from error
    for target in by_role.values():
        _refuse_unless_offered(target.partition("/")[0], public)
    return by_role


def keyed(*, public: bool) -> dict[str, str]:
    """Returns the providers that use a key, with the variable of each."""
    return {
        name: row.key for name, row in PROVIDERS.items()
        if row.key and (row.needs_key or not (public or row.local))
    }


def offered(*, public: bool) -> tuple[str, ...]:
    local = () if public else tuple(name for name in PROVIDERS if name not in keyed(public=False))
    return (*keyed(public=public), *local)


def _refuse_unless_offered(name: str, public: bool) -> None:
    choices = (MOCK, *offered(public=public))
    if name not in choices:
        raise BadModelChoice(
            f"{name!r} is not available on this page. Choose one of {', '.join(choices)}."
        )
