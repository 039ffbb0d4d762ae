"""Keys and wishes of visitors: where a key goes, and what it changes."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest

import app
from agent.core.domain import Jail, Task
from agent.core.events import Stamped
from agent.core.settings import Settings
from agent.healing.models import OWNER, Models
from demo.host import Host
from demo.kept import NEW_VISIT, Visit
from demo.panel import TESTS_A_MINUTE, Panel, PanelUpdate
from demo.recorded import RecordedSession, recorded_engine
from demo.render import alert
from demo.strangers import Access
from llm import Connection
from llm.errors import WrongKey
from tests.llm.scripted import Scripted

Chosen = Callable[[Task], tuple[Stamped, ...]]
KEY = "sk-ant-canary-0123456789abcdef"
HOSTS = "sk-ant-of-the-host-0123456789"
STRONG = Jail(words="jail", level="L2")


@dataclass
class Listing(Scripted):
    """Lists many models for a good key, and says a bad one again."""

    connection: Connection | None = None

    def describe(self) -> str:
        return f"{self.connection and self.connection.model}: loaded, <cpu>, 6,100 MiB"

    def warm(self) -> None:
        raise AssertionError("to look at a model is not to load it")

    async def models(self) -> tuple[str, ...]:
        assert self.connection is not None
        if self.connection.key.reveal() == "sk-ant-wrong-0123456789":
            raise WrongKey(f"anthropic does not take {self.connection.key.reveal()}")
        return tuple(f"model-{number}<b>" for number in range(7))


@dataclass
class Opened:
    """A page's panel with what its providers were opened with."""

    panel: Panel
    session: RecordedSession
    connections: list[Connection] = field(default_factory=list)
    now: float = 0.0


@asynccontextmanager
async def opened(
    chosen: Chosen, *, public: bool = False, allow: bool = False, host_key: bool = False
) -> AsyncIterator[Opened]:
    env = {"ANTHROPIC_API_KEY": HOSTS} if host_key else {}
    if allow:
        env["ALLOW_HOST_KEYS"] = "1"
    seen: list[Connection] = []

    def opener(connection: Connection) -> Listing:
        seen.append(connection)
        return Listing(connection=connection)

    settings = app.served(Settings.from_env(env), public=public)
    session = RecordedSession(chosen, jail=STRONG, models=Models(settings, opener=opener))
    host = Host(lambda: recorded_engine(session), Access(public=public))
    async with host.serving():
        page = Opened(Panel(host), session, seen)
        page.panel = Panel(host, clock=lambda: page.now)
        yield page


async def use(
    page: Opened, key: str = KEY, visit: Visit = NEW_VISIT, whose: str = "anthropic"
) -> PanelUpdate:
    return await page.panel.use_key(visit, "", "", "", whose, key)


async def test_a_key_changes_the_plan_and_is_in_nothing_that_the_page_is_sent(
    chosen: Chosen,
) -> None:
    async with opened(chosen) as page:
        before = await page.panel.shown(NEW_VISIT)
        told = await use(page)
        assert "no model: memory and search only" in before.plan
        assert "anthropic: auto: there is a key for anthropic" in told.plan
        assert "At most $0.50, 200,000 tokens, 40 calls" in told.spending
        assert "ANTHROPIC_API_KEY" in told.keys
        assert told.key == ""
        assert KEY not in json.dumps(told)
        forgot = await page.panel.forget_keys(told.visit, "", "", "", "anthropic", "")
        assert forgot.plan == before.plan
        assert page.session.models.available_keys(OWNER) == ()


async def test_testing_a_key_lists_models_and_spends_nothing(chosen: Chosen) -> None:
    async with opened(chosen) as page:
        told = await page.panel.test_key(NEW_VISIT, "", "", "", "anthropic", KEY)
        assert "anthropic lists 7 models. model-0&lt;b&gt;" in told.said
        assert "model-4" in told.said
        assert "model-5" not in told.said
        assert [one.key.reveal() for one in page.connections] == [KEY]
        again = await page.panel.test_key(told.visit, "", "", "", "anthropic", "")
        assert again.said == told.said


async def test_a_wrong_key_is_told_in_the_providers_words_without_the_key(chosen: Chosen) -> None:
    async with opened(chosen) as page:
        told = await page.panel.test_key(
            NEW_VISIT, "", "", "", "anthropic", "sk-ant-wrong-0123456789"
        )
        assert told.said == alert("anthropic does not take ***")


@pytest.mark.parametrize(("whose", "key", "said"), [
    ("anthropic", "", "There is no key yet"), ("anthropic", "a key", "one line of plain"),
    ("ollama", KEY, "Choose whose key it is: anthropic"), ("", KEY, "Choose whose key it is"),
])
async def test_what_is_no_key_is_said_and_kept_nowhere(
    chosen: Chosen, whose: str, key: str, said: str
) -> None:
    async with opened(chosen) as page:
        told = await use(page, key, whose=whose)
        assert said in told.said
        assert page.session.models.available_keys(OWNER) == ()


async def test_a_key_that_is_not_there_is_not_tested(chosen: Chosen) -> None:
    async with opened(chosen) as page:
        told = await page.panel.test_key(NEW_VISIT, "", "", "", "groq", "")
        assert "There is no key for groq yet" in told.said
        assert page.connections == []


async def test_visitors_of_a_public_page_have_keys_of_their_own(chosen: Chosen) -> None:
    async with opened(chosen, public=True) as page:
        mine = await use(page)
        other = (await page.panel.want(NEW_VISIT, "", "", ""))[0]
        assert mine.visit["visitor"] != other["visitor"] != ""
        assert "anthropic" in (await page.panel.shown(mine.visit)).plan
        assert "no model" in (await page.panel.shown(other)).plan
        assert page.session.models.available_keys(OWNER) == ()
        await page.panel.forget_keys(other, "", "", "", "", "")
        assert "anthropic" in (await page.panel.shown(mine.visit)).plan


async def test_a_key_given_before_the_page_stood_is_nobody_elses(chosen: Chosen) -> None:
    async with opened(chosen, public=True) as page:
        await use(page, visit=NEW_VISIT)
        assert "no model" in (await page.panel.shown(NEW_VISIT)).plan


@pytest.mark.parametrize(("public", "allow", "serves"), [
    (False, False, True), (True, False, False), (True, True, True),
])
async def test_the_hosts_keys_serve_strangers_only_where_the_host_says_so(
    chosen: Chosen, public: bool, allow: bool, serves: bool
) -> None:
    async with opened(chosen, public=public, allow=allow, host_key=True) as page:
        visit = page.panel.known(NEW_VISIT)
        assert ("anthropic" in (await page.panel.shown(visit)).plan) == serves
        # A browser that claims to be nobody is not the owner either.
        assert ("anthropic" in (await page.panel.shown(NEW_VISIT)).plan) == serves


async def test_a_public_page_tests_a_bounded_number_of_keys_a_minute(chosen: Chosen) -> None:
    async with opened(chosen, public=True) as page:
        async def test() -> Any:
            return (await page.panel.test_key(NEW_VISIT, "", "", "", "anthropic", KEY)).said

        for _ in range(TESTS_A_MINUTE):
            assert "lists 7 models" in await test()
        assert "try again in a minute" in await test()
        assert len(page.connections) == TESTS_A_MINUTE
        page.now = 61.0
        assert "lists 7 models" in await test()


async def test_a_wish_changes_the_plan_at_once_and_stays_in_the_visit(chosen: Chosen) -> None:
    async with opened(chosen, host_key=True) as page:
        visit, plan, _, _, said = await page.panel.want(
            NEW_VISIT, "anthropic", " claude-x ", "critic=mock"
        )
        assert (visit["provider"], visit["model"], visit["roles"], said) == (
            "anthropic", "claude-x", "critic=mock", ""
        )
        assert "<b>generator</b> <code>anthropic/claude-x</code>" in plan
        assert "<b>critic</b> <code>no model</code>" in plan


@pytest.mark.parametrize(("provider", "roles", "words"), [
    ("groq", "", "groq needs a key"), ("", "critic", "cannot be read"),
    ("", "nobody=mock", "LLM_ROLES names nobody"),
])
async def test_a_wish_that_cannot_be_had_is_said_beside_the_fields_and_as_the_plan(
    chosen: Chosen, provider: str, roles: str, words: str
) -> None:
    async with opened(chosen) as page:
        _, plan, spending, _, said = await page.panel.want(NEW_VISIT, provider, "", roles)
        assert words in plan
        assert words in said
        assert spending == ""


async def test_a_model_in_this_process_tells_how_it_is_doing(chosen: Chosen) -> None:
    async with opened(chosen) as page:
        _, plan, *_ = await page.panel.want(NEW_VISIT, "huggingface", "tiny/model", "")
        assert "tiny/model: loaded, &lt;cpu&gt;, 6,100 MiB" in plan
        assert len(page.connections) == 1


async def test_fields_that_are_left_while_their_page_is_loaded_want_nothing(
    chosen: Chosen,
) -> None:
    async with opened(chosen) as page:
        visit, plan, *_ = await page.panel.want(NEW_VISIT, None, None, None, None, None)
        assert visit == NEW_VISIT
        assert plan == (await page.panel.shown(NEW_VISIT)).plan
