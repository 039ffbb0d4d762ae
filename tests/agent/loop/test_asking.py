"""Runs that ask which behaviour is right, in the real jail, and what an answer leads to."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from agent import SelfHealingAgent
from agent.core.domain import CompetingPatches, Evidence, Task
from agent.core.events import Waiting
from agent.interfaces.library import UnusableAnswer
from agent.loop.session import Session, UnknownRun, open_session
from agent.proof import proving
from agent.report.result import Result, document, fold
from agent.target.task import from_page
from tests.agent import runs
from tests.agent.runs import settings

PRICE = "def price(n):\n    if n > 10:\n        return n * 2\n    return n * 3\n"
TESTS = "assert price(10) == 20\nassert price(9) == 27\nassert price(1) == 3"
FOUR_TESTS = TESTS + "\nassert price(0) == 0"


def task(tests: str = TESTS) -> Task:
    return from_page(PRICE, tests, "").task


async def followed(session: Session, run: str, after: int = 0) -> Result:
    await runs.followed(session, run, after)
    return fold(session.log(run))


async def asked(session: Session, *answers: str, tests: str = TESTS) -> Result:
    """A run whose questions get these answers, one after another."""
    run = await session.start(task(tests), ask=True)
    result = await followed(session, run)
    for answer in answers:
        assert result.waiting is not None and result.waiting.competing is not None
        seen = session.log(run)[-1].seq
        assert await session.answer(run, result.waiting.interrupt, {"answer": answer})
        result = await followed(session, run, seen)
    return result


@pytest.mark.proven
@pytest.mark.nightly
async def test_unattended_runs_take_the_likeliest_and_can_be_settled(session: Session) -> None:
    result = await followed(session, await session.start(task(FOUR_TESTS), ask=False))
    assert (result.outcome, result.strategy, result.proof) == ("healed", "search", "E1")
    assert "n >= 10" in result.code and result.evidence is not None
    assert result.competing is not None and result.competing.call == "price(11)"
    assert result.evidence.competing_patches == 1
    assert [(one.label, one.gives) for one in result.competing.behaviours] == [
        ("A", "22"), ("B", "33")
    ]
    healed = await followed(
        session, await session.rerun_with_answer(result.run_id, "B", run_id="again")
    )
    assert (healed.run_id, healed.outcome, "n == 10" in healed.code) == ("again", "healed", True)


async def test_a_run_waits_with_the_question_and_the_answer_decides(session: Session) -> None:
    result = await asked(session, "B")
    (waiting,) = [one.event for one in session.log(result.run_id) if isinstance(one.event, Waiting)]
    assert all(fact in waiting.question for fact in ("price(11)", "22", "33"))
    assert (result.outcome, "n == 10" in result.code, result.competing) == ("healed", True, None)
    assert ("price(11) == 33", "user") in [(test.name, test.origin) for test in result.tests]
    assert result.report is not None
    assert "price(11) == 33" in [verdict.name for verdict in result.report.verdicts]


@pytest.mark.sampled(1)
@pytest.mark.parametrize("answer", ["a", "skip", "Q"])
async def test_an_answer_that_fits_closes_the_question(session: Session, answer: str) -> None:
    result = await asked(session, answer)
    assert (result.outcome, "n >= 10" in result.code) == ("healed", True)
    assert (result.competing is None) == (answer == "a")
    assert any("'Q'" in notice.text for notice in result.notices) == (answer == "Q")


async def test_a_value_that_no_behaviour_gives_leaves_no_repair(session: Session) -> None:
    run = await session.start(task(), ask=True, max_iterations=1)
    waiting = (await followed(session, run)).waiting
    assert waiting is not None
    await session.answer(run, waiting.interrupt, {"answer": "44"})
    log = (await followed(session, run, session.log(run)[-1].seq), session.log(run))[1]
    judged = [entry.event.report for entry in log if entry.event.kind == "judged"]
    assert fold(log).outcome == "unresolved"
    assert [verdict.name for verdict in judged[-1].failing] == ["price(11) == 44"]


MEDIAN = """def median(values):
    ordered = sorted(values)
    middle = len(ordered) // 2
    if len(ordered) % 2 == 0:
        return (ordered[middle] + ordered[middle + 1]) / 2
    return ordered[middle]
"""
MEDIAN_TESTS = (
    "assert median([3, 1, 2]) == 2\nassert median([1, 2, 3, 4]) == 2.5\nassert median([7]) == 7"
)


async def test_a_value_that_no_patch_gives_is_a_test_and_no_choice(session: Session) -> None:
    median = from_page(MEDIAN, MEDIAN_TESTS, "").task
    run = await session.start(median, ask=True, require_confidence=0.9)
    result = await followed(session, run)
    for answer in ("A", "2.5"):
        assert result.waiting is not None
        seen = session.log(run)[-1].seq
        await session.answer(run, result.waiting.interrupt, {"answer": answer})
        result = await followed(session, run, seen)
    assert "median([0, 1, 2, 3, 4]) == 2.5" in [test.name for test in result.tests]
    assert (result.outcome, result.strategy) == ("proposed", "search")
    # A run without this test does not get the patch from memory.
    again = await followed(session, await session.start(median))
    assert (again.strategy, again.diff == result.diff) == ("search", False)


@pytest.mark.proven
async def test_with_the_question_answered_a_repair_is_proven_further(session: Session) -> None:
    result = await asked(session, "A", tests=FOUR_TESTS)
    assert result.proof in ("E3", "E4") and result.evidence is not None
    evidence = document(result)["evidence"]
    assert isinstance(evidence, dict)
    assert (evidence["probes"] >= 100, evidence["others"]) == (True, 0)


async def test_only_an_open_question_can_be_settled(session: Session) -> None:
    run = await session.start(task("assert price(11) == 22"))
    await followed(session, run)
    with pytest.raises(ValueError):
        await session.rerun_with_answer(run, "A")
    with pytest.raises(UnknownRun):
        await session.rerun_with_answer("unknown", "A")
    open_ended = await followed(session, await session.start(task()))
    with pytest.raises(ValueError):
        await session.rerun_with_answer(open_ended.run_id, "skip")


async def test_a_held_out_test_that_was_consulted_proves_no_more(session: Session) -> None:
    """The likeliest repair fails the last test, which then is shown."""
    tests = (
        "assert price(9) == 27\nassert price(1) == 3\nassert price(10) == 20\n"
        "assert price(30) == 90"
    )
    result = await followed(session, await session.start(task(tests)))
    assert (result.outcome, result.iterations, result.proof) == ("healed", 2, "E1")


@pytest.mark.parametrize("proof_s", [0.0, 0.05])
async def test_without_time_competing_patches_keep_e1(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, proof_s: float
) -> None:
    async def endless(*_: object) -> Evidence:
        await asyncio.sleep(60)
        raise AssertionError("unreachable")

    monkeypatch.setattr(proving, "_probe", endless)
    async with open_session(settings(tmp_path, proof_s=proof_s)) as session:
        result = await followed(session, await session.start(task(FOUR_TESTS)))
    assert (result.outcome, result.proof) == ("healed", "E1")
    assert (result.evidence is not None and bool(result.evidence.inconclusive)) is (proof_s > 0)


@pytest.mark.nightly
async def test_an_answer_leaves_doctests_that_stood_alone_what_they_were(session: Session) -> None:
    examples = ">>> price(10)\n    20\n    >>> price(9)\n    27\n    >>> price(1)\n    3\n"
    program = PRICE.replace(":\n", f':\n    """{examples}    """\n', 1)
    run = await session.start(from_page(program, "", "").task, ask=False)
    assert (await followed(session, run)).competing is not None
    healed = await followed(session, await session.rerun_with_answer(run, "B", run_id="again"))
    assert ("n == 10" in healed.code, healed.outcome) == (True, "healed")


@pytest.mark.nightly
def test_the_library_asks_a_function(tmp_path: Path) -> None:
    seen: list[CompetingPatches] = []

    def right(rivals: CompetingPatches) -> str:
        seen.append(rivals)
        return "B"

    agent = SelfHealingAgent("mock", data_dir=tmp_path)
    result = agent.run(code=PRICE, tests=TESTS, ask=right)
    assert [rivals.call for rivals in seen] == ["price(11)"]
    assert ("n == 10" in result.code, result["rivals"]) == (True, None)
    unasked = SelfHealingAgent("mock", data_dir=tmp_path / "other").run(code=PRICE, tests=TESTS)
    assert unasked.competing is not None


@pytest.mark.sampled(1)
@pytest.mark.parametrize("answer", ["Q", "", 33])
def test_an_answer_that_raises_loses_nothing(tmp_path: Path, answer: str) -> None:
    agent = SelfHealingAgent("mock", data_dir=tmp_path)
    with pytest.raises(UnusableAnswer, match=f"'{answer}'") as raised:
        agent.run(code=PRICE, tests=TESTS, ask=lambda rivals: answer)
    result = raised.value.result
    assert (result.success, result.competing is not None) == (True, True)
