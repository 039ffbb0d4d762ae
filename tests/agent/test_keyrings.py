"""Whose keys are kept, for how long, and whom they serve."""

from __future__ import annotations

import pytest

from agent.models import MOST_BREAKERS, MOST_VISITORS, OWNER, BadKey, Models, visitor_of
from agent.settings import Settings
from llm.plan import Choice

VARIABLE = "ANTHROPIC_API_KEY"


def models(*, host_keys: bool = True, most_visitors: int = MOST_VISITORS) -> Models:
    settings = Settings.from_env({VARIABLE: "sk-ant-of-the-host"}, host_keys=host_keys)
    return Models(settings, most_visitors=most_visitors)


def test_the_keys_of_the_visitor_who_came_longest_ago_are_forgotten_first() -> None:
    held = models(host_keys=False, most_visitors=4)
    held.give(OWNER, VARIABLE, "sk-ant-typed-by-the-owner")
    for number in range(3):
        held.give(f"visitor-{number}", VARIABLE, f"sk-ant-number-{number}")
    held.give("visitor-0", VARIABLE, "sk-ant-given-again")
    held.give("the last one", VARIABLE, "sk-ant-of-the-last")
    assert held.has("visitor-1") == ()
    assert [held.has(one) for one in (OWNER, "visitor-0", "visitor-2", "the last one")] == (
        [(VARIABLE,)] * 4
    )


def test_an_empty_key_is_a_forgotten_one() -> None:
    held = models(host_keys=False)
    held.give("visitor", VARIABLE, "sk-ant-one")
    held.give("visitor", VARIABLE, " ")
    assert held.has("visitor") == ()


@pytest.mark.parametrize("key", ["sk ant", "sk-änt", "sk\n-ant", "k" * 1_001])
def test_what_cannot_be_a_key_is_refused_without_being_said_again(key: str) -> None:
    with pytest.raises(BadKey) as refused:
        models().give("visitor", VARIABLE, key)
    assert key not in str(refused.value)
    with pytest.raises(BadKey, match="no key of a model"):
        models().give("visitor", "PATH", "sk-ant")


def test_the_hosts_keys_serve_others_only_where_that_is_allowed() -> None:
    stranger = visitor_of("a word")
    assert models().has(stranger) == models().has(OWNER) == (VARIABLE,)
    closed = models(host_keys=False)
    assert (closed.has(stranger), closed.has(OWNER)) == ((), (VARIABLE,))


def test_breakers_of_visitors_do_not_pile_up() -> None:
    held = models()
    for number in range(MOST_BREAKERS + 5):
        held.breaker(Choice("critic", "anthropic", f"model-{number}", ""), "visitor")
    assert len(held._breakers) == MOST_BREAKERS
    known = Choice("critic", "anthropic", "model-5", "")
    oldest = held.breaker(known, "visitor")
    assert held.breaker(known, "visitor") is oldest
    assert len(held._breakers) == MOST_BREAKERS
