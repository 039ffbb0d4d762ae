"""Who is a stranger, and what is said to them."""

from __future__ import annotations

import pytest

from agent.core.domain import Jail
from demo.access import Access, is_loopback, is_public
from demo.web import build, serve
from sandbox.levels import SAFE_FOR_PUBLIC
from tests.demo.recorded import RecordedSession, hosting


@pytest.mark.parametrize("name", ["127.0.0.1", "127.8.9.1", "::1", "[::1]", "localhost"])
def test_names_of_this_machine_alone(name: str) -> None:
    assert is_loopback(name)
    assert not is_public(name, {})


@pytest.mark.parametrize(
    "name", ["0.0.0.0", "::", "10.0.0.1", "example.org", "localhost.example.org", "", "127"]
)
def test_names_that_others_may_reach(name: str) -> None:
    assert not is_loopback(name)
    assert is_public(name, {})


def test_a_space_is_public_wherever_it_listens() -> None:
    assert is_public("127.0.0.1", {"SPACE_ID": "someone/something"})


@pytest.mark.parametrize("level", ["L1", "M", ""])
def test_a_level_that_is_weak_or_unknown_is_refused_with_what_to_do(level: str) -> None:
    jail = Jail(words="what was seen", level=level)

    refusal = Access(public=True).refusal(jail)

    for needed in ("what was seen", "Saved runs", "HEAL_SANDBOX", "GRADIO_SERVER_NAME",
                   "SANDBOX_ALLOW_WEAK=1"):
        assert needed in refusal
    assert Access(public=True).warning(jail) == ""
    assert Access(public=True, allow_weak=True).refusal(jail) == ""
    assert "Not safe" in Access(public=True, allow_weak=True).warning(jail)
    assert Access().refusal(jail) == Access().warning(jail) == ""


@pytest.mark.parametrize("level", sorted(SAFE_FOR_PUBLIC))
def test_a_level_that_is_fit_for_strangers_is_served(level: str) -> None:
    jail = Jail(words="", level=level)
    for access in (Access(public=True), Access(public=True, allow_weak=True)):
        assert access.refusal(jail) == access.warning(jail) == ""


async def test_a_page_for_this_machine_is_not_served_to_others() -> None:
    host = hosting(RecordedSession(lambda task: ()))

    with pytest.raises(ValueError, match=r"Access\(public=True\)"):
        serve(build(host), host, "0.0.0.0", 1)
