"""What strangers, second clicks and lacks do to the acts of the page: nothing to anybody's run."""

from __future__ import annotations

import asyncio
from typing import Any
from uuid import uuid4

import pytest

from agent.core.events import Waiting
from agent.core.settings import Settings
from demo.acts import MOST_STOPPED
from demo.browser_state import NEW_VISIT, NO_RUN, Visit
from demo.serving.limits import MOST_WAITING
from tests.demo.recorded import RecordedSession
from tests.demo.test_web import (
    PUBLIC,
    STRONG,
    answers,
    begun,
    can_heal,
    has_begun,
    healed,
    last,
    ran,
    replaced,
    serving,
)

MINE: Visit = {**NEW_VISIT, "visitor": "m" * 16, "address": "10.0.0.1"}
OTHER: Visit = {**NEW_VISIT, "visitor": "o" * 16, "address": "10.0.0.2"}


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
        assert "CANCELLED" in (await following)["bench"]


async def test_what_strangers_stop_early_makes_nobodys_own_stop_forgotten() -> None:
    async with serving(strangers(), PUBLIC) as page:
        kept = await begun(page, words="healed")
        await page.stop(kept, MINE)
        for run in (kept["run"], *(str(uuid4()) for _ in range(MOST_STOPPED))):
            await page.stop({**NO_RUN, "run": run}, OTHER)
        assert "Stopped before it began" in (await healed(page, kept, MINE))["said"]


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


def waiting(needs: str, event: str = "diagnosed") -> RecordedSession:
    """Plays the healed run, with a wait in its middle."""
    wait = Waiting(interrupt="wait-1", question="may it go on?", needs=needs)  # type: ignore[arg-type]
    return RecordedSession(replaced("healed", event, wait), jail=STRONG)


@pytest.mark.parametrize("needs", ["review", "budget", "visitor"])
async def test_a_run_that_goes_on_counts_like_one_that_begins(needs: str) -> None:
    session = waiting(needs)
    async with serving(session, PUBLIC) as page:
        one, two = [await ran(page, visit=MINE) for _ in range(2)]
        session._pause_s = 30.0
        session.settings = Settings(visitor_runs=1)
        other = asyncio.create_task(healed(page, await begun(page, words="healed"), MINE))
        while not session.going():
            await asyncio.sleep(0)
        if needs == "visitor":
            told = await last(page.watch(one, MINE))
        elif needs == "budget":
            told = await page.go_on(one, MINE)
            assert (await page.go_on(two, MINE, end=True))["said"] == ""
        else:
            told = await page.decide(one, MINE, approve=True)
        assert "which is as many as one visitor may have here at once" in told["said"]
        assert answers(session, one) == []
        other.cancel()


async def test_a_visitor_may_leave_so_many_runs_waiting_and_answers_them_still() -> None:
    session = waiting("review")
    session.settings = Settings(visitor_rate=1_000)
    async with serving(session, PUBLIC) as page:
        left = [await ran(page, visit=MINE) for _ in range(MOST_WAITING)]
        refused = await begun(page, words="healed")
        assert f"{MOST_WAITING} of your runs wait" in (await healed(page, refused, MINE))["said"]
        assert (await page.decide(left[0], MINE, approve=True))["said"] == ""
        assert "HEALED" in (await last(page.watch(left[0], MINE)))["bench"]
        again = await healed(page, refused, MINE)
        assert "WAITING" in again["bench"]


@pytest.mark.parametrize("pause_s", [0.0, 30.0])
async def test_a_link_to_somebodys_run_leaves_whoever_follows_it_free_to_heal(
    pause_s: float
) -> None:
    session = strangers(pause_s=pause_s) if pause_s else waiting("review")
    async with serving(session, PUBLIC) as page:
        kept = await begun(page, words="healed")
        theirs = asyncio.create_task(healed(page, kept, MINE))
        while not has_begun(session, kept) or not (pause_s or theirs.done()):
            await asyncio.sleep(0)

        opened = await page.arrive(kept["run"], None, "", "", "", OTHER)
        typed = {"code": "c", "tests": "t", "words": "w"}
        for told in (opened, await page.settle(opened["kept"], OTHER)):
            assert told["kept"]["run"] == kept["run"]
            assert (can_heal(told), told["stop"]["interactive"]) == (True, False)
        assert await page.choose(opened["kept"], OTHER, typed=typed) == {**typed, "said": ""}
        left = await page.arrive("", opened["kept"], "", "", "", OTHER)
        assert (left["kept"]["run"], can_heal(left)) == ("", True)

        own = await page.arrive(kept["run"], None, "", "", "", MINE)
        assert (can_heal(own), own["stop"]["interactive"]) == (False, True)
        again = await page.arrive("", own["kept"], "", "", "", MINE)
        assert again["kept"]["run"] == kept["run"]
        await page.stop(kept, MINE)
        await theirs
