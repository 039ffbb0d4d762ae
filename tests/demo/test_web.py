from __future__ import annotations

import asyncio
import subprocess
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import gradio as gr
import httpx
import pytest
from starlette.applications import Starlette

from agent.domain import Jail, Task
from agent.events import Ambiguous, RunStarted, Stamped, Waiting, from_jsonl
from agent.models import OWNER, Models
from agent.settings import Settings
from demo.downloads import download_route
from demo.host import Host
from demo.kept import NOBODY, NOTHING, Kept, Visit
from demo.recorded import RecordedSession, recorded_engine
from demo.strangers import Door
from demo.web import Begun, Page, build
from sandbox import SandboxUnavailable

Chosen = Callable[[Task], tuple[Stamped, ...]]
STRONG = Jail(words="jail", level="L2")
WEAK = Jail(words="subprocess: L1: limits only", level="L1")
SAVED = str(uuid4())
UNKNOWN = "00000000-0000-4000-8000-000000000000"


@pytest.fixture
def session(chosen: Chosen) -> RecordedSession:
    return RecordedSession(chosen)


@pytest.fixture
async def host(session: RecordedSession) -> AsyncIterator[Host]:
    host = Host(lambda: recorded_engine(session))
    async with host.serving():
        yield host


@pytest.fixture
def page(host: Host) -> Page:
    return Page(host)


def begun(page: Page, code: str = "", tests: str = "", words: str = "") -> Kept:
    kept: Kept = page.begin(code, tests, words)[0]
    return kept


async def healed(page: Page, kept: Kept) -> list[Any]:
    return [
        shown async for shown, _ in
        page.heal(kept, kept["code"], kept["tests"], kept["words"], 5)
    ]


def begun_in(session: RecordedSession, kept: Kept) -> bool:
    try:
        return bool(session.log(kept["run"]))
    except KeyError:
        return False


def asked(run: str) -> gr.Request:
    return gr.Request(query_params={"run": run}) if run else gr.Request(query_params={})


def test_the_browser_knows_the_run_before_it_exists(page: Page) -> None:
    kept = begun(page, "code", "tests", "words")
    assert UUID(kept["run"]).version == 4
    assert (kept["code"], kept["tests"], kept["words"]) == ("code", "tests", "words")


def test_input_too_large_for_the_browser_is_not_kept_there(page: Page) -> None:
    assert begun(page, "x" * 300_000)["code"] == ""


async def test_healing_shows_the_run_under_the_browsers_own_identifier(
    page: Page, session: RecordedSession
) -> None:
    kept = begun(page, words="healed")
    shown = await healed(page, kept)
    assert "HEALED" in shown[-1]
    assert session.log(kept["run"])[-1].final


async def test_input_that_cannot_be_used_is_answered_in_place(page: Page) -> None:
    shown = [pair async for pair in page.heal(begun(page), "", "", "", 5)]
    assert len(shown) == 1
    assert "There is no code and no task yet" in shown[0][1]
    settled = await page.settle(begun(page))
    assert settled[1]["interactive"] is True


async def test_an_engine_that_cannot_work_is_told_and_gives_the_buttons_back(
    session: RecordedSession,
) -> None:
    @asynccontextmanager
    async def opened() -> AsyncIterator[RecordedSession]:
        raise SandboxUnavailable("there is no key; set one")
        yield

    host = Host(lambda: replace(
        recorded_engine(session), open=opened, faults=(SandboxUnavailable,)
    ))
    async with host.serving():
        page = Page(host)
        kept = begun(page, "code")
        shown = [pair async for pair in page.heal(kept, "code", "", "", 5)]
        settled = await page.settle(kept)
        chosen = await page.choose(kept, ("a", "b", "c"))

    assert "set one" in shown[0][1]
    assert (settled[1]["interactive"], settled[2]["interactive"]) == (True, False)
    assert "set one" in chosen[3]


async def test_a_reload_finds_its_run_again_by_address_or_by_browser(page: Page) -> None:
    kept = begun(page, "code", words="healed")
    await healed(page, kept)
    by_browser = await page.arrive(kept, "", "", "", NOBODY, asked(""))
    by_address = await page.arrive(
        NOTHING, "", "", "", NOBODY, asked(kept["run"])
    )
    assert by_browser[0]["run"] == by_address[0]["run"] == kept["run"]
    assert by_browser[3] == "code"
    assert "HEALED" in [shown async for shown in page.watch(by_address[0])][-1]


async def test_what_was_typed_before_the_page_stood_is_left_alone(page: Page) -> None:
    kept = begun(page, "old code")
    assert (await page.arrive(kept, "", "", "", NOBODY, asked("")))[3] == "old code"
    assert (await page.arrive(kept, "new", "", "", NOBODY, asked("")))[3] == gr.skip()


@pytest.mark.parametrize("run", [UNKNOWN, "../../etc/passwd", "<script>", "é"])
async def test_an_unknown_run_gets_a_sentence_and_the_empty_page(page: Page, run: str) -> None:
    arrived = await page.arrive(None, "", "", "", NOBODY, asked(run))
    assert arrived[0]["run"] == ""
    assert "not known here" in arrived[2]
    assert "<script>" not in arrived[2]
    assert ["choose an example" in shown async for shown in page.watch(arrived[0])] == [True]


async def test_a_run_goes_on_when_its_page_is_closed(chosen: Chosen) -> None:
    session = RecordedSession(chosen, pause_s=0.001)
    host = Host(lambda: recorded_engine(session))
    async with host.serving():
        page = Page(host)
        kept = begun(page, words="healed")
        following = page.heal(kept, "", "", "healed", 5)
        assert "RUNNING" in [await anext(following) for _ in range(2)][-1][0]
        await following.aclose()
        assert not session.log(kept["run"])[-1].final
        assert "HEALED" in [shown async for shown in page.watch(kept)][-1]


async def test_stop_cancels_the_run_and_its_follower_sees_the_end(chosen: Chosen) -> None:
    session = RecordedSession(chosen, pause_s=30)
    host = Host(lambda: recorded_engine(session))
    async with host.serving():
        page = Page(host)
        kept = begun(page, words="healed")
        following = asyncio.create_task(healed(page, kept))
        while not begun_in(session, kept):
            await asyncio.sleep(0)
        assert await page.stop(kept) == ""
        assert "CANCELLED" in (await following)[-1]


async def test_a_run_stopped_before_it_began_never_begins(
    page: Page, session: RecordedSession
) -> None:
    kept = begun(page, words="healed")
    assert await page.stop(kept) == ""
    said = [said async for _, said in page.heal(kept, "", "", "healed", 5)]
    assert "Stopped before it began" in said[-1]
    assert not begun_in(session, kept)


async def test_an_example_is_not_filled_in_beside_another_programs_run(chosen: Chosen) -> None:
    session = RecordedSession(chosen, pause_s=30)
    host = Host(lambda: recorded_engine(session))
    async with host.serving():
        page = Page(host)
        kept = begun(page, words="healed")
        assert await page.choose(kept, ("c", "t", "w")) == ("c", "t", "w", "")
        following = asyncio.create_task(healed(page, kept))
        while (said := (await page.choose(kept, ("c", "t", "w")))[-1]) == "":
            await asyncio.sleep(0)
        assert "Stop it, then choose an example" in said
        await page.stop(kept)
        await following
        assert await page.choose(kept, ("c", "t", "w")) == ("c", "t", "w", "")


async def test_stopping_nothing_says_so(page: Page) -> None:
    assert "no run to stop" in await page.stop(NOTHING)


async def test_many_runs_are_followed_at_once(chosen: Chosen) -> None:
    gate = asyncio.Event()
    started: list[str] = []

    class Gated(RecordedSession):
        async def start(self, task: Task, **given: Any) -> str:
            run = await super().start(task, **given)
            started.append(run)
            if len(started) == 8:
                gate.set()
            await gate.wait()
            return run

    host = Host(lambda: recorded_engine(Gated(chosen)))
    async with host.serving():
        page = Page(host)
        runs = [begun(page, words="healed") for _ in range(8)]
        shown = await asyncio.gather(*(healed(page, kept) for kept in runs))
    assert all("HEALED" in each[-1] for each in shown)


async def test_a_waiting_run_is_answered_by_the_question_that_was_shown(
    page: Page, session: RecordedSession
) -> None:
    kept = begun(page, words="waiting")
    session._choose = lambda task, choose=session._choose: choose(Task(text="waiting"))  # type: ignore[misc]
    shown = await healed(page, kept)
    assert "May this patch be kept?" in shown[-1]
    settled = await page.settle(kept)
    assert settled[0]["interrupt"] == "ask-1"
    assert settled[3]["visible"] is True
    await page.decide({**settled[0], "interrupt": "stale"}, True)
    assert (await page.settle(kept))[3]["visible"] is True
    await page.decide(settled[0], True)
    assert "HEALED" in [each async for each in page.watch(kept)][-1]


async def test_every_streamed_event_has_room_for_many_and_at_most_two_outputs(host: Host) -> None:
    ui = build(host)
    streamed = [fn for fn in ui.fns.values() if fn.queue and fn.fn is not None]
    assert len(streamed) >= 4
    assert all(len(fn.outputs) <= 2 and fn.concurrency_limit is None for fn in streamed)
    assert all(fn.api_visibility == "private" for fn in ui.fns.values())


async def served(host: Host, path: str) -> httpx.Response:
    app = Starlette(routes=[download_route(host)])
    transport = httpx.ASGITransport(app=app)
    async with httpx.AsyncClient(transport=transport, base_url="http://page") as client:
        return await client.get(path)


async def test_the_patch_applies_with_git(page: Page, host: Host, tmp_path: Path) -> None:
    kept = begun(page, words="healed")
    await healed(page, kept)
    answer = await served(host, f"/gradio_api/heal/{kept['run']}/patch")
    assert answer.headers["content-disposition"].endswith('.patch"')
    start = (await host.session()).log(kept["run"])[0].event
    assert isinstance(start, RunStarted)
    (tmp_path / start.entry).write_text(start.code)
    (tmp_path / "fix.patch").write_bytes(answer.content)
    subprocess.run(["git", "apply", "fix.patch"], cwd=tmp_path, check=True)
    assert "days_kept <= free_days" in (tmp_path / start.entry).read_text()


async def test_the_log_downloads_as_lines_that_read_back(page: Page, host: Host) -> None:
    kept = begun(page, words="unresolved")
    await healed(page, kept)
    answer = await served(host, f"/gradio_api/heal/{kept['run']}/log")
    assert from_jsonl(answer.text) == (await host.session()).log(kept["run"])


@pytest.mark.parametrize("path", ["none/log", "none/patch", "none/secrets"])
async def test_files_of_unknown_runs_are_not_found(host: Host, path: str) -> None:
    assert (await served(host, f"/gradio_api/heal/{path}")).status_code == 404


@pytest.fixture
async def closed(chosen: Chosen) -> AsyncIterator[Page]:
    session = RecordedSession(chosen, jail=WEAK)
    await session.start(Task(text="healed"), run_id=SAVED)
    async for _ in session.follow(SAVED):
        pass
    host = Host(lambda: recorded_engine(session), Door(public=True))
    async with host.serving():
        yield Page(host)


async def test_a_page_that_may_run_no_code_says_so_and_shows_saved_runs(closed: Page) -> None:
    arrived = await closed.arrive(None, "", "", "", NOBODY, asked(SAVED))
    kept = begun(closed, words="healed")
    tried = [pair async for pair in closed.heal(kept, "", "", "healed", 5)]
    shown = [shown async for shown in closed.watch(arrived[0])]

    assert arrived[0]["run"] == SAVED
    assert "No code is run here" in arrived[-1]
    assert (arrived[-3]["interactive"], (await closed.settle(kept))[1]["interactive"]) == (
        False, False
    )
    assert len(tried) == 1
    assert "No code is run here" in tried[0][1]
    assert "HEALED" in shown[-1]


async def test_a_page_that_may_run_no_code_takes_no_answer(chosen: Chosen) -> None:
    session = RecordedSession(lambda task: chosen(Task(text="waiting")), jail=WEAK)
    await session.start(Task(), run_id=SAVED)
    async for _ in session.follow(SAVED):
        pass
    host = Host(lambda: recorded_engine(session), Door(public=True))
    async with host.serving():
        page = Page(host)
        kept: Kept = {**NOTHING, "run": SAVED, "interrupt": "ask-1"}

        assert "No code is run here" in await page.decide(kept, True)
        assert not session.log(SAVED)[-1].final


async def test_every_page_of_a_weak_public_server_carries_the_warning(chosen: Chosen) -> None:
    session = RecordedSession(chosen, jail=WEAK)
    host = Host(lambda: recorded_engine(session), Door(public=True, allow_weak=True))
    async with host.serving():
        page = Page(host)
        for run in ("", UNKNOWN):
            arrived = await page.arrive(None, "", "", "", NOBODY, asked(run))
            assert 'class="banner weak"' in arrived[-1]
            assert arrived[-3]["interactive"] is True
        assert "HEALED" in (await healed(page, begun(page, words="healed")))[-1]


async def test_a_page_of_this_machine_carries_no_banner(page: Page) -> None:
    assert (await page.arrive(None, "", "", "", NOBODY, asked("")))[-1] == ""


async def test_a_run_stopped_while_it_is_being_started_is_cancelled(chosen: Chosen) -> None:
    class Slow(RecordedSession):
        async def start(self, task: Task, **given: Any) -> str:
            await page.stop({**NOTHING, "run": given["run_id"]})
            return await super().start(task, **given)

    host = Host(lambda: recorded_engine(Slow(chosen, pause_s=30)))
    async with host.serving():
        page = Page(host)
        assert "CANCELLED" in (await healed(page, begun(page, words="healed")))[-1]


async def test_an_open_question_is_asked_with_a_button_for_each_answer(
    page: Page, session: RecordedSession
) -> None:
    kept = begun(page, words="rivals")
    session._choose = lambda task, choose=session._choose: choose(  # type: ignore[misc]
        Task(text="rivals" if task.text == "rivals" else "healed")
    )
    await healed(page, kept)
    kept, *_, asking, words, first, second, third = (await page.settle(kept))[:-4]
    assert asking["visible"] is True
    assert "What should" in words
    assert [first["value"], second["value"], third["visible"]] == [
        "A gives 22", "B gives 33", False
    ]

    before = kept["run"]
    chosen = (await page.choose_behaviour(kept, 1))[0]
    assert (chosen["asked"], chosen["answer"]) == (before, "B")
    UUID(chosen["run"])
    shown = [shown async for shown, _ in page.answer(chosen)]
    assert "HEALED" in shown[-1]
    assert begun_in(session, chosen)
    settled = await page.settle(chosen)
    assert (settled[0]["asked"], settled[4]["visible"]) == ("", False)


async def test_every_part_that_a_begun_run_changes_has_its_value(page: Page, host: Host) -> None:
    values = page.begin("", "", "")
    parts = [each.outputs for each in build(host).fns.values() if each.name == "begin"]
    assert [len(each) for each in parts] == [len(values)] == [len(Begun({}).flat())]
    kinds = dict(zip(map(type, parts[0]), values, strict=True))
    assert kinds[gr.Column] == kinds[gr.Row] == gr.update(visible=False)


async def test_a_question_that_is_closed_starts_nothing(
    page: Page, session: RecordedSession
) -> None:
    kept = begun(page, words="healed")
    await healed(page, kept)
    for closed in (await page.choose_behaviour(kept, 0), await page.write_behaviour(kept, "1")):
        assert (closed[0], "closed" in closed[1]) == (kept, True)
    assert len(session._runs) == 1


@pytest.mark.parametrize("written", ["44", " raises ValueError "])
async def test_the_right_value_can_be_written_where_no_button_has_it(
    page: Page, session: RecordedSession, written: str
) -> None:
    kept = begun(page, words="rivals")
    await healed(page, kept)
    kept = (await page.settle(kept))[0]
    chosen = (await page.write_behaviour(kept, written))[0]
    assert (chosen["asked"], chosen["answer"]) == (kept["run"], written)
    assert chosen["run"] != kept["run"]


@pytest.mark.parametrize(("written", "told"), [
    ("", "none of A, B"), ("n * 4", "no value as Python writes it"), ("[1, 2", "no value"),
    ("raises Nothing", "no exception called"), ("skip", "nothing to skip"),
])
async def test_what_is_written_and_answers_nothing_is_told_and_starts_nothing(
    page: Page, session: RecordedSession, written: str, told: str
) -> None:
    kept = begun(page, words="rivals")
    await healed(page, kept)
    kept = (await page.settle(kept))[0]
    refused = await page.write_behaviour(kept, written)
    wrong = refused[Begun._fields.index("wrong")]
    assert told in wrong
    assert refused == Begun(kept, wrong=wrong).flat()
    assert [pair async for pair in page.answer(refused[0])] == [(gr.skip(), gr.skip())]
    # The page is left as it is, since a better answer may be on its way by now.
    after = await page.settle_answer(refused[0])
    assert after == (gr.skip(),) * len(await page.settle(refused[0]))
    assert len(session._runs) == 1


async def test_a_run_that_waits_with_a_question_is_answered_itself(
    page: Page, session: RecordedSession, chosen: Chosen
) -> None:
    log = [*chosen(Task(text="rivals"))]
    place = next(n for n, entry in enumerate(log) if entry.event.kind == "ambiguous")
    asked = log[place].event
    assert isinstance(asked, Ambiguous)
    log[place] = log[place].model_copy(update={"event": Waiting(
        interrupt="which-1", question="Which?", rivals=asked.rivals
    )})
    session._choose = lambda task: tuple(log)
    kept = begun(page, words="rivals")
    await healed(page, kept)
    settled = await page.settle(kept)
    assert (settled[3]["visible"], settled[4]["visible"]) == (False, True)
    picked = (await page.choose_behaviour(settled[0], 1))[0]
    assert (picked["run"], picked["asked"], picked["answer"]) == (kept["run"], "", "B")
    shown = [shown async for shown, _ in page.answer(picked)]
    assert "one of 2 repairs that fit your tests" in shown[-1]
    answered = [entry.event for entry in session.log(kept["run"])
                if entry.event.kind == "answered"]
    assert [event.answer for event in answered] == ["{'answer': 'B'}"]


async def test_a_page_that_may_run_no_code_asks_nothing(chosen: Chosen) -> None:
    session = RecordedSession(lambda task: chosen(Task(text="rivals")), jail=WEAK)
    await session.start(Task(), run_id=SAVED)
    async for _ in session.follow(SAVED):
        pass
    host = Host(lambda: recorded_engine(session), Door(public=True))
    async with host.serving():
        page = Page(host)
        kept: Kept = {**NOTHING, "run": SAVED}
        assert (await page.settle(kept))[4]["visible"] is False
        picked = (await page.choose_behaviour(kept, 0))[0]
        (told,) = [pair async for pair in page.answer(picked)]
        assert "No code is run here" in told[1]


OWN_KEY = ("ANTHROPIC_API_KEY", "sk-ant-of-the-owner-0123456789")


def pausing(chosen: Chosen, needs: str) -> Chosen:
    """The healed run, with a wait for caps or a key in its middle."""
    log = [*chosen(Task(text="healed"))]
    place = next(n for n, entry in enumerate(log) if entry.event.kind == "diagnosed")
    wait = Waiting(interrupt="wait-1", question=f"more {needs} is needed", needs=needs)  # type: ignore[arg-type]
    log[place] = log[place].model_copy(update={"event": wait})
    return lambda task: tuple(log)


async def test_a_run_that_reached_a_cap_asks_whether_to_go_on_and_goes_on(chosen: Chosen) -> None:
    session = RecordedSession(pausing(chosen, "budget"))
    host = Host(lambda: recorded_engine(session))
    async with host.serving():
        page = Page(host)
        kept = begun(page, words="healed")
        assert "WAITING" in (await healed(page, kept))[-1]
        settled = await page.settle(kept)
        row, words, go_on, end = settled[-4:]
        assert (row["visible"], settled[3]["visible"], settled[4]["visible"]) == (
            True, False, False
        )
        assert "more budget is needed" in words
        assert (go_on["value"], end["visible"]) == ("Add as much again and go on", True)
        assert "closed" in await page.go_on({**settled[0], "interrupt": "stale"})
        assert await page.go_on(settled[0]) == ""
        assert "HEALED" in [shown async for shown in page.watch(kept)][-1]
        assert (await page.settle(kept))[-4]["visible"] is False
        said = [entry.event.answer for entry in session.log(kept["run"])
                if entry.event.kind == "answered"]
        assert said == ["{}"]


async def test_a_run_that_reached_a_cap_can_be_ended_there(chosen: Chosen) -> None:
    session = RecordedSession(pausing(chosen, "budget"))
    host = Host(lambda: recorded_engine(session))
    async with host.serving():
        page = Page(host)
        kept = begun(page, words="healed")
        await healed(page, kept)
        assert await page.go_on((await page.settle(kept))[0], end=True) == ""
        assert "{'end': True}" in [entry.event.answer for entry in session.log(kept["run"])
                                   if entry.event.kind == "answered"]


async def test_a_run_that_needs_a_key_goes_on_once_it_was_given(chosen: Chosen) -> None:
    session = RecordedSession(pausing(chosen, "key"))
    host = Host(lambda: recorded_engine(session))
    async with host.serving():
        page = Page(host)
        session.models.give(OWNER, *OWN_KEY)
        kept = begun(page, words="healed")
        await healed(page, kept)
        session.models.forget(OWNER)  # as a restart does
        settled = await page.settle(kept)
        assert "more key is needed" in settled[-3]
        assert settled[-2]["value"] == "Go on"
        assert "still missing" in await page.go_on(settled[0])
        session.models.give(OWNER, *OWN_KEY)
        assert await page.go_on(settled[0]) == ""
        assert "HEALED" in [shown async for shown in page.watch(kept)][-1]


async def test_only_whoever_started_a_run_lets_it_spend_more(chosen: Chosen) -> None:
    session = RecordedSession(pausing(chosen, "budget"), jail=STRONG)
    host = Host(lambda: recorded_engine(session), Door(public=True))
    async with host.serving():
        page = Page(host)
        kept = begun(page, words="healed")
        mine, other = page.panel.known(NOBODY), page.panel.known(NOBODY)
        async for _ in page.heal(kept, "", "", "healed", 5, mine):
            pass
        theirs = await page.settle(kept, other)
        assert [part["visible"] for part in theirs[-2:]] == [False, False]
        for visit in (other, NOBODY):
            assert "Only whoever started" in await page.go_on(theirs[0], visit)
        assert (await page.settle(kept, mine))[-2]["visible"] is True
        assert await page.go_on(theirs[0], mine) == ""


async def test_an_answer_to_a_strangers_run_is_paid_for_by_who_gives_it(chosen: Chosen) -> None:
    session = RecordedSession(chosen, jail=STRONG)
    host = Host(lambda: recorded_engine(session), Door(public=True))
    async with host.serving():
        page = Page(host)
        kept = begun(page, words="rivals")
        mine, other = page.panel.known(NOBODY), page.panel.known(NOBODY)
        async for _ in page.heal(kept, "", "", "rivals", 5, mine):
            pass
        session._choose = lambda task: chosen(Task(text="healed"))
        answered = (await page.choose_behaviour((await page.settle(kept, other))[0], 1))[0]
        async for _ in page.answer(answered, other):
            pass
        assert session.visitor(kept["run"]) == page.panel.visitor(mine)
        assert session.visitor(answered["run"]) == page.panel.visitor(other)


async def test_a_run_is_started_with_the_plan_that_the_fields_say(
    page: Page, session: RecordedSession
) -> None:
    session.models.give(OWNER, *OWN_KEY)
    kept = begun(page, words="healed")
    async for _ in page.heal(kept, "", "", "healed", 5, NOBODY, "", "", "critic=mock"):
        pass
    plan = session.plans[kept["run"]]
    assert (plan.provider, plan.of("critic")) == ("anthropic", None)


@pytest.mark.parametrize(("provider", "roles", "said"), [
    ("anthropic", "", "anthropic needs a key: set ANTHROPIC_API_KEY, or enter one"),
    ("", "critic", "The roles cannot be read"),
])
async def test_a_plan_that_cannot_be_had_is_said_and_starts_nothing(
    page: Page, session: RecordedSession, provider: str, roles: str, said: str
) -> None:
    kept = begun(page, words="healed")
    shown = [pair async for pair in page.heal(
        kept, "", "", "healed", 5, NOBODY, provider, "", roles
    )]
    assert len(shown) == 1
    assert said in shown[0][1]
    assert not begun_in(session, kept)
    assert (await page.settle(kept))[1]["interactive"] is True


async def test_a_page_stands_though_its_settings_ask_for_a_key_that_is_not_there(
    chosen: Chosen,
) -> None:
    models = Models(Settings(provider="anthropic"))
    host = Host(lambda: recorded_engine(RecordedSession(chosen, models=models)))
    async with host.serving():
        page = Page(host)
        arrived = await page.arrive(None, "", "", "", None, asked(""))
        assert "anthropic needs a key" in arrived[1]
        assert arrived[-3]["interactive"] is True
        assert (await page.offer(NOBODY))[-1] == '<p class="hint">Keys at hand: none.</p>'


async def test_what_was_wanted_stands_in_its_fields_after_a_reload(page: Page) -> None:
    visit: Visit = {**NOBODY, "provider": "mock", "roles": "critic=mock"}
    arrived = await page.arrive(None, "", "", "", visit, asked(""))
    assert arrived[6] == visit
    assert (await page.offer(arrived[6], ""))[:3] == ("mock", "", "critic=mock")
