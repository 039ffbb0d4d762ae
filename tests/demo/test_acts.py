"""What strangers, second clicks and lacks do to the acts of the page: nothing to anybody's run."""

from __future__ import annotations

import asyncio
from typing import Any
from uuid import uuid4

from agent.core.settings import Settings
from demo.acts import MOST_STOPPED
from demo.browser_state import NEW_VISIT, NO_RUN, Visit
from tests.demo.recorded import RecordedSession
from tests.demo.test_web import PUBLIC, STRONG, begun, has_begun, healed, serving

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
