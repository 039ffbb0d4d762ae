"""Owners take turns where places are scarce; no order of events depends on time."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from dataclasses import replace

import pytest

from sandbox import Job, OwnedSandbox
from sandbox.contract import ECHO
from sandbox.jail import JailSandbox, forkserver
from sandbox.jail.fair_queue import NEWCOMER_SLOTS, SHORT_JOB_SLOTS, FairQueue, SlotRequest


class Queue:
    """FairQueue with names in place of waiting jobs."""

    def __init__(self, **running: int) -> None:
        self.turns = FairQueue()
        self.told: dict[str, asyncio.Future[None]] = {}
        places = iter(range(100))
        for owner, count in running.items():
            for _ in range(count):
                self.turns.take(next(places), owner)

    def wait(self, name: str, asking: SlotRequest) -> None:
        self.told[name] = asyncio.get_running_loop().create_future()
        self.turns.wait(asking, self.told[name])

    def next(self, free: int) -> list[str]:
        """Who was told, at this turn, to look again."""
        before = {name for name, told in self.told.items() if told.done()}
        self.turns.next(free)
        return [name for name, told in self.told.items() if told.done() and name not in before]


async def test_places_go_to_those_with_the_fewest() -> None:
    queue = Queue(greedy=9, modest=2)
    for number in range(50):
        queue.wait(f"greedy {number}", SlotRequest("greedy"))
    queue.wait("modest", SlotRequest("modest"))
    queue.wait("new", SlotRequest("new"))

    assert [queue.next(4) for _ in range(3)] == [["new"], ["modest"], ["greedy 0"]]

    queue = Queue(one=3, other=3)
    queue.wait("other", SlotRequest("other"))
    queue.wait("one", SlotRequest("one"))

    assert [queue.next(4), queue.next(4), queue.next(4)] == [["other"], ["one"], []]

    queue = Queue(a=1)
    queue.wait("b", SlotRequest("b"))
    queue.wait("a", SlotRequest("a"))
    queue.turns.take(99, "b")
    queue.turns.give_back(0)

    assert queue.next(4) == ["a"]


async def test_some_places_are_kept_for_newcomers_and_short_jobs() -> None:
    queue = Queue(greedy=22)
    queue.wait("greedy", SlotRequest("greedy"))
    queue.wait("new", SlotRequest("new"))

    assert not queue.turns.may_take(SlotRequest("greedy"), NEWCOMER_SLOTS)
    assert queue.next(1) == ["new"]
    assert queue.next(NEWCOMER_SLOTS) == []
    assert queue.next(NEWCOMER_SLOTS + 1) == ["greedy"]

    queue = Queue()
    queue.wait("search", SlotRequest("a", is_long=True))

    assert queue.next(SHORT_JOB_SLOTS) == []
    assert queue.turns.may_take(SlotRequest("a"), SHORT_JOB_SLOTS)
    assert queue.next(SHORT_JOB_SLOTS + 1) == ["search"]


async def test_who_was_called_off_is_passed_over() -> None:
    queue = Queue()
    queue.wait("first", SlotRequest("a"))
    queue.wait("second", SlotRequest("b"))
    queue.told["first"].cancel()

    assert queue.next(4) == ["second"]
    assert len(queue.turns) == 0


async def test_an_honest_run_waits_for_none_of_another_s_endless_jobs(
    strongest: JailSandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(forkserver, "_READY", 0)
    endless = Job("jail.receive()", seed=101)  # a fork server of its own
    greedy, honest = OwnedSandbox(strongest, "greedy"), OwnedSandbox(strongest, "honest")
    async with AsyncExitStack() as stack:
        for _ in range(forkserver.SLOTS - NEWCOMER_SLOTS):
            await stack.enter_async_context(greedy.start(endless))
        waiting = [asyncio.create_task(greedy.run(endless)) for _ in range(28)]

        outcome = await honest.run(Job("print('served')", seed=101))

        assert outcome.stdout == "served\n"
        assert not any(task.done() for task in waiting)
        for task in waiting:
            task.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)


async def test_a_brief_batch_gets_a_place_where_all_that_last_are_taken(
    strongest: JailSandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(forkserver, "_READY", 0)
    lasting = Job(ECHO, owner="search", seed=102)  # a fork server of its own
    async with AsyncExitStack() as stack:

        async def replied(job: Job) -> list[object]:
            batch = await stack.enter_async_context(strongest.batch(job))
            return [reply async for _, reply in batch.replies([1], item_wall_s=5)]

        for _ in range(forkserver.SLOTS - SHORT_JOB_SLOTS):
            assert await replied(lasting) == [1]
        waiting = asyncio.create_task(replied(lasting))

        assert await replied(replace(lasting, brief=True)) == [1]
        assert not waiting.done()
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)
