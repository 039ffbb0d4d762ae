"""A remembered fix does not silence the question that was open when it was learned."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent.core.events import Searched
from agent.iteration.remembered_fix import OTHERS_PASSED, OTHERS_PASSED_BEFORE
from agent.loop.session import Session, open_session
from agent.memory import Memory
from agent.report.result import Result, fold
from agent.target.task import from_page
from tests.agent import runs
from tests.agent.loop.test_asking import FOUR_TESTS, PRICE, TESTS, followed
from tests.agent.memory.conftest import Change

BEFORE = (PRICE, TESTS)


async def healed(
    session: Session, *, code: str = PRICE, tests: str = TESTS, ask: bool = False
) -> Result:
    return await followed(session, await session.start(from_page(code, tests, "").task, ask=ask))


async def answered(session: Session, waiting: Result, answer: str) -> Result:
    assert waiting.waiting is not None
    seen = session.log(waiting.run_id)[-1].seq
    await session.answer(waiting.run_id, waiting.waiting.interrupt, {"answer": answer})
    return await followed(session, waiting.run_id, seen)


def searched(session: Session, result: Result) -> bool:
    return any(isinstance(entry.event, Searched) for entry in session.log(result.run_id))


def offered(result: Result) -> list[tuple[str, str]]:
    assert result.competing is not None
    return [(one.label, one.gives) for one in result.competing.behaviours]


async def test_an_ambiguous_fix_heals_unattended_with_a_remark(remembering: Session) -> None:
    session, first = remembering, fold(remembering.log("first"))
    again = await healed(session)
    assert (again.strategy, again.proof, again.code) == ("memory", "E1", first.code)
    assert OTHERS_PASSED in again.proof_why and offered(again) == [("A", "22"), ("B", "33")]
    assert again.competing is not None and first.competing is not None
    listed = {one.id: (one.proof, one.fitting_repairs) for one in session.history().runs()}
    assert listed == dict.fromkeys((first.run_id, again.run_id), ("E1", first.fitting_repairs))
    assert first.fitting_repairs == again.fitting_repairs == 2
    assert again.competing.call == first.competing.call
    assert [one.diff for one in again.competing.behaviours] == [
        one.diff for one in first.competing.behaviours
    ]


@pytest.mark.nightly
async def test_a_person_is_asked_until_the_question_is_answered(remembering: Session) -> None:
    session = remembering
    waiting = await healed(session, ask=True)
    assert waiting.waiting is not None and searched(session, waiting)
    for fact in ("price(11)", "22", "33"):
        assert fact in waiting.waiting.question
    await answered(session, waiting, "skip")
    assert OTHERS_PASSED in (await healed(session)).proof_why
    chosen = await answered(session, await healed(session, ask=True), "B")
    assert "n == 10" in chosen.code
    for ask in (True, False):
        again = await healed(session, ask=ask)
        assert (again.strategy, again.competing, again.waiting) == ("memory", None, None)
        assert ("n == 10" in again.code, OTHERS_PASSED in again.reason) == (True, False)


@pytest.mark.parametrize(("answer", "edit"), [("A", "n >= 10"), ("B", "n == 10")])
@pytest.mark.nightly
async def test_a_late_answer_is_remembered(remembering: Session, answer: str, edit: str) -> None:
    session = remembering
    left_open = await healed(session)
    settled = await followed(session, await session.rerun_with_answer(left_open.run_id, answer))
    assert (settled.outcome, settled.strategy, settled.competing) == ("healed", "search", None)
    again = await healed(session)
    assert (again.strategy, edit in again.code, again.competing) == ("memory", True, None)


@pytest.mark.nightly
async def test_the_question_is_repeated_under_other_tests(remembering: Session) -> None:
    session, first = remembering, fold(remembering.log("first"))
    fewer = await healed(session, tests="assert price(10) == 20")
    again = await healed(session, tests="assert price(10) == 20")
    assert [one.strategy for one in (first, fewer, again)] == ["search", "memory", "memory"]
    assert OTHERS_PASSED_BEFORE in fewer.proof_why
    assert offered(fewer) == offered(again) == [("A", "22"), ("B", "33")]
    assert OTHERS_PASSED in again.proof_why
    assert (await healed(session, tests="assert price(10) == 20", ask=True)).waiting is not None


async def test_tests_that_refute_the_others_leave_no_question(remembering: Session) -> None:
    for _ in range(2):
        more = await healed(remembering, tests=TESTS + "\nassert price(11) == 22")
        assert (more.strategy, more.competing) == ("memory", None)
        assert OTHERS_PASSED not in more.proof_why + more.reason


async def test_a_fix_learned_with_other_tests_does_not_end_the_search(
    remembering: Session,
) -> None:
    task = from_page(PRICE, "assert price(10) == 20", "").task
    again = await followed(remembering, await remembering.start(task, require_confidence=0.9))
    assert (again.outcome, again.strategy) == ("proposed", "search")


async def test_an_answer_that_no_patch_gives_belongs_to_the_failure(remembering: Session) -> None:
    left_open = await healed(remembering)
    run = await remembering.rerun_with_answer(left_open.run_id, "44", run_id="again")
    assert remembering._run(run).options.answered == ()


async def test_a_fix_that_won_by_the_held_out_test_skips_the_search(session: Session) -> None:
    code = "def area(w, h):\n    return w + h\n"
    tests = "\n".join(f"assert area{a, b} == {a * b}" for a, b in ((2, 5), (1, 1), (3, 0), (7, 9)))
    first = await healed(session, code=code, tests=tests, ask=True)
    again = await healed(session, code=code, tests=tests, ask=True)
    assert (first.strategy, again.strategy, searched(session, again)) == ("search", "memory", False)


@pytest.mark.nightly
async def test_an_edit_from_another_program_still_asks_a_person(session: Session) -> None:
    await answered(session, await healed(session, ask=True), "A")
    like = PRICE.replace("price", "cost").replace("* 3", "* 4")
    tests = "assert cost(10) == 20\nassert cost(9) == 36"
    assert (await healed(session, code=like, tests=tests, ask=True)).waiting is not None


@pytest.mark.nightly
async def test_a_remembered_fix_is_used_without_finds(session: Session, tmp_path: Path) -> None:
    first = await healed(session, tests=FOUR_TESTS)
    async with open_session(runs.settings(tmp_path, max_candidates=1)) as hasty:
        again = await healed(hasty, tests=FOUR_TESTS, ask=True)
        assert searched(hasty, again)
    assert (again.outcome, again.strategy, again.code) == ("healed", "memory", first.code)
    assert (again.proof, OTHERS_PASSED in again.proof_why) == ("E1", True)
    assert "held-out" in {test.origin for test in first.tests}
    assert again.report is not None
    assert {verdict.origin for verdict in again.report.trusted} == {"user"}


async def test_the_others_are_edits_of_the_program_as_it_is_now(remembering: Session) -> None:
    noted = "# the shop\n" + PRICE.replace("n > 10", "n  >  10  # many")
    again = await healed(remembering, code=noted)
    assert offered(again) == [("A", "22"), ("B", "33")]
    assert again.competing is not None
    assert all("# many" in one.solution.text for one in again.competing.behaviours)


@pytest.mark.parametrize(("statement", "fitting"), [
    ("update fixes set rivals = replace(rivals, 'n == 10', 'n == 99')", 1),
    ("update fixes set rivals = ''", 2),
])
async def test_a_failing_patch_is_no_competing_one(
    remembering: Session, change: Change, statement: str, fitting: int
) -> None:
    change(statement)
    again = await healed(remembering)
    assert (again.strategy, again.competing, again.fitting_repairs) == ("memory", None, fitting)
    assert OTHERS_PASSED in again.proof_why


async def test_a_question_that_makes_no_sense_is_a_row_that_makes_none(
    remembering: Session, tmp_path: Path, change: Change
) -> None:
    change("update fixes set rivals = '{}'")
    assert (await healed(remembering)).strategy == "search"
    memory = Memory(tmp_path / "memory.db")
    (known,) = memory.fixes()
    assert (known.fix.competition, memory.skipped) == ("open", 0)
    memory.close()
