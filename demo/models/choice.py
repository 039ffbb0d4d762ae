"""Who a visitor wants to be answered by, of what the page offers; pure.

A public page offers what is paid for by a key and stands at an address of its own. What would make
the host ask its own network or machine, or load a model, is chosen in the settings only.
"""

from __future__ import annotations

from collections.abc import Mapping

from demo.browser_state import Visit
from llm.plan import parse_roles
from llm.provider import MOCK, PROVIDERS

LONGEST_NAME = 200
LONGEST_ROLES = 2_000


class BadModelChoice(ValueError):
    """What is wanted cannot be read, or is not offered here; the message says what can be done."""


def chosen_roles(visit: Visit, *, public: bool) -> Mapping[str, str]:
    """Role to provider and model, as in `debugger=anthropic, generator=groq/MODEL`; raises
    `BadModelChoice` for what cannot be had here."""
    provider, model, roles = visit["provider"], visit["model"], visit["roles"]
    if len(model) > LONGEST_NAME or len(roles) > LONGEST_ROLES:
        raise BadModelChoice("That is longer than any name of a model.")
    if not (model + roles).isprintable():
        raise BadModelChoice("The name of a model is one line of plain characters.")
    _refuse_unless_offered(provider or MOCK, public)
    if model and provider in ("", MOCK):
        raise BadModelChoice("A model is named together with its provider: choose one.")
    try:
        by_role = parse_roles(roles)
    except ValueError as error:
        raise BadModelChoice(f"The roles cannot be read: {error}") from error
    for target in by_role.values():
        _refuse_unless_offered(target.partition("/")[0], public)
    return by_role


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


def _refuse_unless_offered(name: str, public: bool) -> None:
    choices = (MOCK, *offered(public=public))
    if name not in choices:
        raise BadModelChoice(
            f"{name!r} is not offered on this page; there are {', '.join(choices)}."
        )
