"""A run that is deleted is gone from the disk, and what goes on from it is not harmed."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from agent.core.events import RunFailed, Waiting
from agent.log.store import RunAlreadyEnded, Store, UnknownRun
from agent.loop.fork import Edits
from agent.loop.session import open_session
from agent.memory.visitors import VisitorAddresses
from agent.target.errors import BadInput
from agent.target.task import TestText, from_page
from tests.agent.runs import finished, followed, last, settings

SECRET = "acme_secret_tariff"
CODE = f"def {SECRET}(width, height):\n    return width + height\n"
PRICE = "def price(n):\n    if n > 10:\n        return n * 2\n    return n * 3\n"
PRICED = "assert price(10) == 20\nassert price(9) == 27"
TESTS = f"assert {SECRET}(2, 5) == 10\nassert {SECRET}(1, 1) == 1"


def on_disk(folder: Path, words: str) -> list[str]:
    """The files of runs and their steps that hold these words."""
    return sorted(
        path.name for pattern in ("runs.db*", "checkpoints.db*") for path in folder.glob(pattern)
        if words.encode() in path.read_bytes()
    )


async def test_a_deleted_run_leaves_only_what_was_learned(tmp_path: Path) -> None:
    async with open_session(settings(tmp_path, proof_s=0.0)) as session:
        run = (await finished(session, from_page(CODE, TESTS).task))[0].run
        assert on_disk(tmp_path, SECRET) != []
        await session.delete(run)
        assert on_disk(tmp_path, SECRET) == []
        assert session.history().runs() == ()
        for ask in (session.log, session.task):
            with pytest.raises(UnknownRun):
                ask(run)


async def test_a_run_that_goes_on_is_ended_and_deleted(tmp_path: Path) -> None:
    async with open_session(settings(tmp_path, proof_s=0.0)) as session:
        endless = f"def {SECRET}(n):\n    return n * 7 % 3\n"
        tests = "\n".join(f"assert {SECRET}({n}) == {n ** 3 + 77}" for n in range(1, 5))
        run = await session.start(from_page(endless, tests).task)
        await session.delete(run)
        await session.pause(run)  # nobody looks at it any more
        assert (on_disk(tmp_path, SECRET), session.history().runs()) == ([], ())


@pytest.mark.nightly
async def test_nobody_begins_a_run_under_the_id_of_a_deleted_one(tmp_path: Path) -> None:
    task, open_task = from_page(CODE, TESTS).task, from_page(PRICE, PRICED).task
    async with open_session(settings(tmp_path)) as session:
        gone, run = [(await finished(session, task))[0].run for _ in range(2)]
        asks = (await finished(session, open_task))[0].run
        await session.delete(gone)
    async with open_session(settings(tmp_path)) as session:
        for begin in (
            session.start(task, run_id=gone), session.rerun_with_answer(asks, "A", run_id=gone),
            session.fork(run, 0, run_id=gone), session.repeat(run, run_id=gone),
        ):
            with pytest.raises(BadInput):
                await begin
        assert gone not in {one.id for one in session.history().runs()}


@pytest.mark.nightly
async def test_a_fork_goes_on_when_the_run_it_came_from_is_deleted(tmp_path: Path) -> None:
    async with open_session(settings(tmp_path, proof_s=0.0)) as session:
        run = (await finished(session, from_page(CODE, TESTS).task))[0].run
        further = Edits(tests=[TestText(f"assert {SECRET}(3, 3) == 9")])
        fork = await session.fork(run, 0, further)
        await session.delete(run)
        assert last(await followed(session, fork)).outcome == "healed"
        again = await session.fork(fork, 0)
        assert last(await followed(session, again)).outcome == "healed"


async def test_what_visitors_left_is_kept_as_long_as_the_settings_say(tmp_path: Path) -> None:
    other = CODE.replace(SECRET, "area"), TESTS.replace(SECRET, "area")
    async with open_session(settings(tmp_path, proof_s=0.0, keep_runs=1, keep_days=0)) as session:
        owners = (await finished(session, from_page(*other).task))[0].run
        task, theirs = from_page(CODE, TESTS).task, {"visitor": "a" * 32}
        waits = (await finished(
            session, from_page(*other).task, autonomy_level="review_repairs", **theirs
        ))[0].run
        old = (await finished(session, task, **theirs))[0].run
        new = (await finished(session, from_page(*other).task, visitor="b" * 32))[0].run
        assert session.unfinished(theirs["visitor"]) == {waits}
        assert {*await session.delete_expired()} == {old, new}
        assert on_disk(tmp_path, SECRET) == []
        assert [session.log(run)[-1].final for run in (owners, waits)] == [True, False]


async def test_a_run_that_its_visitor_deletes_meanwhile_keeps_no_other(tmp_path: Path) -> None:
    async with open_session(settings(tmp_path, proof_s=0.0, keep_runs=1, keep_days=0)) as session:
        task, theirs = from_page(CODE, TESTS).task, {"visitor": "a" * 32}
        runs = [(await finished(session, task, **theirs))[0].run for _ in range(4)]
        left = asyncio.create_task(session.delete(runs[1]))
        assert {*await session.delete_expired()} == {*runs[:3]}
        await left
        assert [one.id for one in session.history("a" * 32).runs()] == runs[3:]


def test_old_runs_of_visitors_are_deleted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = Store(tmp_path / "runs.db")
    for at, run, options, final in (
        (10.0, "old", '{"visitor": "v"}', True), (10.0, "waits", '{"visitor": "v"}', False),
        (10.0, "owners", "{}", True), (30.0, "new", '{"visitor": "v"}', True),
    ):
        monkeypatch.setattr("time.time", lambda at=at: at)
        store.add_run(run, "", "", options)
        ends = RunFailed(error="it ends") if final else Waiting(interrupt="ask", question="?")
        store.append(run, "step", 0, 0, ends)
    store.add_run("goes on", "", "", '{"visitor": "v"}')
    assert {*store.expired(20.0, 10, str)} == {"old", "waits"}
    assert {*store.expired(0.0, 1, str)} == {"old", "new"}
    assert store.expired(0.0, 10, str) == ()
    store.close()


@pytest.mark.parametrize("most, gone", [
    (10, ""), (8, "fg"), (6, "fghi"), (4, "bfghij"), (2, "bcfghijk"), (1, "bcfghijkl"),
])
def test_the_visitor_with_most_runs_makes_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, most: int, gone: str
) -> None:
    store, crowds = Store(tmp_path / "runs.db"), VisitorAddresses()
    for at, (run, visitor) in enumerate(zip("abcfghijkl", "mmmvvvwxyz", strict=True)):
        monkeypatch.setattr("time.time", lambda at=at: float(at))
        store.add_run(run, "", "", f'{{"visitor": "{visitor}"}}')
        crowds.record(visitor, "mine" if visitor == "m" else "theirs")
        ends = Waiting(interrupt="ask", question="?") if run == "a" else RunFailed(error="it ends")
        store.append(run, "step", 0, 0, ends)
    assert "".join(sorted(store.expired(0.0, most, crowds.address_of))) == gone
    store.close()


def test_a_store_deletes_runs_and_their_values(tmp_path: Path) -> None:
    store, value = Store(tmp_path / "runs.db"), from_page(CODE, TESTS).task
    for run in ("a", "b"):
        store.add_run(run, "", store.of(run).put(value), "{}")
    store.delete("a")
    key = store.run("b").task
    assert store.get(key, type(value)) == value
    store.delete("b")
    with pytest.raises(KeyError):
        store.get(key, type(value))
    store.close()

    from agent.core.events import Notice

    store = Store(tmp_path / "runs.db")
    store.add_run("a", "", "", "{}")
    store.delete("a")
    with pytest.raises(RunAlreadyEnded):
        store.append("a", "step", 0, 0, Notice(level="info", text="late"))
    store.close()
