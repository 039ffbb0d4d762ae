from __future__ import annotations

import asyncio
import subprocess
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote
from uuid import UUID, uuid4

import httpx
import pytest
from starlette.applications import Starlette

from agent.core.domain import JailStatus, Script, Task
from agent.core.events import Ambiguous, Answered, Extended, RunStarted, Waiting, from_jsonl
from agent.core.settings import Settings
from agent.iteration.models import LOCAL_USER, Models
from demo.browser_state import NEW_VISIT, NO_RUN, BrowserRun, Visit
from demo.handlers import Page, Update
from demo.serving.access import Access
from demo.serving.downloads import download_route
from demo.serving.host import SessionHost
from demo.serving.visitors import new_token
from demo.web import build
from tests.demo.recorded import OWN, Log, RecordedSession, hosting, recorded

STRONG = JailStatus(words="jail", level="L2")
WEAK = JailStatus(words="subprocess: L1: limits only", level="L1")
SAVED = str(uuid4())
UNKNOWN = "00000000-0000-4000-8000-000000000000"
PUBLIC = Access(public=True)


@asynccontextmanager
async def serving(session: RecordedSession, access: Access = OWN) -> AsyncIterator[Page]:
    """The page over a session, saved runs among it."""
    host = hosting(session, access)
    async with host.serving():
        yield Page(host)


@pytest.fixture
def session() -> RecordedSession:
    return RecordedSession()


@pytest.fixture
async def host(session: RecordedSession) -> AsyncIterator[SessionHost]:
    host = hosting(session)
    async with host.serving():
        yield host


@pytest.fixture
def page(host: SessionHost) -> Page:
    return Page(host)


async def saved(session: RecordedSession) -> RecordedSession:
    """The session with a run that was played to its end, or to its question."""
    await session.start(Task(text="healed"), run_id=SAVED)
    async for _ in session.follow(SAVED):
        pass
    return session


def replaced(name: str, kind: str, wait: Waiting) -> Callable[[Task], Log]:
    """A recorded run in which the event of this kind is a wait."""
    log = [*recorded(name)]
    place = next(n for n, entry in enumerate(log) if entry.event.kind == kind)
    log[place] = log[place].model_copy(update={"event": wait})
    return lambda task: tuple(log)


async def begun(_: Page, code: str = "", tests: str = "", words: str = "") -> BrowserRun:
    return {**NO_RUN, "run": str(uuid4()), "code": code, "tests": tests, "words": words}


async def last(updates: AsyncIterator[Update]) -> Update:
    """What a stream of updates leaves on the page."""
    left: Update = {}
    async for update in updates:
        left |= update
    return left


async def healed(page: Page, kept: BrowserRun, visit: Visit = NEW_VISIT, **wishes: str) -> Update:
    return await last(page.heal(
        {**visit, **wishes}, kept, kept["code"], kept["tests"], kept["words"], 5
    ))


WAITS = 'data-phase="waiting"'


def refused(update: Update) -> bool:
    """Whether the page says that something cannot be done."""
    return 'role="alert"' in update["said"]


async def ran(page: Page, words: str = "healed", visit: Visit = NEW_VISIT) -> BrowserRun:
    """What the browser keeps of a run that has ended or waits."""
    kept = await begun(page, words=words)
    await healed(page, kept, visit)
    settled: BrowserRun = (await page.settle(kept, visit))["saved-run"]
    return settled


async def arrived(page: Page, run: str = "", kept: BrowserRun | None = None) -> Update:
    return await page.arrive(run, kept, "", "", "", NEW_VISIT)


def can_heal(update: Update) -> bool:
    return bool(update["heal"]["interactive"])


def seen(update: Update) -> set[str]:
    """The parts that an update shows."""
    return {name for name, part in update.items() if isinstance(part, dict) and part.get("visible")}


def has_begun(session: RecordedSession, kept: BrowserRun) -> bool:
    try:
        return bool(session.log(kept["run"]))
    except KeyError:
        return False


def answers(session: RecordedSession, kept: BrowserRun) -> list[str]:
    return [entry.event.answer for entry in session.log(kept["run"])
            if isinstance(entry.event, Answered)]


@pytest.mark.parametrize(
    "run", ["", "mine", "../x", UNKNOWN[:-1] + "A", UNKNOWN.replace("-4", "-1")]
)
async def test_a_run_that_could_be_guessed_never_begins(
    page: Page, session: RecordedSession, run: str
) -> None:
    kept: BrowserRun = {**NO_RUN, "run": run, "words": "healed"}
    assert refused(await healed(page, kept))
    answered: BrowserRun = {**kept, "asked": SAVED, "answer": "A"}
    assert refused(await last(page.answer(answered, NEW_VISIT)))
    assert session.recorded == {}


async def test_an_unknown_heal_is_lost_and_not_begun(page: Page, session: RecordedSession) -> None:
    kept = await begun(page, words="healed")
    update = await arrived(page, kept["run"], kept)
    assert refused(update) and can_heal(update)
    assert refused(await last(page.watch(kept, NEW_VISIT)))
    assert not session.recorded


async def test_stop_stays_enabled_during_a_shutdown(host: SessionHost, page: Page) -> None:
    kept = await begun(page, words="healed")
    await healed(page, kept)
    await host.close()
    settled = await page.settle(kept, NEW_VISIT)
    assert settled["stop"]["interactive"]
    assert set(settled) == {"heal", "stop"}


async def test_a_reload_finds_its_run_again_by_address_or_by_browser(page: Page) -> None:
    kept = await begun(page, "code", words="healed")
    await healed(page, kept)
    by_browser, by_address = await arrived(page, kept=kept), await arrived(page, kept["run"])
    assert by_browser["banner"] == ""  # on a page of this machine
    assert {"code", "tests", "words"}.isdisjoint(by_browser)  # what is typed is left alone
    assert by_browser["saved-run"]["run"] == by_address["saved-run"]["run"] == kept["run"]
    assert by_browser["saved-run"]["code"] == "code"
    assert "is-healed" in (await last(page.watch(by_address["saved-run"], NEW_VISIT)))["bench"]


async def test_a_page_without_a_run_undoes_nothing(page: Page) -> None:
    kept = (await arrived(page))["saved-run"]
    assert await last(page.watch(kept, NEW_VISIT)) == await page.settle(kept, NEW_VISIT) == {}
    assert refused(await page.stop(kept, NEW_VISIT))


@pytest.mark.parametrize("run", [UNKNOWN, "../../etc/passwd", "<script>", "é"])
async def test_an_unknown_run_gets_a_sentence_and_the_empty_page(page: Page, run: str) -> None:
    update = await arrived(page, run)
    assert (update["saved-run"]["run"], refused(update)) == ("", True)
    assert "<script>" not in update["said"]
    assert await last(page.watch(update["saved-run"], NEW_VISIT)) == {}


async def test_a_run_goes_on_when_its_page_is_closed() -> None:
    session = RecordedSession(pause_s=0.001)
    async with serving(session) as page:
        kept = await begun(page, words="healed")
        following = page.heal(NEW_VISIT, kept, "", "", "healed", 5)
        await anext(following)
        assert 'data-phase="running"' in (await anext(following))["bench"]
        await following.aclose()
        assert not session.log(kept["run"])[-1].final
        assert "is-healed" in (await last(page.watch(kept, NEW_VISIT)))["bench"]


async def test_a_run_stopped_while_it_is_being_started_is_cancelled() -> None:
    class SlowCandidate(RecordedSession):
        async def start(self, task: Task, **given: Any) -> str:
            await page.stop({**NO_RUN, "run": given["run_id"]}, NEW_VISIT)
            return await super().start(task, **given)

    async with serving(SlowCandidate(pause_s=30)) as page:
        assert "is-cancelled" in (await healed(page, await begun(page, words="healed")))["bench"]


async def test_an_example_is_not_filled_in_beside_another_programs_run() -> None:
    typed = {"code": "c", "tests": "t", "words": "w"}
    async with serving(RecordedSession(pause_s=30)) as page:
        kept = await begun(page, words="healed")
        assert await page.choose(kept, NEW_VISIT, typed=typed) == {**typed, "said": ""}
        following = asyncio.create_task(healed(page, kept))
        while "code" in (received := await page.choose(kept, NEW_VISIT, typed=typed)):
            await asyncio.sleep(0)
        assert refused(received)
        await page.stop(kept, NEW_VISIT)
        await following
        assert await page.choose(kept, NEW_VISIT, typed=typed) == {**typed, "said": ""}


async def test_many_runs_are_followed_at_once() -> None:
    gate = asyncio.Event()
    started: list[str] = []

    class Gated(RecordedSession):
        async def start(self, task: Task, **given: Any) -> str:
            started.append(await super().start(task, **given))
            if len(started) == 8:
                gate.set()
            await gate.wait()
            return given["run_id"]

    async with serving(Gated()) as page:
        runs = [await begun(page, words="healed") for _ in range(8)]
        shown = await asyncio.gather(*(healed(page, kept) for kept in runs))
    assert all("is-healed" in each["bench"] for each in shown)


async def test_a_waiting_run_is_answered_by_the_question_that_was_shown() -> None:
    async with serving(RecordedSession(lambda task: recorded("waiting"))) as page:
        kept = await begun(page, words="waiting")
        assert WAITS in (await healed(page, kept))["bench"]
        settled = await page.settle(kept, NEW_VISIT)
        assert (settled["saved-run"]["interrupt"], seen(settled)) == (
            "ask-1", {"review", "approve", "otherwise", "hinted"},
        )
        await page.decide({**settled["saved-run"], "interrupt": "stale"}, NEW_VISIT, approve=True)
        assert "review" in seen(await page.settle(kept, NEW_VISIT))
        assert refused(await page.bring(settled["saved-run"], NEW_VISIT, settled["edited"]))
        assert "review" in seen(await page.settle(kept, NEW_VISIT))
        await page.decide(settled["saved-run"], NEW_VISIT, approve=True)
        assert "is-healed" in (await last(page.watch(kept, NEW_VISIT)))["bench"]


async def test_a_review_offers_no_hint_that_nobody_reads_and_keeps_what_was_tried() -> None:
    wait = Waiting(
        interrupt="ask-2", question="Your version fails 1 test.", needs="review", code="kept",
        tried="mine", hint_refusal="no model",
    )
    async with serving(RecordedSession(replaced("healed", "diagnosed", wait))) as page:
        kept = await ran(page)
        settled = await page.settle({**kept, "interrupt": ""}, NEW_VISIT)
        again = await page.settle({**kept, "interrupt": "ask-2"}, NEW_VISIT)
    assert seen(settled) == seen(again) == {"review", "approve", "otherwise"}
    assert (settled["edited"], settled["change"]["open"]) == ("mine", True)
    assert not {"edited", "hint", "change"} & again.keys(), "it was typed in since it is shown"


async def test_only_these_endpoints_are_public(host: SessionHost) -> None:
    ui = build(host)
    offered = {fn.api_name for fn in ui.fns.values() if fn.api_visibility != "private"}
    assert offered == {
        "heal_code", "check_code", "get_run", "cancel_run", "runs", "rename_run", "delete_run",
        "iterations", "compare", "fork", "remembered", "forget",
    }


async def download(host: SessionHost, path: str) -> httpx.Response:
    app = Starlette(routes=[download_route(host)])
    transport = httpx.ASGITransport(app=app)
    async with httpx.AsyncClient(transport=transport, base_url="http://page") as client:
        return await client.get(f"/gradio_api/heal/{path}")


async def test_the_patch_applies_with_git(page: Page, host: SessionHost, tmp_path: Path) -> None:
    kept = await ran(page)
    answer = await download(host, f"{kept['run']}/patch")
    assert answer.headers["content-disposition"].endswith(".patch")
    start = (await host.session()).log(kept["run"])[0].event
    assert isinstance(start, RunStarted)
    (tmp_path / start.entry).write_text(start.code)
    (tmp_path / "fix.patch").write_bytes(answer.content)
    subprocess.run(["git", "apply", "fix.patch"], cwd=tmp_path, check=True)
    assert "days_kept <= free_days" in (tmp_path / start.entry).read_text()


@pytest.mark.parametrize("name", ["test_größe.py", 'test_"a.py', "tests/test_b.py"])
async def test_a_file_of_tests_downloads_by_any_name(
    page: Page, session: RecordedSession, host: SessionHost, name: str
) -> None:
    kept = await ran(page)
    script = Script(name="t", origin="user", code="def test(): pass\n", file=name, node="test")
    run = session.recorded[kept["run"]]
    run.task, run.played = run.task.model_copy(update={"tests": (script,)}), run.played[:1]
    answer = await download(host, f"{kept['run']}/tests")
    received = quote(name.rpartition("/")[2])
    assert answer.headers["content-disposition"].endswith(f"-{received}")
    assert (answer.status_code, answer.text) == (200, script.code)


async def test_the_log_downloads_as_lines_that_read_back(page: Page, host: SessionHost) -> None:
    kept = await ran(page, "unresolved")
    answer = await download(host, f"{kept['run']}/log")
    assert from_jsonl(answer.text) == (await host.session()).log(kept["run"])
    for path in ("none/log", "none/patch", "none/secrets"):
        assert (await download(host, path)).status_code == 404


async def test_a_page_that_may_run_no_code_says_so_and_shows_saved_runs() -> None:
    kept_runs = await saved(RecordedSession(jail=WEAK))
    async with serving(kept_runs, PUBLIC) as page:
        update = await arrived(page, SAVED)
        kept = await begun(page, words="healed")
        assert update["saved-run"]["run"] == SAVED
        assert 'class="banner"' in update["banner"]
        assert not can_heal(update)
        assert not can_heal(await page.settle(kept, NEW_VISIT))
        assert refused(await healed(page, kept)) and not has_begun(kept_runs, kept)
        assert "is-healed" in (await last(page.watch(update["saved-run"], NEW_VISIT)))["bench"]


@pytest.mark.parametrize("name", ["waiting", "rivals"])
async def test_a_page_that_may_run_no_code_asks_nothing_and_takes_no_answer(name: str) -> None:
    session = await saved(RecordedSession(lambda _: recorded(name), jail=WEAK))
    async with serving(session, PUBLIC) as page:
        kept: BrowserRun = {**NO_RUN, "run": SAVED, "interrupt": "ask-1", "answer": "B"}
        assert "question" not in seen(await page.settle(kept, NEW_VISIT))
        for said in (
            await page.decide(kept, NEW_VISIT, approve=True),
            await last(page.answer(kept, NEW_VISIT)),
        ):
            assert refused(said)
        assert len(session.recorded) == 1
        assert answers(session, kept) == []


async def test_every_page_of_a_weak_public_server_carries_the_warning() -> None:
    session = RecordedSession(jail=WEAK)
    async with serving(session, Access(public=True, allow_weak=True)) as page:
        for run in ("", UNKNOWN):
            update = await arrived(page, run)
            assert 'class="banner weak"' in update["banner"]
            assert can_heal(update)
        assert "is-healed" in (await healed(page, await begun(page, words="healed")))["bench"]


async def test_a_question_has_a_button_per_answer(page: Page, session: RecordedSession) -> None:
    kept = await ran(page, "rivals")
    settled = await page.settle(kept, NEW_VISIT)
    assert seen(settled) == {"question", "choice-0", "choice-1"}
    for place, facts in enumerate((("A", "22", ">="), ("B", "33", "=="))):
        button = settled[f"choice-{place}"]["value"]
        assert [fact for fact in facts if fact not in button] == []

    session.choose = lambda task: recorded("healed")
    picked = (await page.choose_behaviour(settled["saved-run"], place=1))["saved-run"]
    assert (picked["asked"], picked["answer"]) == (kept["run"], "B")
    UUID(picked["run"])
    assert "is-healed" in (await last(page.answer(picked, NEW_VISIT)))["bench"]
    assert has_begun(session, picked)
    settled = await page.settle(picked, NEW_VISIT)
    assert (settled["saved-run"]["asked"], seen(settled)) == ("", set())


async def test_a_closed_question_starts_nothing(page: Page, session: RecordedSession) -> None:
    kept = await ran(page)
    for closed in (
        await page.choose_behaviour(kept, place=0), await page.write_behaviour(kept, "1")
    ):
        assert (closed["saved-run"], refused(closed)) == (kept, True)
    assert len(session.recorded) == 1


@pytest.mark.parametrize("written", ["44", " raises ValueError "])
async def test_another_right_value_can_be_written(page: Page, written: str) -> None:
    kept = await ran(page, "rivals")
    asked_again = await page.write_behaviour(kept, written)
    assert (asked_again["saved-run"]["asked"], bool(asked_again["wrong"])) == ("", True)
    picked = (await page.write_behaviour(asked_again["saved-run"], written))["saved-run"]
    assert (picked["asked"], picked["answer"]) == (kept["run"], written)
    assert picked["run"] != kept["run"]


@pytest.mark.parametrize("written", ["", "n * 4", "[1, 2", "raises Nothing", "skip"])
async def test_an_invalid_answer_starts_nothing(
    page: Page, session: RecordedSession, written: str
) -> None:
    kept = await ran(page, "rivals")
    received = await page.write_behaviour(kept, written)
    assert received.pop("wrong")
    assert received == {"saved-run": {**kept, "answer": ""}}
    # The page is left as it is, since a better answer may be on its way by now.
    assert await last(page.answer(kept, NEW_VISIT)) == {}
    assert await page.settle_answer(kept, NEW_VISIT) == {}
    assert len(session.recorded) == 1


async def test_a_run_that_waits_with_a_question_is_answered_itself() -> None:
    asked = next(entry.event for entry in recorded("rivals") if isinstance(entry.event, Ambiguous))
    wait = Waiting(interrupt="which-1", question="Which?", competing=asked.competing)
    session = RecordedSession(replaced("rivals", "ambiguous", wait))
    async with serving(session) as page:
        kept = await ran(page, "rivals")
        settled = await page.settle(kept, NEW_VISIT)
        assert seen(settled) == {"question", "choice-0", "choice-1"}
        picked = (await page.choose_behaviour(settled["saved-run"], place=1))["saved-run"]
        assert (picked["run"], picked["asked"], picked["answer"]) == (kept["run"], "", "B")
        assert "is-open" in (await last(page.answer(picked, NEW_VISIT)))["bench"]
        assert answers(session, kept) == ["{'answer': 'B'}"]


OWN_KEY = ("ANTHROPIC_API_KEY", "sk-ant-of-the-owner-0123456789")
PAUSED = {"paused", "go-on", "end-here"}


def pausing(needs: str, **settings: Any) -> RecordedSession:
    """Plays the healed run, with a wait for caps or a key in its middle."""
    wait = Waiting(
        interrupt="wait-1", question=f"more {needs} is needed", needs=needs,  # type: ignore[arg-type]
        budget_extension=Extended(usd=0.06) if needs == "budget" else None,
    )
    return RecordedSession(replaced("healed", "diagnosed", wait), **settings)


async def test_a_run_that_reached_a_cap_asks_whether_to_go_on_and_goes_on_or_ends() -> None:
    session = pausing("budget")
    async with serving(session) as page:
        kept = await begun(page, words="healed")
        assert WAITS in (await healed(page, kept))["bench"]
        settled = await page.settle(kept, NEW_VISIT)
        assert seen(settled) == PAUSED
        assert "more budget is needed" in settled["needed"]
        assert "$0.06" in settled["go-on"]["value"]
        assert refused(await page.go_on({**settled["saved-run"], "interrupt": "stale"}, NEW_VISIT))
        assert (await page.go_on(settled["saved-run"], NEW_VISIT))["said"] == ""
        assert "is-healed" in (await last(page.watch(kept, NEW_VISIT)))["bench"]
        assert seen(await page.settle(kept, NEW_VISIT)) == set()
        assert answers(session, kept) == ["{}"]
        other = await ran(page)
        assert (await page.go_on(other, NEW_VISIT, end=True))["said"] == ""
        assert answers(session, other) == ["{'end': True}"]


async def test_a_run_that_needs_a_key_goes_on_once_it_was_given() -> None:
    session = pausing("key")
    async with serving(session) as page:
        session.models.add_key(LOCAL_USER, *OWN_KEY)
        kept = await ran(page)
        session.models.forget(LOCAL_USER)  # as a restart does
        settled = await page.settle(kept, NEW_VISIT)
        assert "more key is needed" in settled["needed"]
        assert refused(await page.go_on(settled["saved-run"], NEW_VISIT))
        session.models.add_key(LOCAL_USER, *OWN_KEY)
        assert (await page.go_on(settled["saved-run"], NEW_VISIT))["said"] == ""
        assert "is-healed" in (await last(page.watch(kept, NEW_VISIT)))["bench"]


async def test_only_whoever_started_a_run_lets_it_spend_more() -> None:
    session = pausing("budget", jail=STRONG)
    async with serving(session, PUBLIC) as page:
        mine, other = page.panel.known(NEW_VISIT), page.panel.known(NEW_VISIT)
        kept = await ran(page, visit=mine)
        theirs = await page.settle(kept, other)
        assert seen(theirs) == {"paused"}
        for visit in (other, NEW_VISIT):
            assert refused(await page.go_on(theirs["saved-run"], visit))
        assert answers(session, kept) == []
        assert seen(await page.settle(kept, mine)) == PAUSED
        assert (await page.go_on(theirs["saved-run"], mine))["said"] == ""


async def test_an_answer_to_a_strangers_run_is_paid_for_by_who_gives_it() -> None:
    session = RecordedSession(jail=STRONG)
    async with serving(session, PUBLIC) as page:
        mine, other = page.panel.known(NEW_VISIT), page.panel.known(NEW_VISIT)
        kept = await ran(page, "rivals", mine)
        session.choose = lambda task: recorded("healed")
        settled = await page.settle(kept, other)
        picked = (await page.choose_behaviour(settled["saved-run"], place=1))["saved-run"]
        await last(page.answer(picked, other))
        assert session.visitor(kept["run"]) == page.panel.visitor(mine)
        assert session.visitor(picked["run"]) == page.panel.visitor(other)


async def test_a_run_has_the_plan_of_the_fields(page: Page, session: RecordedSession) -> None:
    session.models.add_key(LOCAL_USER, *OWN_KEY)
    kept = await begun(page, words="healed")
    await healed(page, kept, roles="critic=mock")
    plan = session.recorded[kept["run"]].plan
    assert (plan.provider, plan.of("critic")) == ("anthropic", None)


@pytest.mark.parametrize(("wishes", "fact"), [
    ({"provider": "anthropic"}, "ANTHROPIC_API_KEY"), ({"roles": "critic"}, "critic"),
])
async def test_a_plan_that_is_unavailable_is_said_and_starts_nothing(
    page: Page, session: RecordedSession, wishes: dict[str, str], fact: str
) -> None:
    kept = await begun(page, words="healed")
    assert fact in (await healed(page, kept, **wishes))["said"]
    assert not has_begun(session, kept)
    assert can_heal(await page.settle(kept, NEW_VISIT))


async def test_a_page_stands_though_its_settings_ask_for_a_key_that_is_not_there() -> None:
    models = Models(Settings(provider="anthropic"))
    async with serving(RecordedSession(models=models)) as page:
        update = await arrived(page)
        assert "ANTHROPIC_API_KEY" in update["plan"] and can_heal(update)
        assert "anthropic" not in update["available-keys"]


async def test_what_was_wanted_stands_in_its_fields_after_a_reload(page: Page) -> None:
    visit: Visit = {**NEW_VISIT, "provider": "mock", "roles": "critic=mock"}
    update = await page.arrive("", None, "", "", "", visit)
    assert update["visit"] == visit
    assert [update[name] for name in ("provider", "model", "roles")] == ["mock", "", "critic=mock"]


async def test_an_abandoned_run_is_paused() -> None:
    session = RecordedSession(pause_s=60.0)
    session.settings = Settings(grace_s=1e-9)
    host = hosting(session)
    async with host.serving():
        page = Page(host)
        kept = await begun(page, words="healed")
        await session.start(Task(text="healed"), run_id=kept["run"])
        first, second = page.watch(kept, NEW_VISIT), page.watch(kept, NEW_VISIT)
        looking = [asyncio.create_task(anext(one)) for one in (first, second)]
        while host.viewers._count[kept["run"]] < len(looking):
            await asyncio.sleep(0)
        for task, pages in zip(looking, (first, second), strict=True):
            assert session.paused == []
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            await pages.aclose()
        while not session.paused:
            await asyncio.sleep(0)
    assert session.paused == [kept["run"]]


async def test_a_run_that_waits_for_its_visitor_goes_on_when_they_come_back() -> None:
    wait = Waiting(interrupt="away", question="its page was closed", needs="visitor")
    session = RecordedSession(replaced("healed", "proved", wait), jail=STRONG)
    mine, other = ({**NEW_VISIT, "visitor": new_token()} for _ in "ab")
    async with serving(session, PUBLIC) as page:
        kept = await begun(page, words="healed")
        await healed(page, kept, mine)
        waited = len(session.log(kept["run"]))
        await last(page.watch(kept, other))
        assert len(session.log(kept["run"])) == waited
        await last(page.watch(kept, mine))
        assert session.log(kept["run"])[-1].final


async def test_a_stranger_who_looks_on_keeps_nobodys_run_going() -> None:
    session = RecordedSession(pause_s=60.0, jail=STRONG)
    session.settings = Settings(grace_s=1e-9)
    mine, other = ({**NEW_VISIT, "visitor": new_token()} for _ in "ab")
    async with serving(session, PUBLIC) as page:
        kept = await begun(page, words="healed")
        own = page.heal(mine, kept, "", "", "healed", 5)
        while "bench" not in await anext(own):
            pass
        stranger = page.watch(kept, other)
        await anext(stranger)
        assert session.paused == []
        await own.aclose()
        while not session.paused:
            await asyncio.sleep(0)
        await stranger.aclose()
    assert session.paused == [kept["run"]]


@pytest.mark.parametrize("run", ["", "x", "9" * 5_000, "\ud800", "00000000-0000-4000-8000-000000"])
async def test_a_page_that_tells_of_no_run_is_answered_all_the_same(page: Page, run: str) -> None:
    kept: BrowserRun = {**NO_RUN, "run": run, "asked": run, "answer": "A", "interrupt": "x"}
    assert refused(await page.decide(kept, NEW_VISIT, approve=True))
    assert refused(await page.stop(kept, NEW_VISIT))
    assert not run or refused(await last(page.watch(kept, NEW_VISIT)))
    assert "said" in await last(page.answer(kept, NEW_VISIT))
    for looked in ("²", "9" * 5_000, "1 ²"):
        assert await page.use(kept, looked) == {}


async def test_a_link_in_another_spelling_of_its_run_leads_to_a_sentence(page: Page) -> None:
    kept = await ran(page)
    assert refused(await arrived(page, kept["run"].upper()))
