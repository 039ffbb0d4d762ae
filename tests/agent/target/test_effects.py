"""Which programs may answer a call otherwise after another, so that tests need the calls before."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from agent.target.discovery import snippets
from agent.target.discovery.effects import keeps_state

PROGRAMS = tomllib.loads(Path(__file__).with_name("effects.toml").read_text("utf-8"))
STATEFUL, STATELESS = PROGRAMS["stateful"], PROGRAMS["stateless"]


@pytest.mark.parametrize("name", STATEFUL)
def test_a_value_of_the_module_may_change_by_any_name(name: str) -> None:
    assert keeps_state(STATEFUL[name])


@pytest.mark.parametrize("name", STATELESS)
def test_what_is_only_read_or_copied_does_not_change(name: str) -> None:
    assert not keeps_state(STATELESS[name])


def test_calls_of_earlier_checks_are_repeated_if_a_value_may_change_by_another_name() -> None:
    first, second = snippets.tests_from_snippet(
        "assert f({'r': 5})['r'] == 5\nassert f({})['r'] == 3\n", STATEFUL["another name"]
    )
    assert "f({'r': 5})" not in first.code.replace("assert f({'r': 5})", "")
    assert second.code.splitlines()[0] == "f({'r': 5})['r']"
