"""What strangers, second clicks and lacks do to the acts of the page: nothing to anybody's run."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from uuid import uuid4

import gradio as gr
import pytest
from starlette.requests import Request

from agent.core.domain import Task
from agent.core.events import Waiting
from agent.core.settings import Settings
from agent.interfaces.preparation import Preparation
from agent.loop.session import open_session
from agent.report.result import fold
from agent.report.waiting import read_answer
from demo.browser_state import NEW_VISIT, NO_RUN, OPTIONS, Visit
from demo.handlers import MAX_STOPPED, Page
from demo.layout.parts import ANSWERED, MESSAGE_PARTS
from demo.serving.host import SessionHost
from demo.serving.limits import MAX_FOLLOWED, MAX_WAITING
from demo.views.bench import NO_RUN_WORKBENCH, SHARED
from demo.web import build
from sandbox import SandboxUnavailable
from tests.agent.runs import settings
from tests.demo.recorded import RecordedSession, hosting, recorded
from tests.demo.test_web import (
    PUBLIC,
    STRONG,
    UNKNOWN,
    WAITS,
    answers,
    begun,
    can_heal,
    has_begun,
    healed,
    last,
    pausing,
    ran,
    refused,
    replaced,
    seen,
    serving,
)

MINE: Visit = {**NEW_VISIT, "visitor": "mine-k3mfu0az-wq8", "address": "10.0.0.1"}
OTHER: Visit = {**NEW_VISIT, "visitor": "other-p5ldnb1o-vz7", "address": "10.0.0.2"}
FROM_NOBODY = gr.Request(Request({
    "type": "http", "headers": [], "query_string": b"", "client": None,
}))


def strangers(**how: Any) -> RecordedSession:
    """A session behind a jail that a public page may use."""
    return RecordedSession(jail=STRONG, **how)


async def test_a_stranger_who_stops_a_run_early_stops_nobody_elses() -> None:
    session = strangers(pause_s=30)
    async with serving(session, PUBLIC) as page:
        kept = await begun(page, words="healed")
        await page.stop(kept, OTHER)
        following = asyncio.create_task(healed(page, kept, MINE))
        while not has_begun(session, kept):
            await asyncio.sleep(0)
        theirs = page.heal(OTHER, kept, "", "", "healed", 5)
        assert await anext(theirs)
        assert not session.log(kept["run"])[-1].final
        await theirs.aclose()
        await page.stop(kept, MINE)
        assert "is-cancelled" in (await following)["bench"]


async def test_what_strangers_stop_early_makes_nobodys_own_stop_forgotten() -> None:
    session = strangers()
    async with serving(session, PUBLIC) as page:
        kept = await begun(page, words="healed")
        await page.stop(kept, MINE)
        for run in (kept["run"], *(str(uuid4()) for _ in range(MAX_STOPPED))):
            await page.stop({**NO_RUN, "run": run}, OTHER)
        assert refused(await healed(page, kept, MINE))
        assert not has_begun(session, kept)


async def test_a_page_that_goes_away_as_its_run_begins_leaves_it_to_wait() -> None:
    session = strangers(pause_s=60.0)
    session.settings = Settings(grace_s=1e-9)
    async with serving(session, PUBLIC) as page:
        kept = await begun(page, words="healed")
        heal = page.heal(MINE, kept, "", "", "healed", 5)
        assert "said" in await anext(heal)
        await heal.aclose()
        async with asyncio.timeout(5):
            while not session.paused:
                await asyncio.sleep(0)
    assert session.paused == [kept["run"]]


@pytest.fixture
async def host() -> AsyncIterator[SessionHost]:
    host = hosting(RecordedSession())
    async with host.serving():
        yield host


@pytest.mark.parametrize("needs", ["review", "budget", "visitor"])
async def test_a_run_that_goes_on_counts_like_one_that_begins(needs: str) -> None:
    session = pausing(needs, jail=STRONG)
    async with serving(session, PUBLIC) as page:
        one, two = [await ran(page, visit=MINE) for _ in range(2)]
        session._pause_s = 30.0
        session.settings = Settings(visitor_runs=1)
        other = asyncio.create_task(healed(page, await begun(page, words="healed"), MINE))
        while not session.running():
            await asyncio.sleep(0)
        if needs == "visitor":
            received = await last(page.watch(one, MINE))
        elif needs == "budget":
            received = await page.go_on(one, MINE)
            assert (await page.go_on(two, MINE, end=True))["said"] == ""
        else:
            received = await page.decide(one, MINE, approve=True)
        assert refused(received)
        assert answers(session, one) == []
        other.cancel()


@pytest.mark.nightly
async def test_a_visitor_may_leave_so_many_runs_waiting_and_answers_them_still() -> None:
    session = pausing("review", jail=STRONG)
    session.settings = Settings(visitor_rate=1_000)
    async with serving(session, PUBLIC) as page:
        left = [await ran(page, visit=MINE) for _ in range(MAX_WAITING)]
        more = await begun(page, words="healed")
        assert str(MAX_WAITING) in (await healed(page, more, MINE))["said"]
        assert (await page.decide(left[0], MINE, approve=True))["said"] == ""
        assert "is-healed" in (await last(page.watch(left[0], MINE)))["bench"]
        assert WAITS in (await healed(page, more, MINE))["bench"]


@pytest.mark.parametrize("pause_s", [0.0, 30.0])
async def test_a_link_to_a_strangers_run_leaves_its_reader_free_to_heal(pause_s: float) -> None:
    session = strangers(pause_s=pause_s) if pause_s else pausing("review", jail=STRONG)
    async with serving(session, PUBLIC) as page:
        kept = await begun(page, words="healed")
        theirs = asyncio.create_task(healed(page, kept, MINE))
        while not has_begun(session, kept) or not (pause_s or theirs.done()):
            await asyncio.sleep(0)

        opened = await page.arrive(kept["run"], None, "", "", "", OTHER)
        typed = {"code": "c", "tests": "t", "words": "w"}
        for received in (opened, await page.settle(opened["saved-run"], OTHER)):
            assert received["saved-run"]["run"] == kept["run"]
            assert (can_heal(received), received["stop"]["interactive"]) == (True, False)
        assert await page.choose(opened["saved-run"], OTHER, typed=typed) == {**typed, "said": ""}
        left = await page.arrive("", opened["saved-run"], "", "", "", OTHER)
        assert (left["saved-run"]["run"], can_heal(left)) == ("", True)

        own = await page.arrive(kept["run"], None, "", "", "", MINE)
        assert (can_heal(own), own["stop"]["interactive"]) == (False, True)
        again = await page.arrive("", own["saved-run"], "", "", "", MINE)
        assert again["saved-run"]["run"] == kept["run"]
        await page.stop(kept, MINE)
        await theirs


async def test_an_answer_that_is_refused_leaves_the_page_at_its_question() -> None:
    session = strangers()
    session.settings = Settings(visitor_rate=1)
    async with serving(session, PUBLIC) as page:
        kept = await ran(page, "rivals", MINE)
        picked = (await page.choose_behaviour(kept, place=1))["saved-run"]
        received = await last(page.answer(picked, MINE))
        assert refused(received) and 'data-phase="finished"' in received["bench"]
        settled = await page.settle_answer(picked, MINE)
        assert settled["saved-run"] == kept
        assert "question" in seen(settled)


@pytest.mark.parametrize(("tests", "grown"), [
    ("assert other", None), ("assert 1\n", "assert 1\nassert price(11) == -1\n"), ("", None),
])
async def test_an_answer_joins_the_typed_tests_of_its_run(tests: str, grown: str | None) -> None:
    async with serving(strangers(), PUBLIC) as page:
        kept = {
            **await ran(page, "rivals", MINE), "tests": "assert 1\n", "doubted": "-1",
        }
        received = await page.write_behaviour(kept, "-1", MINE, tests)
        tests_now = received.get("tests"), received["saved-run"]["tests"]
        assert tests_now == (grown, grown or "assert 1\n")
        again = await page.write_behaviour(
            {**kept, **received["saved-run"], "doubted": "-1"}, "-1", MINE, grown or tests
        )
        assert "tests" not in again
        assert "tests" not in await page.write_behaviour(kept, "-1", NEW_VISIT, "assert 1\n")


async def test_an_answer_and_a_fork_that_are_given_twice_begin_one_run() -> None:
    session = strangers()
    async with serving(session, PUBLIC) as page:
        kept = await ran(page, "rivals", MINE)
        picked = (await page.choose_behaviour(kept, place=1))["saved-run"]
        session.choose = lambda task: recorded("healed")
        forks = (await page.begin_fork(kept, "0"))["saved-run"]
        for act, asked in ((page.answer, picked), (page.fork, forks)):
            twice = [last(act(asked, MINE)) for _ in range(2)]
            for received in await asyncio.gather(*twice):
                assert "is-healed" in received["bench"]
        assert session.recorded.keys() == {kept["run"], picked["run"], forks["run"]}


async def test_a_fork_that_is_overtaken_by_a_click_on_heal_changes_nothing() -> None:
    session = strangers()
    async with serving(session, PUBLIC) as page:
        kept = await begun(page, words="healed")  # what the browser keeps by then
        assert await last(page.fork(kept, MINE)) == await page.settle_answer(kept, MINE) == {}
        received = await page.begin_fork(kept, "")
        assert refused(received) and received.keys() == {"said"}


async def test_beside_a_refusal_stands_no_run_that_was_recorded() -> None:
    class Lacking(RecordedSession):
        async def start(self, task: Task, **given: Any) -> str:
            raise SandboxUnavailable("the jail is gone; install one")

    async with serving(Lacking()) as page:
        kept = await begun(page, words="healed")
        received = await healed(page, kept)
        assert ("install one" in received["said"], received["bench"]) == (True, NO_RUN_WORKBENCH)
        lost = await page.arrive(str(uuid4()), None, "", "", "", MINE)
        assert lost["bench"] == NO_RUN_WORKBENCH
        unheard = await begun(page)  # a value of its options was none, and nobody heard of it
        for one in (kept, unheard):
            assert (await page.settle(one, MINE))["bench"] == NO_RUN_WORKBENCH


async def test_what_was_shown_stays_beside_a_heal_or_a_link_of_which_nothing_comes() -> None:
    async with serving(strangers(), PUBLIC) as page:
        shown = await begun(page, words="healed")
        await healed(page, shown, MINE)
        kept = await begun(page, "x = 1", "assert f(")
        kept["before"] = shown["run"]
        received = await healed(page, kept, MINE)
        assert refused(received) and "is-healed" in received["bench"]
        settled = await page.settle(kept, MINE)
        assert settled["saved-run"] == {**kept, "run": shown["run"], "before": ""}
        assert "bench" not in settled
        lost = await page.arrive(str(uuid4()), shown, "", "", "", MINE)
        assert refused(lost) and "bench" not in lost
        assert lost["saved-run"]["run"] == shown["run"]


async def test_a_shared_run_offers_no_decision() -> None:
    async with serving(strangers(), PUBLIC) as page:
        for name in ("waiting", "rivals"):
            kept = await begun(page, words=name)
            assert SHARED not in (await healed(page, kept, MINE))["bench"]
            assert SHARED in (await last(page.watch(kept, OTHER)))["bench"]
            mine, other = await page.settle(kept, MINE), await page.settle(kept, OTHER)
            assert not other["review"]["visible"]
            assert mine["review"]["visible"] is (name == "waiting")
        assert "" != other["asked"] != mine["asked"]


async def test_a_green_project_stays_on_the_page(monkeypatch: pytest.MonkeyPatch) -> None:
    async def green(*_: object) -> Preparation:
        return Preparation()

    monkeypatch.setattr("demo.submission.prepare_input", green)
    monkeypatch.setattr(Preparation, "heal_result", lambda *_: fold(recorded("healed")))
    async with serving(strangers(), PUBLIC) as page:
        kept = await begun(page)
        assert "is-healed" in (await healed(page, kept, MINE))["bench"]
        assert "bench" not in await page.settle(kept, MINE)


async def test_an_open_page_follows_one_run_at_a_time() -> None:
    session = strangers(pause_s=0.001)
    here: Visit = {**MINE, "page": "an-open-page"}
    async with serving(session, PUBLIC) as page:
        kept = await begun(page, words="healed")
        first = page.heal(here, kept, "", "", "healed", 5)
        while "bench" not in await anext(first):
            pass
        second = page.watch(kept, here)
        assert "bench" in await anext(second)
        assert [received async for received in first] == []
        assert await anext(page.heal(here, await begun(page), "", "", "", 5))  # which is refused
        assert [received async for received in second] == []
        assert page._newest == {}


async def test_a_visitor_follows_so_many_runs_and_leaves_the_others_their_places() -> None:
    async with serving(strangers(pause_s=30), PUBLIC) as page:
        kept = await begun(page, words="healed")
        streams = [page.heal(MINE, kept, "", "", "healed", 5)]
        streams += [page.watch(kept, MINE) for _ in range(MAX_FOLLOWED)]
        await anext(streams[0])  # what is said comes first
        for one in streams[:-1]:
            assert "bench" in await anext(one)
        assert refused(await anext(streams[-1]))
        theirs = page.watch(kept, OTHER)
        assert "bench" in await anext(theirs)
        for one in (*streams, theirs):
            await one.aclose()
        assert "bench" in await anext(page.watch(kept, MINE))


async def test_questions_about_a_program_change_no_newer_run(host: SessionHost) -> None:
    ui = build(host)
    names = {part._id: getattr(part, "elem_id", "") for part in ui.blocks.values()}
    asked = [act for act in ui.fns.values() if act.fn is not None and any(
        names.get(part) in ("use", "open") for part, _ in act.targets
    )]
    assert [[names[part._id] for part in act.outputs] for act in asked] == [[ANSWERED]] * 2


async def test_a_broken_engine_is_reported_by_each_act() -> None:
    @asynccontextmanager
    async def opened() -> AsyncIterator[RecordedSession]:
        raise SandboxUnavailable("there is no jail; install one")
        yield

    host = SessionHost(opened)
    ids = {name: str(uuid4()) for name in ("run", "asked")}
    kept = {**NO_RUN, **ids, "answer": "A", "interrupt": "ask-1"}
    typed = {"saved-run": kept, "hint": "no", "looked": "0", "replay-run": "run"}
    async with host.serving():
        ui = build(host)
        for act in ui.fns.values():
            if act.fn is None or act.api_visibility != "private":
                continue
            given: list[Any] = [
                typed.get(part.elem_id, getattr(part, "value", None)) for part in act.inputs
            ]
            parts = {part.elem_id for part in act.outputs}
            if "event" in inspect.signature(act.fn).parameters:
                pressed = "delete" if "runs-list" in parts else "forget-all"
                given = [gr.EventData(None, {"act": pressed, "example": "0"}), *given]
            answering = act.fn(FROM_NOBODY, *given)
            if "moved" in parts:  # it has no part to say it in
                with pytest.raises(gr.Error, match="install one"):
                    await anext(answering)
                continue
            received = [one async for one in answering] if hasattr(answering, "__aiter__") else [
                await answering]
            if parts & {*MESSAGE_PARTS, ANSWERED}:
                # Where an act has sent it before, only the buttons are given back.
                assert "install one" in str(received) or "'interactive': True" in str(received)


async def test_whatever_a_request_says_of_a_field_is_read(tmp_path: Path) -> None:
    host = SessionHost(lambda: open_session(settings(tmp_path)))
    async with host.serving():
        ui = build(host)
        acts = [act for act in ui.fns.values() if act.fn and act.api_visibility == "private"]
        for received in (None, 5, [], {}, "x" * 300, float("nan")):
            for act in acts:
                values = [
                    {**NO_RUN, "run": UNKNOWN, "code": received} if part.elem_id == "saved-run"
                    else received for part in act.inputs
                ]
                if "event" in inspect.signature(act.fn).parameters:
                    values = [gr.EventData(None, received), *values]
                answering = act.fn(FROM_NOBODY, *values)
                if hasattr(answering, "__aiter__"):
                    assert [one async for one in answering]
                else:
                    await answering


@pytest.mark.parametrize(("needs", "value"), [
    ("review", {"hint": 5}), ("budget", {"approve": True}),
])
async def test_an_answer_of_another_kind_is_refused(needs: str, value: dict[str, object]) -> None:
    class Reading(RecordedSession):
        async def answer(self, run: str, interrupt: str, value: Mapping[str, object]) -> bool:
            asked = self.log(run)[-1].event
            assert isinstance(asked, Waiting)
            read_answer(asked, value)
            return await super().answer(run, interrupt, value)

    wait = Waiting(interrupt="wait-1", question="?", needs=needs)  # type: ignore[arg-type]
    async with serving(Reading(replaced("healed", "diagnosed", wait))) as page:
        assert refused(await page.decide(await ran(page), MINE, **value))


async def test_a_provider_that_is_no_longer_offered_is_not_asked_for(host: SessionHost) -> None:
    visit: Visit = {**NEW_VISIT, "provider": "gone", "model": "gone-1"}
    arrived = await Page(host).arrive("", None, "", "", "", visit)
    assert (arrived["provider"], arrived["model"]) == ("", "")


async def test_all_that_is_typed_for_a_run_is_counted() -> None:
    session = pausing("review", jail=STRONG)
    session.settings = Settings(largest_input=50)
    async with serving(session, PUBLIC) as page:
        kept = await begun(page, words="healed")
        args = ["--name " * 8 if name == "args" else None for name in OPTIONS]
        assert refused(await last(page.heal(MINE, kept, "", "", "healed", *args)))
        kept = await ran(page, visit=MINE)
        for act in (page.advise, page.bring):
            said = (await act(kept, MINE, "x" * 51))["said"]
            assert "51" in said and "50" in said
        assert answers(session, kept) == []
        assert (await page.decide(kept, MINE, approve=True))["said"] == ""
