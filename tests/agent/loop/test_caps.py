"""Caps that are reached amid a run: it ends, or waits to have them raised."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from agent.core.events import Extended, ModelAsked, ModelFailed, RunFinished
from agent.core.settings import Settings
from agent.log.spending import ledger
from agent.loop.session import Session, open_session
from agent.report.waiting import BadExtension
from agent.target.task import from_page
from llm.budget import Caps
from tests.agent.claude import RIGHT_CALLS, Claude, Said, claude, fenced
from tests.agent.model_runs import HARD, HARD_TESTS, SOLVED, WRONG, events, followed, healed, until
from tests.llm.fakes.anthropic import MESSAGE_STOP, answers, block_stop, message_delta, opening
from tests.llm.fakes.server import Handler, stalls

ALL = ["debugger", "generator", "critic", "memory_summariser"]
"""The calls of a run that the generator's first answer heals."""
CAPS: list[Any] = [
    pytest.param({"budget_calls": 2}, " 2 ", id="calls"),
    # The debugger's question fits, the generator's does not.
    pytest.param({"budget_tokens": 6_000}, "6,000", id="tokens"),
    pytest.param({"budget_usd": 0.06}, "$0.06", id="usd"),
]


@asynccontextmanager
async def limited(
    folder: Path, said: dict[str, Said | list[Said]] | None = None, **caps: Any
) -> AsyncIterator[tuple[Claude, Session]]:
    async with claude(**{"generator": fenced(SOLVED), **(said or {})}) as model:
        settings = model.settings(folder, **caps)
        async with open_session(settings) as session:
            yield model, session


async def begun(session: Session, **given: Any) -> str:
    return await session.start(from_page(HARD, HARD_TESTS).task, **{"pauses": True, **given})


async def waits(session: Session, run: str) -> str:
    """The id of the question that a run comes to wait with."""
    result = await followed(session, run)
    assert result.waiting is not None, result
    return result.waiting.interrupt


def ends(session: Session, run: str) -> list[RunFinished]:
    return [entry.event for entry in session.log(run) if entry.final]  # type: ignore[misc]


@pytest.mark.sampled(1)
@pytest.mark.parametrize(("caps", "words"), CAPS)
async def test_a_run_that_pauses_waits_there_and_goes_on_with_what_it_offers(
    tmp_path: Path, caps: dict[str, Any], words: str
) -> None:
    async with limited(tmp_path, **caps) as (model, session):
        run = await begun(session)
        question = await waits(session, run)
        asked = events(session.log(run), "waiting")[-1]
        assert (asked.needs, words in asked.question, ends(session, run)) == ("budget", True, [])
        assert await session.answer(run, "stale", {}) is False
        assert await session.answer(run, question, {}) is True
        assert await session.answer(run, question, {}) is False
        result = await followed(session, run)

        assert (result.outcome, result.code) == ("healed", SOLVED)
        assert [end.outcome for end in ends(session, run)] == ["healed"]
        assert session.waiting(run) is None
        again = {name.removeprefix("budget_"): cap for name, cap in caps.items()}
        added = events(session.log(run), "extended")
        assert added == [asked.budget_extension] == [Extended(**again)]
    assert model.asked[:3] == ALL[:3]


async def test_a_step_that_is_run_again_pays_for_no_answer_twice(tmp_path: Path) -> None:
    tries: dict[str, Said | list[Said]] = {"generator": [fenced(WRONG), fenced(SOLVED)]}
    async with limited(tmp_path, tries, budget_calls=2) as (model, session):
        run = await begun(session)
        question = await waits(session, run)
        assert model.asked == ["debugger", "generator"]
        await session.answer(run, question, {"calls": 10})
        result = await followed(session, run)
        assert events(session.log(run), "extended") == [Extended(calls=10)]
    assert (result.outcome, result.code) == ("healed", SOLVED)
    assert model.asked == ["debugger", "generator", "generator", "critic", "memory_summariser"]


async def test_what_is_offered_pays_for_the_call_that_a_cap_forbids(tmp_path: Path) -> None:
    async with limited(tmp_path, budget_usd=0.0001) as (model, session):
        run = await begun(session)
        question = await waits(session, run)
        (asked,) = events(session.log(run), "waiting")
        assert asked.budget_extension == Extended(usd=0.06)  # rounded up to cents
        await session.answer(run, question, {})
        await until(session, run, "model_called")
    assert model.asked[0] == ALL[0]


@pytest.mark.parametrize(("host", "own", "more"), [
    ({"budget_usd": 0.0}, None, None), ({"budget_calls": 3}, Caps(calls=0), Extended(calls=1)),
])
async def test_a_visitor_is_offered_no_more_than_the_host_allows_a_run(
    tmp_path: Path, host: dict[str, Any], own: Caps | None, more: Extended | None
) -> None:
    async with limited(tmp_path, **host) as (_, session):
        session.models.add_key("a" * 32, "ANTHROPIC_API_KEY", "sk-ant-of-a-visitor-0123456789")
        run = await begun(session, visitor="a" * 32, caps=own)
        question = await waits(session, run)
        assert events(session.log(run), "waiting")[0].budget_extension == more
        if more is None:
            with pytest.raises(BadExtension):
                await session.answer(run, question, {})


async def test_a_run_that_waits_can_be_cancelled(tmp_path: Path) -> None:
    async with limited(tmp_path, budget_calls=0) as (_, session):
        run = await begun(session)
        question = await waits(session, run)
        await session.cancel(run)
        assert [end.outcome for end in ends(session, run)] == ["cancelled"]
        assert await session.answer(run, question, {}) is False


async def test_an_invalid_extension_is_refused_and_a_person_may_end(tmp_path: Path) -> None:
    async with limited(tmp_path, budget_calls=0) as (model, session):
        run = await begun(session)
        question = await waits(session, run)
        before = session.log(run)
        for wrong in (
            {"usd": -1}, {"usd": float("nan")}, {"usd": float("inf")}, {"tokens": "many"},
            {"usd": "1"}, {"calls": 0}, {"dollars": 1}, {"usd": True}, {"calls": 2.5},
            {"end": "yes"}, {"end": 1}, {"end": True, "usd": 1}, {"approve": True},
            {"kind": "extended"},
        ):
            with pytest.raises(BadExtension):
                await session.answer(run, question, wrong)
            assert (session.log(run), session.waiting(run)) == (before, question), wrong
        assert await session.answer(run, question, {"end": True}) is True
        assert session.waiting(run) is None
        assert [end.outcome for end in ends(session, run)] == ["budget"]
    assert model.asked == []


async def test_a_role_has_caps_of_its_own_which_are_raised_too(tmp_path: Path) -> None:
    roles = {"critic": Caps(calls=0)}
    async with limited(tmp_path, role_budgets=roles) as (model, session):
        run = await begun(session)
        question = await waits(session, run)
        assert model.asked == ALL[:2]
        await session.answer(run, question, {"calls": 1})
        assert (await followed(session, run)).outcome == "healed"
    assert model.asked == ALL


@pytest.mark.sampled(1)
@pytest.mark.parametrize(("caps", "asked"), [
    ({"role_budgets": {"debugger": Caps(calls=0)}}, ALL[1:]), ({"budget_calls": 3}, ALL[:3]),
], ids=["debugger", "lesson"])
async def test_a_role_that_a_run_can_do_without_is_not_worth_a_question(
    tmp_path: Path, caps: dict[str, Any], asked: list[str]
) -> None:
    async with limited(tmp_path, **caps) as (model, session):
        result = await followed(session, await begun(session))
    assert (result.outcome, model.asked) == ("healed", asked)
    assert any(notice.level == "warning" for notice in result.notices)


async def test_a_question_outlives_the_session_and_so_does_what_was_spent(tmp_path: Path) -> None:
    async with limited(tmp_path, budget_calls=2) as (_, session):
        run = await begun(session)
        question = await waits(session, run)
    async with limited(tmp_path, budget_calls=2) as (model, session):
        await session.recover()
        assert session.waiting(run) == question
        assert await session.answer(run, question, {"calls": 1}) is True
        result = await followed(session, run)
        log = session.log(run)
    # Three calls were allowed in all, and two of them were made before.
    assert (result.outcome, model.asked) == ("healed", ["critic"])
    assert [asked.call for asked in events(log, "model_asked")] == [0, 1, 2]
    assert result.tokens == ledger(Caps(), {}, log).spent().tokens


async def killed(
    folder: Path, asked: int, said: dict[str, Said | list[Said]], **caps: Any
) -> tuple[Path, str]:
    """What a kill leaves when so many calls have begun, and the run."""
    after = folder / "after"
    async with limited(folder / "before", said, **caps) as (_, session):
        run = await begun(session)
        async for batch in session.follow(run):
            if batch and len(events(session.log(run), "model_asked")) == asked:
                break
        shutil.copytree(folder / "before", after)
    with sqlite3.connect(after / "runs.db") as store:
        store.execute("update runs set owner = ''")
    store.close()
    return after, run


async def test_a_call_that_a_kill_cut_off_is_charged_in_full(tmp_path: Path) -> None:
    after, run = await killed(tmp_path, 1, {"debugger": stalls}, budget_calls=3)
    async with limited(after) as (model, session):
        await session.recover()
        question = await waits(session, run)
        asked, lost = events(session.log(run), "model_asked", "model_failed")[:2]
        assert isinstance(asked, ModelAsked)
        assert isinstance(lost, ModelFailed)
        assert (lost.error, lost.tokens, lost.cost_usd) == ("Lost", asked.tokens, asked.cost_usd)
        assert model.asked == ALL[:2]  # with the lost one that makes three
        (resumed,) = events(session.log(run), "resumed")
        assert "1 call" in resumed.note
        await session.answer(run, question, {})
        result = await followed(session, run)
        log = session.log(run)
    spent = ledger(Caps(), {}, log).spent()
    assert (result.outcome, result.calls, spent.calls) == ("healed", 5, 5)
    assert (result.tokens, result.cost_usd) == (spent.tokens, pytest.approx(spent.usd))


async def test_after_a_kill_no_answer_that_was_paid_for_is_asked_for_again(tmp_path: Path) -> None:
    # The debugger's call, and two of the generator's.
    after, run = await killed(tmp_path, 3, {"generator": [fenced(WRONG), stalls]})
    async with limited(after) as (model, session):
        await session.recover()
        result = await followed(session, run)
    assert (result.outcome, result.code) == ("healed", SOLVED)
    assert model.asked == ["generator", "critic", "memory_summariser"]


async def test_the_runs_time_is_a_cap_like_the_others(tmp_path: Path) -> None:
    said: dict[str, Any] = {"debugger": [stalls, stalls, answers_as("debugger")]}
    async with limited(tmp_path, said) as (model, session):
        ended = await followed(session, await begun(session, budget_s=2.0, pauses=False))
        assert (ended.outcome, ended.stopped) == ("budget", "time")
        run = await begun(session, budget_s=2.0)
        question = await waits(session, run)
        asked = events(session.log(run), "waiting")[-1]
        assert (asked.needs, " 2 " in asked.question) == ("budget", True)
        (broken,) = events(session.log(run), "model_failed")
        assert broken.error == "Cancelled"
        await session.answer(run, question, {"seconds": 30})
        assert (await followed(session, run)).outcome == "healed"
        assert len(ends(session, run)) == 1
    assert model.asked == ["debugger", "debugger", *ALL]


def answers_as(role: str) -> Handler:
    return answers([*opening([RIGHT_CALLS[role]]), block_stop(0), message_delta("end_turn"),
                    MESSAGE_STOP])


@pytest.mark.nightly
async def test_time_that_ran_out_in_a_search_can_be_added_too(tmp_path: Path) -> None:
    code = "def f(x):\n    for i in range(3):\n        x = x * 2 - i\n    return x\n"
    tests = "\n".join(f"assert f({n}) == {n ** 3 + 77}" for n in range(1, 4))
    settings = Settings.from_env(
        {}, provider="mock", data_dir=tmp_path, proof_s=0.0, search_s=1_200.0
    )
    async with open_session(settings) as session:
        run = await session.start(from_page(code, tests).task, budget_s=1.0, pauses=True)
        question = await waits(session, run)
        assert events(session.log(run), "waiting")[-1].needs == "budget"
        searched = len(events(session.log(run), "searched"))
        await session.answer(run, question, {"seconds": 1.0})
        await followed(session, run)
        assert len(events(session.log(run), "searched")) > searched
        question = session.waiting(run) or ""
        await session.answer(run, question, {"end": True})
        assert [(end.outcome, end.stopped) for end in ends(session, run)] == [("budget", "time")]


async def test_false_counts_pass_a_cap_by_one_call_at_most(tmp_path: Path) -> None:
    lie = message_delta("end_turn")
    lie["usage"]["output_tokens"] = 10_000_000
    told = answers([*opening([RIGHT_CALLS["debugger"]]), block_stop(0), lie, MESSAGE_STOP])
    async with claude(debugger=told, generator=told) as model:
        result, log = await healed(model.settings(tmp_path))
    assert (result.outcome, model.asked) == ("budget", ["debugger"])
    assert result.tokens > 10_000_000
    assert len([event for event in log if event.kind == "model_asked"]) == 1
