"""The memory in whole runs, with the real sandbox, judge and search."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from agent.core.domain import File, Solution
from agent.interfaces.terminal.display import status_line
from agent.loop.session import Session, open_session
from agent.report.result import fold
from agent.report.words import event_lines
from agent.target.task import from_page
from demo.views.bench import workbench
from tests.agent.memory.conftest import Change
from tests.agent.runs import Log, finished, last, of_kind, settings
from tests.demo.test_render import Reader

BROKEN = "def area(width, height):\n    # the sides of a rectangle\n    return width + height\n"
TESTS = "assert area(2, 5) == 10\nassert area(1, 1) == 1\nassert area(3, 0) == 0"
BEFORE = (BROKEN, TESTS)
LIKE = '''\
"""Prices."""


def price( width,height ):   # in cents
    return  width + height  # copied


def label(text):
    return 'price: ' + text
'''
LIKE_TESTS = "assert price(4, 25) == 100\nassert price(0, 9) == 0"


async def healed(session: Session, code: str, tests: str) -> Log:
    return await finished(session, from_page(code, tests, "").task)


async def test_a_second_run_heals_from_memory(remembering: Session, change: Change) -> None:
    session, first = remembering, last(remembering.log("first"))
    again = await healed(session, BROKEN, TESTS)
    end = last(again)
    assert (end.outcome, end.strategy, end.proof, end.candidates) == ("healed", "memory", "E1", 0)
    assert end.code == first.code
    assert "$0.00" in status_line(fold(again)).plain and "$0.00" in workbench(fold(again))
    # Its note does not grow from recall to recall, and the proof of a hit is the run's own.
    change("update fixes set proof_after = 'E4'")
    third = fold(await healed(session, BROKEN, TESTS))
    assert third.edit == end.edit
    assert third.proof == "E1" and "E4" in third.proof_why


async def test_a_program_with_a_copy_of_the_line_gets_only_the_edit(remembering: Session) -> None:
    session = remembering
    end = last(await healed(session, LIKE, LIKE_TESTS))
    assert (end.strategy, end.proof, end.candidates) == ("memory", "E1", 0)
    assert end.code == LIKE.replace("return  width + height", "return width * height")
    assert len(session.memory().fixes()) == 2  # the edit, and what it was made into here
    again = last(await healed(session, LIKE, LIKE_TESTS))
    assert (again.code, len(session.memory().fixes())) == (end.code, 2)
    assert end.edit not in again.edit


@pytest.mark.parametrize("after", [
    "'from operator import mul as area\n'", "'def area(w, h):\n    return 10\n'",
    "replace(before, 'width + height', '10')",
], ids=["another program", "an answer", "the answer written into it"])
@pytest.mark.nightly
async def test_a_poisoned_fix_is_refused(session: Session, change: Change, after: str) -> None:
    tests = "assert area(2, 5) == 10"
    first = last(await healed(session, BROKEN, tests))
    change(f"update fixes set after = {after}")
    again = await healed(session, BROKEN, tests)
    assert (last(again).strategy, last(again).code) == ("search", first.code)
    assert not any(event.replayed for event in of_kind(again, "recalled"))
    assert {one.failures for one in session.memory().fixes()} == {0}  # it is no failed replay


@pytest.mark.nightly
async def test_a_failed_replay_demotes_the_fix(remembering: Session, change: Change) -> None:
    session, first = remembering, last(remembering.log("first"))
    change("update fixes set after = replace(before, '+', '-')")
    again = await healed(session, BROKEN, TESTS)
    assert (last(again).strategy, last(again).code) == ("search", first.code)
    assert {one.failures for one in session.memory().fixes()} == {0, 1}
    third = await healed(session, BROKEN, TESTS)
    assert (last(third).strategy, of_kind(third, "recalled")[0].replayed) == ("memory", True)
    # A row that makes no sense is told, and not used.
    change("update fixes set proof_after = 'certain'")
    spoilt = await healed(session, BROKEN, TESTS)
    (notice,) = of_kind(spoilt, "notice")
    assert (last(spoilt).strategy, "1" in notice.text) == ("search", True)


@pytest.mark.nightly
async def test_the_search_goes_on_where_more_proof_is_required(session: Session) -> None:
    tests = TESTS + "\nassert area(4, 3) == 12"
    task = from_page(BROKEN, tests, "").task
    await finished(session, task)
    found = last(await finished(session, task, require_proof="E2"))
    assert found.strategy == "search" and found.proof >= "E2"
    assert last(await finished(session, task)).strategy == "memory"


async def test_a_crash_without_a_test_takes_nothing_from_memory(session: Session) -> None:
    crash = "def last(items):\n    return items[len(items)]\n\n\nprint(last([1, 2, 3]))\n"
    log = await healed(session, crash, "")
    assert [event.hit for event in of_kind(log, "recalled")] == [False]


@pytest.mark.nightly
async def test_lessons_of_earlier_failures_are_shown_with_the_diagnosis(session: Session) -> None:
    first = "def last(items):\n    return items[len(items)]\n"
    await healed(session, first, "assert last([1, 2, 3]) == 3\nassert last([7]) == 7")
    other = "def third(row):\n    row = sorted(row)\n    return row[4 - 1]\n"
    log = await healed(session, other, "assert third([1, 2, 3]) == 3\nassert third([9, 7, 8]) == 9")
    (reminder,) = [event for event in of_kind(log, "recalled") if event.lessons]
    assert "index" in reminder.lessons[0].lower()
    assert any(reminder.lessons[0] in one.text for one in event_lines(reminder))
    assert reminder.lessons[0].replace("`", "") in Reader(workbench(fold(log))).text


async def test_a_broken_file_does_not_end_the_run(tmp_path: Path) -> None:
    (tmp_path / "memory.db").write_bytes(b"no database" * 999)
    async with open_session(settings(tmp_path)) as session:
        first = await healed(session, BROKEN, TESTS)
        second = await healed(session, BROKEN, TESTS)
    (notice,) = of_kind(first, "notice")
    assert "memory.db.broken" in notice.text
    assert (last(first).outcome, last(second).strategy) == ("healed", "memory")
    assert of_kind(second, "notice") == []


async def test_a_memory_that_fails_in_the_middle_does_not_stop_the_run(tmp_path: Path) -> None:
    async with open_session(settings(tmp_path)) as session:
        with sqlite3.connect(tmp_path / "memory.db") as meddling:
            meddling.execute("drop table fixes")
        meddling.close()
        log = await healed(session, BROKEN, TESTS)
    assert last(log).outcome == "healed"
    assert [event.level for event in of_kind(log, "notice")] == ["warning", "warning"]


async def test_a_memory_that_can_only_be_read_still_heals(remembering: Session) -> None:
    remembering._shared.memories.owner._db.execute("pragma query_only = 1")
    again = await healed(remembering, BROKEN, TESTS)
    (notice,) = of_kind(again, "notice")
    assert "readonly" in notice.text
    assert last(again).strategy == "memory"


@pytest.mark.nightly
async def test_the_same_program_in_another_file_is_recognised(session: Session) -> None:
    test = "import NAME\n\n\ndef test_area():\n    assert NAME.area(2, 5) == 10\n"
    for name in ("sides", "rectangle"):
        task = from_page(BROKEN, test.replace("NAME", name), "").task
        own = Solution(files=(File(path=f"{name}.py", text=BROKEN),), entry=f"{name}.py")
        task = task.model_copy(update={"solution": own})
        end = last(await finished(session, task))
    assert (end.strategy, len(session.memory().fixes())) == ("memory", 1)
