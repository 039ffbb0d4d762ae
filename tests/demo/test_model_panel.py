"""Keys and wishes of visitors: where a key goes, what it changes, and what may be asked for."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import pytest

import app
from agent.core.domain import JailStatus
from agent.core.settings import Settings
from agent.iteration.models import LOCAL_USER, MAX_VISITORS, Models, visitor_id
from demo.browser_state import NEW_VISIT, Update, Visit, with_choices
from demo.models.choice import BadModelChoice, chosen_roles, keyed, offered
from demo.models.panel import TESTS_A_MINUTE, KeyAction, Panel
from demo.models.plans import NEEDS_MODEL
from demo.serving.access import Access
from demo.serving.visitors import new_token
from llm import Connection
from llm.errors import WrongKey
from llm.provider import PROVIDERS
from tests.demo.recorded import RecordedSession, hosting
from tests.llm.scripted import Scripted

KEY = "sk-ant-canary-0123456789abcdef"
HOSTS = "sk-ant-of-the-host-0123456789"
STRONG = JailStatus(words="jail", level="L2")


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
    *, public: bool = False, allow: bool = False, host_key: bool = False
) -> AsyncIterator[Opened]:
    env = {"ANTHROPIC_API_KEY": HOSTS} if host_key else {}
    if allow:
        env["ALLOW_HOST_KEYS"] = "1"
    seen: list[Connection] = []

    def opener(connection: Connection) -> Listing:
        seen.append(connection)
        return Listing(connection=connection)

    settings = app.served(Settings.from_env(env), public=public)
    session = RecordedSession(jail=STRONG, models=Models(settings, opener=opener))
    host = hosting(session, Access(public=public))
    async with host.serving():
        page = Opened(Panel(host), session, seen)
        page.panel = Panel(host, clock=lambda: page.now)
        yield page


async def act(
    page: Opened, action: KeyAction = "use", key: str = KEY, visit: Visit = NEW_VISIT,
    whose: str = "anthropic",
) -> Update:
    return await page.panel.change_keys(visit, whose, key, action=action)


def wanting(provider: str = "", model: str = "", roles: str = "") -> Visit:
    return {**NEW_VISIT, "provider": provider, "model": model, "roles": roles}


async def test_a_key_changes_the_plan_and_is_in_nothing_that_the_page_is_sent() -> None:
    async with opened() as page:
        before = await page.panel.shown(NEW_VISIT)
        told = await act(page)
        assert "anthropic" not in before["plan"]
        assert (before["needs-model"], told["needs-model"]) == (NEEDS_MODEL, "")
        assert "anthropic" in told["plan"] and "anthropic" in told["available-keys"]
        for fact in ("$0.50", "200,000", "40"):
            assert fact in told["spending"]
        assert told["key"] == "" and KEY not in json.dumps(told)
        assert (await act(page, "forget", ""))["plan"] == before["plan"]
        assert page.session.models.available_keys(LOCAL_USER) == ()


async def test_one_address_has_nobody_elses_keys_forgotten() -> None:
    async with opened(public=True) as page:
        mine: Visit = {**NEW_VISIT, "visitor": new_token(), "address": "10.0.0.1"}
        await act(page, visit=mine)
        words = [new_token() for _ in range(MAX_VISITORS + 1)]
        for number in range(MAX_VISITORS + 1):
            one: Visit = {**NEW_VISIT, "visitor": words[number], "address": "10.0.0.2"}
            page.session.record_address(page.panel.visitor(one), one["address"])
            page.session.models.add_key(page.panel.visitor(one), "ANTHROPIC_API_KEY", KEY)
        assert page.session.models.available_keys(page.panel.visitor(mine))
        assert not page.session.models.available_keys(visitor_id(f"page {words[0]}"))


async def test_testing_a_key_lists_models_and_spends_nothing() -> None:
    async with opened() as page:
        told = await act(page, "test")
        assert "anthropic" in told["key-message"] and "7" in told["key-message"]
        assert "model-0&lt;b&gt;" in told["key-message"] and "model-4" in told["key-message"]
        assert "model-5" not in told["key-message"]
        assert [one.key.reveal() for one in page.connections] == [KEY]
        assert (await act(page, "test", ""))["key-message"] == told["key-message"]


@pytest.mark.parametrize(("action", "whose", "key"), [
    ("use", "anthropic", ""), ("use", "anthropic", "a key"), ("use", "ollama", KEY),
    ("use", "", KEY), ("test", "groq", ""),
])
async def test_an_invalid_key_is_refused_untested(action: KeyAction, whose: str, key: str) -> None:
    async with opened() as page:
        assert (await act(page, action, key, whose=whose))["key-message"]
        assert page.session.models.available_keys(LOCAL_USER) == ()
        assert page.connections == []


async def test_a_wrong_keys_error_hides_the_key() -> None:
    async with opened() as page:
        told = await act(page, "test", "sk-ant-wrong-0123456789")
        assert "anthropic does not take ***" in told["key-message"]
        assert "wrong" not in told["key-message"]


async def test_visitors_of_a_public_page_have_keys_of_their_own() -> None:
    async with opened(public=True) as page:
        mine = (await act(page))["visit"]
        assert "anthropic" not in (await page.panel.shown(NEW_VISIT))["plan"]
        other = (await page.panel.choose_models(NEW_VISIT))["visit"]
        assert mine["visitor"] != other["visitor"] != ""
        assert "anthropic" in (await page.panel.shown(mine))["plan"]
        assert "anthropic" not in (await page.panel.shown(other))["plan"]
        assert page.session.models.available_keys(LOCAL_USER) == ()
        await act(page, "forget", visit=other)
        assert "anthropic" in (await page.panel.shown(mine))["plan"]


@pytest.mark.parametrize(("public", "allow", "serves"), [
    (False, False, True), (True, False, False), (True, True, True),
])
async def test_strangers_use_host_keys_if_allowed(public: bool, allow: bool, serves: bool) -> None:
    async with opened(public=public, allow=allow, host_key=True) as page:
        visit = page.panel.known(NEW_VISIT)
        assert ("anthropic" in (await page.panel.shown(visit))["plan"]) == serves
        # A browser that claims to be nobody is not the owner either.
        assert ("anthropic" in (await page.panel.shown(NEW_VISIT))["plan"]) == serves


async def test_a_public_page_tests_a_bounded_number_of_keys_a_minute() -> None:
    async with opened(public=True) as page:
        said = [(await act(page, "test"))["key-message"] for _ in range(TESTS_A_MINUTE + 1)]
        assert ["model-0" in one for one in said] == [True] * TESTS_A_MINUTE + [False]
        assert len(page.connections) == TESTS_A_MINUTE
        page.now = 61.0
        assert "model-0" in (await act(page, "test"))["key-message"]


async def test_a_wish_changes_the_plan_at_once_and_stays_in_the_visit() -> None:
    async with opened(host_key=True) as page:
        wish = with_choices(NEW_VISIT, "anthropic", " claude-x ", "critic=mock")
        told = await page.panel.choose_models(wish)
        assert told["visit"] == wanting("anthropic", "claude-x", "critic=mock")
        assert told["key-message"] == ""
        assert "<b>generator</b> <code>anthropic/claude-x</code>" in told["plan"]
        assert "critic</b> <code>anthropic" not in told["plan"]


@pytest.mark.parametrize(("wish", "fact"), [
    (wanting("groq"), "groq"), (wanting(roles="<critic>"), "&lt;critic&gt;"),
    (wanting(roles="nobody=mock"), "LLM_ROLES"),
])
async def test_an_unavailable_choice_is_shown_as_plan_and_message(wish: Visit, fact: str) -> None:
    async with opened() as page:
        told = await page.panel.choose_models(wish)
        assert fact in told["plan"] and fact in told["key-message"] and told["spending"] == ""


async def test_a_model_in_this_process_tells_how_it_is_doing() -> None:
    async with opened() as page:
        told = await page.panel.choose_models(wanting("huggingface", "tiny/model"))
        assert "tiny/model: loaded, &lt;cpu&gt;, 6,100 MiB" in told["plan"]
        assert len(page.connections) == 1


async def test_fields_that_are_left_while_their_page_is_loaded_want_nothing() -> None:
    async with opened() as page:
        told = await page.panel.choose_models(with_choices(NEW_VISIT, None, None, None), None, None)
        assert told["visit"] == NEW_VISIT
        assert told["plan"] == (await page.panel.shown(NEW_VISIT))["plan"]


def test_choices_of_models_are_read_and_offered() -> None:
    assert chosen_roles(NEW_VISIT, public=True) == {}
    wanted = wanting("anthropic", "claude-x", "debugger=groq/a/b, critic = mock")
    assert chosen_roles(wanted, public=True) == {"debugger": "groq/a/b", "critic": "mock"}

    assert chosen_roles(wanting("ollama", "qwen3:4b", "critic=lmstudio/m"), public=False)
    assert {"ollama", "huggingface", "custom"} <= set(offered(public=False))

    needing = {name: row.key for name, row in PROVIDERS.items() if row.needs_key}
    assert keyed(public=True) == needing
    assert keyed(public=False).items() >= {**needing, "custom": "LLM_API_KEY"}.items()
    assert not keyed(public=False).keys() & {"ollama", "huggingface", "vllm"}


@pytest.mark.parametrize("wanted", [
    wanting("ollama"), wanting("huggingface"), wanting("vllm"), wanting("custom"),
    wanting(roles="generator=huggingface/some/weights"), wanting(roles="critic=lmstudio"),
    wanting("http://10.0.0.1/v1"),
])
def test_a_strangers_choice_asks_no_local_server_and_loads_nothing(wanted: Visit) -> None:
    with pytest.raises(BadModelChoice):
        chosen_roles(wanted, public=True)


@pytest.mark.parametrize(("wanted", "fact"), [
    (wanting(roles="planner"), "planner"), (wanting(model="m"), ""), (wanting("mock", "m"), ""),
    (wanting("anthropic", "m" * 201), ""), (wanting("anthropic", "m\nn"), ""),
    (wanting("nobody"), "nobody.*mock, anthropic"),
])
def test_a_choice_that_cannot_be_read_is_refused(wanted: Visit, fact: str) -> None:
    with pytest.raises(BadModelChoice, match=fact or None):
        chosen_roles(wanted, public=False)
