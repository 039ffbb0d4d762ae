"""Whoever reads a run meets each thing once, wherever its process was killed and however often.

The steps, the graph, the models' wire and the store are the real ones; programs are judged by a
table, so that a run takes a moment. A kill is a `Killed` from the store or from LangGraph's saver,
just before a write or just after it; the run is then taken up as by another process.
"""

from __future__ import annotations

import json
import random
import sqlite3
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, closing, contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

from agent.core.domain import JailStatus, Report, Solution, TestCase, Verdict
from agent.core.events import (
    LogEntry,
    ModelAsked,
    ModelCalled,
    ModelFailed,
    Parent,
    Waiting,
    to_jsonl,
    without_retries,
)
from agent.iteration.strategies import Proposal
from agent.log.postgres import PostgresStore
from agent.log.store import Store
from agent.loop import run as run_module
from agent.loop.postgres_checkpoints import PostgresSaver
from agent.loop.session import Session, open_session
from agent.loop.steps import diagnose, recall, repair
from agent.propose import rewriting
from agent.report.result import fold
from agent.target.task import from_page
from tests.agent.claude import Claude, claude, fenced
from tests.agent.model_runs import HARD, HARD_TESTS, SOLVED, WRONG
from tests.llm.fakes.server import Exchange, Handler

NEARER = "def shout(words):\n    return words.upper() + '!' if words else ''\n"
EDITED = SOLVED + "# as a person would have it\n"
FAILING = {
    HARD: ("'a b'", "'x'"), WRONG: ("'a b'", "''"), NEARER: ("'a b'",), SOLVED: (), EDITED: (),
}
"""What each program answers wrongly."""
MAX_UNDER_WAY = 3
"""Calls that are made at one time, in a tournament."""
MAX_TURNS = 60
LARGEST_STATE = 4_000
"""Bytes that a step may write as its state."""


class Killed(BaseException):
    """The process is gone at this point."""


class Kills:
    """Counts writes, and kills before or after those that are named."""

    def __init__(self) -> None:
        self.writes = 0
        self.at: set[int] = set()
        """Twice the number of a write, and one more where it has been made."""
        self.received: dict[str, int] = {}
        """The newest place before an event of each kind."""

    def before(self) -> None:
        self._kill(2 * self.writes)

    def after(self) -> None:
        self.writes += 1
        self._kill(2 * self.writes - 1)

    def _kill(self, place: int) -> None:
        if place in self.at:
            self.at.remove(place)
            raise Killed


@contextmanager
def table_for_a_jail(kills: Kills) -> Iterator[None]:
    """No process is started, and every write may be a run's last."""

    async def judged(
        solution: Solution, tests: Sequence[TestCase], *_given: object, **_named: object
    ) -> Report:
        wrong = tuple(f"assert shout({one})" for one in FAILING[solution.text])
        return Report(solution=solution.id, verdicts=tuple(
            Verdict(
                name=test.name, test=test.name, origin=test.origin, integrity="isolated",
                status="failed" if test.name.startswith(wrong) and wrong else "passed",
            )
            for test in tests
        ))

    async def seen(*_given: object) -> JailStatus:
        return JailStatus(words="none")

    async def nothing(*_given: object, **_named: object) -> Proposal:
        return Proposal(None, "the search found nothing to try")

    async def unwatched(*_given: object, **_named: object) -> Any:
        return ()

    async def none_near(*_given: object) -> tuple[None, int]:
        return None, 0

    def appending(append: Callable[..., LogEntry]) -> Callable[..., LogEntry]:
        def appended(self: Store, *given: Any) -> LogEntry:
            kills.received[given[-1].kind] = 2 * kills.writes
            kills.before()
            entry = append(self, *given)
            kills.after()
            return entry

        return appended

    def keeping(put: Callable[..., Any]) -> Callable[..., Any]:
        async def kept(self: object, *given: Any) -> Any:
            kills.before()
            config = await put(self, *given)
            kills.after()
            return config

        return kept

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("agent.iteration.context.check", judged)
        patch.setattr(run_module, "jail_status", seen)
        patch.setattr(repair, "repair_by_search", nothing)
        patch.setattr(diagnose, "trace", unwatched)
        patch.setattr(diagnose, "suspicious_lines", lambda *_given: ())
        patch.setattr(rewriting, "search_if_allowed", none_near)
        patch.setattr(recall, "applicable_fixes", lambda *_given: ())
        for store in (Store, PostgresStore):
            patch.setattr(store, "append", appending(store.append))
        for saver in (AsyncSqliteSaver, PostgresSaver):
            patch.setattr(saver, "aput", keeping(saver.aput))
        yield


@asynccontextmanager
async def opened(
    folder: Path, kills: Kills, database: str = ""
) -> AsyncIterator[tuple[Session, Claude]]:
    with table_for_a_jail(kills):
        async with claude(generator=fenced(NEARER)) as model, open_session(
            model.settings(
                folder, autonomy_level="review_repairs", max_iterations=4, database_url=database,
            )
        ) as session:
            yield session, model


def by_question(model: Claude, *programs: str) -> Handler:
    """Gives a program for each question, and the same again for the same one."""
    left = [*programs]
    given: dict[str, str] = {}

    async def answer(exchange: Exchange) -> None:
        question = json.dumps(exchange.request.json, sort_keys=True)
        if question not in given:
            given[question] = left.pop(0)
        await model.answer(fenced(given[question]))(exchange)

    return answer


def approved(_waiting: Waiting) -> dict[str, object]:
    return {"approve": True}


def changed_once(waiting: Waiting) -> dict[str, object]:
    return {"approve": True} if waiting.code == EDITED else {"code": EDITED}


async def to_its_end(
    session: Session, run: str, say: Callable[[Waiting], dict[str, object]] = approved
) -> int:
    """Drives a run to its end through all kills, and answers what it asks; returns how often it
    was killed."""
    killed = 0
    for _ in range(MAX_TURNS):
        driven = session._active.get(run)
        if driven is not None:
            await driven.wait_until_idle()
        if session._store.run(run).final:
            return killed
        waiting = fold(session.log(run)).waiting
        if waiting is not None:
            with suppress(Killed):
                assert await session.answer(run, waiting.interrupt, say(waiting))
                continue
        killed += 1
        session._store.release(run)
        with suppress(Killed):
            await session.recover(run)
    raise AssertionError("the run comes to no end")


async def healed(
    session: Session, model: Claude, kills: Kills, at: set[int],
    say: Callable[[Waiting], dict[str, object]] = approved,
) -> tuple[str, int]:
    """A whole run, killed at these writes, counted from its first."""
    model.said["generator"] = by_question(model, NEARER, WRONG, WRONG, WRONG, SOLVED)
    run = f"run{len(session.history().runs(1000)):04}"
    kills.writes, kills.at = 0, set(at)
    with suppress(Killed):
        await session.start(from_page(HARD, HARD_TESTS).task, run_id=run)
    return run, await to_its_end(session, run, say)


def steps(log: Sequence[LogEntry]) -> list[str]:
    return [one.event.step for one in without_retries(log) if one.event.kind == "step_started"]


def assert_once(log: Sequence[LogEntry], place: int = -1) -> None:
    """What a reader may rely on, of any run that has ended."""
    assert [one.seq for one in log] == list(range(1, len(log) + 1))
    assert [one.event.kind for one in log if one.final] == [log[-1].event.kind] == ["run_finished"]
    assert [one.event.kind for one in log].count("run_started") == 1
    received = without_retries(log)
    begun = Counter(one.task for one in received if one.event.kind == "step_started")
    ended = Counter(one.task for one in received if one.event.kind == "step_finished")
    assert begun == ended and set(begun.values()) == {1}
    assert len({(one.task, one.attempt, one.ordinal) for one in log}) == len(log)
    asked = [one.event.call for one in log if isinstance(one.event, ModelAsked)]
    calls = [one.event for one in log if isinstance(one.event, ModelCalled | ModelFailed)]
    assert sorted(asked) == sorted(call.call for call in calls) == sorted(set(asked)), place
    assert fold(log).tokens == sum(call.tokens for call in calls)
    talk = [one.event.kind for one in log if one.event.kind in ("waiting", "answered")]
    assert "answered answered" not in " ".join(talk) and talk[:1] in ([], ["waiting"])


def sent(log: Sequence[LogEntry]) -> list[Any]:
    """Calls that were answered by the server itself."""
    return [one.event for one in log if isinstance(one.event, ModelCalled) and not one.event.cached]


def lost(log: Sequence[LogEntry]) -> int:
    return sum(isinstance(one.event, ModelFailed) for one in log)


@pytest.fixture(params=["files", "database"])
def where(request: pytest.FixtureRequest) -> str:
    """The address of a database; empty where runs are in files."""
    return request.getfixturevalue("database") if request.param == "database" else ""


async def test_a_step_writes_little_state(tmp_path: Path) -> None:
    kills = Kills()
    async with opened(tmp_path, kills) as (session, model):
        await healed(session, model, kills, set())
    with closing(sqlite3.connect(tmp_path / "checkpoints.db")) as kept:
        sizes = [size for (size,) in kept.execute("select length(checkpoint) from checkpoints")]
    assert len(sizes) > 20
    assert max(sizes) < LARGEST_STATE


@pytest.mark.nightly
async def test_a_reader_sees_each_event_once_after_a_kill(
    tmp_path: Path, where: str, whole: bool
) -> None:
    kills = Kills()
    async with opened(tmp_path, kills, where) as (session, model):
        run, _ = await healed(session, model, kills, set())
        plain = session.log(run)
        assert_once(plain)
        assert (fold(plain).outcome, fold(plain).strategy) == ("healed", "model")
        assert {"attempt", "critique", "learn"} <= set(steps(plain))
        places = range(2 * kills.writes)
        for place in places if whole else places[:: max(1, len(places) // 6)]:
            model.asked.clear()
            run, killed = await healed(session, model, kills, {place})
            log = session.log(run)
            assert_once(log, place)
            assert (fold(log).outcome, fold(log).code) == ("healed", SOLVED), place
            assert Counter(steps(log)) == Counter(steps(plain)), place
            # What came is not bought again; what was under way, at most once more.
            assert len(sent(log)) == len(sent(plain)), place
            assert len(sent(log)) <= len(model.asked) <= len(sent(log)) + lost(log), place
            assert lost(log) <= MAX_UNDER_WAY * killed, place


@pytest.mark.nightly
async def test_a_persons_change_is_logged_once(tmp_path: Path) -> None:
    def received(log: Sequence[LogEntry]) -> list[str]:
        kinds = [one.event.kind for one in without_retries(log)]
        return [one for one in kinds if one in ("code_written", "patch_proposed")]

    kills = Kills()
    async with opened(tmp_path, kills) as (session, model):
        run, _ = await healed(session, model, kills, set(), changed_once)
        plain = received(session.log(run))
        written, proposed = kills.received["code_written"], kills.received["patch_proposed"]
        assert proposed == written + 2
        for place in range(written, proposed + 4):
            run, _ = await healed(session, model, kills, {place}, changed_once)
            log = session.log(run)
            assert_once(log, place)
            assert (fold(log).outcome, fold(log).code) == ("healed", EDITED), place
            assert received(log) == plain, place


async def test_many_kills_change_neither_messages_nor_parent(
    tmp_path: Path, where: str, whole: bool
) -> None:
    chance = random.Random(7)
    kills = Kills()
    async with opened(tmp_path, kills, where) as (session, model):
        for _ in range(40 if whole else 2):
            run, _ = await healed(session, model, kills, {chance.randrange(240) for _ in range(4)})
            assert_once(session.log(run))
            parent = to_jsonl(session.log(run))

            model.said["generator"] = by_question(model, WRONG, SOLVED, *[SOLVED] * 9)
            kills.writes, kills.at = 0, {chance.randrange(120) for _ in range(4)}
            fork = f"{run}-fork"
            with suppress(Killed):
                await session.fork(run, 2, run_id=fork)
            await to_its_end(session, fork)
            log = session.log(fork)

            assert_once(log)
            assert (fold(log).outcome, fold(log).code) == ("healed", SOLVED)
            assert fold(log).parent == Parent(run=run, iteration=2)
            assert to_jsonl(session.log(run)) == parent
