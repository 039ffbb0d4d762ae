"""The panels beside the workbench: visitors meet what is theirs, and what is deleted is gone."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from agent.core.events import from_jsonl, to_jsonl
from agent.loop.session import Session, open_session
from agent.memory import FailureKey, Fix
from agent.target.errors import BadInput
from agent.target.task import from_page
from demo.browser_state import NEW_VISIT, Visit
from demo.models.panel import Panel
from demo.panels.handlers import Panels
from demo.panels.replay import moments
from demo.serving.access import Access
from demo.serving.endpoints import Endpoints
from demo.serving.host import SessionHost
from tests.agent.runs import finished, settings
from tests.demo.recorded import recorded
from tests.demo.test_render import Reader

ONE: Visit = {**NEW_VISIT, "visitor": "one-word-that-nobody-guesses"}
OTHER: Visit = {**NEW_VISIT, "visitor": "another-word-nobody-guesses"}
CODE = "def acme_area(width, height):\n    return width + height\n"
TESTS = "assert acme_area(2, 5) == 10\nassert acme_area(1, 1) == 1"


@asynccontextmanager
async def opened(
    folder: Path, *, public: bool = True
) -> AsyncIterator[tuple[Panels, Panel, Session]]:
    host = SessionHost(lambda: open_session(settings(folder, proof_s=0.0)), Access(public=public))
    async with host.serving():
        session, panel = await host.session(), Panel(host)
        assert isinstance(session, Session)
        yield Panels(host, panel), panel, session


def replayed(told: dict[str, Any]) -> Iterator[list[str]]:
    """The pieces of each moment, as the page puts them together."""
    now: dict[int, str] = {}
    for changes in told["moments"]:
        now.update({place: told["pieces"][piece] for place, piece in changes.items()})
        yield [now[place] for place in sorted(now)]


async def healed(session: Session, panel: Panel, title: str = "area") -> str:
    log = await finished(
        session, from_page(CODE, TESTS).task, title=title, visitor=panel.visitor(ONE)
    )
    return log[0].run


async def test_a_visitor_manages_only_their_own_runs(tmp_path: Path) -> None:
    async with opened(tmp_path) as (panels, panel, session):
        run = await healed(session, panel)
        assert run in (await panels.runs(ONE, "AREA healed"))["runs-list"]
        assert run not in (await panels.runs(ONE, "unresolved"))["runs-list"]
        for search in ("", "area"):
            assert run not in (await panels.runs(OTHER, search))["runs-list"]

        for act in ("rename", "delete", "again", "replay"):
            told = await panels.run_act({"act": act, "key": run, "value": "x"}, OTHER, "")
            assert told["runs-message"] and "replayed" not in told, act
        told = await panels.run_act({"act": "rename", "key": run, "value": "<b>  fee"}, ONE, "")
        assert "&lt;b&gt; fee" in told["runs-list"]
        assert "<b>" not in told["runs-list"].replace("<b>fee", "")
        told = await panels.run_act({"act": "delete", "key": run}, ONE, "")
        assert run not in told["runs-list"]
        with pytest.raises(KeyError):
            session.log(run)


async def test_a_run_is_replayed_event_by_event_and_run_again(tmp_path: Path) -> None:
    async with opened(tmp_path) as (panels, panel, session):
        run = await healed(session, panel)
        told = await panels.run_act({"act": "replay", "key": run}, ONE, "")
        assert run in told["replayed"]
        log = session.log(run)
        assert (told["replay-at"]["value"], told["replay-at"]["maximum"]) == (1, len(log))
        first, *_, last = ("".join(shown) for shown in replayed(moments(log)))
        assert ("E1" in Reader(first).text, "E1" in Reader(last).text) == (False, True)

        again = (await panels.run_act({"act": "again", "key": run}, ONE, ""))["runs-go"]
        new = again.removeprefix("?run=")
        async for _ in session.follow(new):
            pass
        assert str(UUID(new)) == new, "the page opens it by this name"
        assert (new != run, session.visitor(new)) == (True, panel.visitor(ONE))
        assert session.task(new) == session.task(run)

        one = await panels.run_act({"act": "compare", "picked": [run]}, ONE, "")
        both = await panels.run_act({"act": "compare", "picked": [run, new]}, ONE, "")
        assert [told["replayed"].count(" UTC</b>") for told in (one, both)] == [0, 2]
        assert "<table" not in both["replayed"]
        more = f"{TESTS}\nassert acme_area(2, 2) == 4"
        third = await finished(session, from_page(CODE, more).task, visitor=panel.visitor(ONE))
        other = await panels.run_act({"act": "compare", "picked": [run, third[0].run]}, ONE, "")
        assert "1 test only in the" in other["replayed"]
        assert "1 test only in the" not in both["replayed"]
        none = await panels.run_act({"act": "compare", "picked": [run, new]}, OTHER, "")
        assert none["runs-message"] and "replayed" not in none


async def test_memory_is_shown_with_proof_and_forgotten_for_good(tmp_path: Path) -> None:
    async with opened(tmp_path) as (panels, panel, session):
        await healed(session, panel)
        memory = session.memory(panel.visitor(ONE))
        (fix,), (lesson,) = memory.fixes(), memory.lessons()
        html = (await panels.memory(ONE, ""))["memory-list"]
        for fact in ("0 of 2", "E1", "acme_area: + → *"):
            assert fact in Reader(html).text
        assert "`" not in html
        for visit, words in ((OTHER, ""), (ONE, "IndexError")):
            assert "acme_area" not in (await panels.memory(visit, words))["memory-list"]

        forget = {"act": "forget", "key": str(fix.number)}
        await panels.memory_act(forget, OTHER, "")
        assert len(memory.fixes()) == 1
        await panels.memory_act(forget, ONE, "")
        assert (len(memory.fixes()), len(memory.lessons())) == (0, 1)
        left = await panels.memory_act({"act": "forget", "key": f"L{lesson.number}"}, ONE, "")
        assert "acme_area" not in left["memory-list"]
        kept = [path for path in tmp_path.rglob("visitors/*") if b"acme_area" in path.read_bytes()]
        memory._db.execute("pragma wal_checkpoint(truncate)")
        kept = [path for path in kept if b"acme_area" in path.read_bytes()]
        assert kept == []


async def test_what_a_program_wrote_is_text_on_every_panel(tmp_path: Path) -> None:
    hostile = "<img src=x onerror=alert(1)>"
    async with opened(tmp_path, public=False) as (panels, _, session):
        log = await finished(session, from_page(CODE, TESTS).task, title=hostile)
        memory = session.memory()
        made = Fix.create(
            FailureKey(signature="s", exception=hostile, message=hostile), f"x = '{hostile}'\n",
            f"y = '{hostile}'\n", "E1", hostile, "settled", None,
        )
        assert made is not None
        memory.remember(made)
        for html in (
            (await panels.runs(NEW_VISIT, ""))["runs-list"],
            (await panels.memory(NEW_VISIT, ""))["memory-list"],
            (await panels.run_act(
                {"act": "compare", "picked": [log[0].run, log[0].run]}, NEW_VISIT, ""
            ))["replayed"],
        ):
            assert "<img" not in html
            assert "&lt;img" in html


@pytest.mark.parametrize("name", ["healed", "unresolved"])
def test_what_a_program_wrote_is_text_in_every_moment_that_is_replayed(name: str) -> None:
    text = to_jsonl(recorded(name)).replace("late_fee", "<img src=x onerror=alert(1)>")
    pieces = "".join("".join(shown) for shown in replayed(moments(from_jsonl(text))))
    assert ("<img" in pieces, "&lt;img" in pieces) == (False, True)


async def test_only_what_was_measured_here_is_shown_with_its_interval(tmp_path: Path) -> None:
    async with opened(tmp_path, public=False) as (panels, _, _session):
        empty = (await panels.benchmarks())["benchmarks-list"]
        assert f"--out {tmp_path}/benchmarks/seen" in Reader(empty).text
        assert not re.search(r"\d+ of \d+", empty)
        folder = tmp_path / "benchmarks" / "seen"
        folder.mkdir(parents=True)
        figures = {"rows": 20, "plausible": 15, "correct": 9, "with_truth": 10, "any": 10,
                   "seconds_median": 1.25}
        (folder / "summary.json").write_text(json.dumps(
            {"suite": "seen.jsonl", "provider": "mock", "figures": {"all": figures},
             "version": "1a2b3c4", "cores": 2, "measured": "2026-03-04T05:06+00:00"}
        ))
        text = Reader((await panels.benchmarks())["benchmarks-list"]).text
        for fact in ("15 of 20", "53%", "89%", "9 of 10", "seen.jsonl", "1a2b3c4", "04 Mar 2026"):
            assert fact in text, fact
        (folder / "summary.json").write_text("{")
        assert "15 of 20" not in (await panels.benchmarks())["benchmarks-list"]


async def test_programs_rename_delete_and_forget_what_is_theirs(tmp_path: Path) -> None:
    async with opened(tmp_path) as (panels, panel, session):
        run = await healed(session, panel)
        endpoints = Endpoints(panels._host, panel)
        mine, theirs = ONE["visitor"], OTHER["visitor"]
        for ask in (endpoints.rename_run(run, "x", theirs), endpoints.delete_run(run, theirs),
                    endpoints.forget(["1"], theirs)):
            with pytest.raises(BadInput):
                await ask
        assert (await endpoints.remembered(theirs)) == {"fixes": [], "lessons": []}
        await endpoints.rename_run(run, "fee", mine)
        assert [one["title"] for one in await endpoints.runs(mine)] == ["fee"]
        assert await endpoints.forget(["1", "L1"], mine) == {"forgotten": 2}
        assert await endpoints.delete_run(run[:8], mine) == {"deleted": run}
        assert await endpoints.runs(mine) == []
