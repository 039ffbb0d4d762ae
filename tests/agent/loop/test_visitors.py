"""Nothing that one visitor's runs have learned reaches another's."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from agent.core.events import to_jsonl
from agent.loop.session import open_session
from agent.memory import visitors
from agent.memory.visitors import Memories
from agent.target.task import from_page
from tests.agent.runs import finished, last, settings

CANARY = "ACME_SECRET_TOKEN_42"
CODE = f"def area({CANARY}, height):\n    return {CANARY} + height\n"
TESTS = "assert area(2, 5) == 10\nassert area(1, 1) == 1\nassert area(3, 3) == 9"


@pytest.mark.nightly
async def test_a_visitors_fixes_and_lessons_are_their_own(tmp_path: Path) -> None:
    other = CODE.replace(CANARY, "width")
    async with open_session(settings(tmp_path, proof_s=0.0)) as session:
        first = await finished(session, from_page(CODE, TESTS).task, visitor="a" * 32)
        theirs = await finished(session, from_page(other, TESTS).task, visitor="b" * 32)
        owners = await finished(session, from_page(CODE, TESTS).task)
        again = await finished(session, from_page(CODE, TESTS).task, visitor="a" * 32)

    assert (last(first).strategy, last(first).proof) == ("search", "E1")
    assert last(theirs).strategy == "search"
    assert CANARY not in to_jsonl(theirs)
    assert not [one for one in theirs if one.event.kind == "recalled" and one.event.lessons]
    assert last(owners).strategy == "search"
    assert last(again).strategy == "memory"


async def test_only_the_owner_learns_the_folder(tmp_path: Path) -> None:
    place = tmp_path / "data"
    place.mkdir()
    (place / "memory.db").write_bytes(b"no database" * 100)
    async with open_session(settings(place, proof_s=0.0)) as session:
        theirs = await finished(session, from_page(CODE, TESTS).task, visitor="a" * 32)
        owners = await finished(session, from_page(CODE, TESTS).task)
    assert [str(tmp_path) in to_jsonl(log) for log in (theirs, owners)] == [False, True]


@pytest.fixture
def memories(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Memories]:
    """Memories of which two are kept, and one stays open."""
    monkeypatch.setattr(visitors, "MAX_MEMORIES", 2)
    monkeypatch.setattr(visitors, "MAX_OPEN", 1)
    memories = Memories(tmp_path)
    yield memories
    memories.close()


def files(folder: Path) -> set[str]:
    return {path.stem for path in (folder / "visitors").glob("*.db")}


def test_the_oldest_visitor_is_forgotten_first(tmp_path: Path, memories: Memories) -> None:
    kept = []
    for name in "abc":
        memories.of(name)
        kept.append(files(tmp_path))
    assert [len(one) for one in kept] == [1, 2, 2]
    assert len(kept[2] & kept[1]) == 1
    for name in "def":
        assert memories.known(name).fixes() == ()
    assert files(tmp_path) == kept[2]


@pytest.mark.nightly
def test_one_address_has_nobody_elses_memory_forgotten(
    tmp_path: Path, memories: Memories, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(visitors, "MAX_MEMORIES", 4)
    for name in ("mine", "yours", *"abcdef"):
        memories.record_address(name, "near" if len(name) == 1 else name)
        memories.of(name)
    assert files(tmp_path) > {visitors._name("mine"), visitors._name("yours")}


def test_an_unused_memory_is_forgotten(tmp_path: Path, memories: Memories) -> None:
    for name in "ab":
        memories.of(name)
    memories.close()
    old, new = sorted((tmp_path / "visitors").glob("*.db"))
    os.utime(old, (10, 10))
    later = Memories(tmp_path)
    later.forget_before(20.0)
    later.close()
    assert files(tmp_path) == {new.stem}


def test_a_memory_that_is_in_use_stays_open_however_many_come(memories: Memories) -> None:
    in_use = memories.of("a")
    for name in "bcd":
        memories.of(name)
    assert in_use.fixes() == ()
    in_use.close()
