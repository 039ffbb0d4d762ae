"""A fork starts with what another run had in an iteration; its parent stays as it is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from agent import AgentConfig, SelfHealingAgent
from agent.core.events import to_jsonl
from agent.core.settings import Settings
from agent.log.store import UnknownRun
from agent.loop.fork import BadFork, Edits
from agent.loop.session import Session, open_session
from agent.report.iterations import UnknownIteration, iterations, run_comparison
from agent.target.errors import BadInput
from agent.target.task import TestText, from_page
from tests.agent.claude import Claude, claude, fenced
from tests.agent.model_runs import HARD, HARD_TESTS, SOLVED, WRONG, events, followed
from tests.agent.runs import finished, last, of_kind, settings

NEARER = "def shout(words):\n    return words.upper() + '!' if words else ''\n"
FOUR = HARD_TESTS + "assert shout('q r') == 'Q! R!'\n"
AREA = "def area(width, height):\n    return width + height\n"
AREA_TESTS = "assert area(2, 5) == 10\nassert area(1, 1) == 1\nassert area(3, 0) == 0"


async def stuck(model: Claude, session: Any, **given: Any) -> str:
    """A run whose model comes nearer once, and ends unresolved."""
    model.said["generator"] = [fenced(NEARER), fenced(WRONG)]
    run: str = await session.start(from_page(HARD, FOUR).task, title="shout.py", **given)
    assert (await followed(session, run)).outcome == "unresolved"
    return run


async def test_a_fork_continues_from_a_program_of_its_unchanged_parent(tmp_path: Path) -> None:
    async with claude() as model, open_session(
        model.settings(tmp_path, max_iterations=3)
    ) as session:
        run = await stuck(model, session)
        before = to_jsonl(session.log(run))
        nearer = next(one for one in iterations(session.log(run)) if one.iteration == 2)
        model.said["generator"] = fenced(SOLVED)
        model.asked.clear()

        fork = await session.fork(run, 2)
        result = await followed(session, fork)

        log = session.log(fork)
        assert (result.outcome, result.code) == ("healed", SOLVED)
        assert to_jsonl(session.log(run)) == before
        assert result.start is not None and result.start.parent is not None
        assert (result.start.parent.run, result.start.parent.iteration) == (run, 2)
        # It begins where the parent stood, and its diff is still of the user's program.
        first, second, *_ = iterations(log)
        assert (first.solution.text, second.solution) == (HARD, nearer.solution)
        assert "-    return words\n" in result.diff
        # Who reviewed and derived tests is not asked for the same suite again, nor is it paid.
        assert "spec_tester" not in model.asked and "qa_adversary" not in model.asked
        assert result.calls == len(model.asked)
        told = run_comparison(session.log(run), log)
        assert told.related and told.diff.endswith(SOLVED.splitlines()[-1] + "\n")


async def test_what_was_held_out_stays_so_until_the_tests_are_edited(tmp_path: Path) -> None:
    async with claude() as model, open_session(
        model.settings(tmp_path, max_iterations=3)
    ) as session:
        run = await stuck(model, session)
        model.said["generator"] = fenced(SOLVED)

        same = await followed(session, await session.fork(run, 0))
        written = await followed(session, await session.fork(run, 0, Edits(code={"": SOLVED})))
        more = await followed(session, await session.fork(
            run, 0, Edits(tests=[TestText("assert shout('m') == 'M!'")])
        ))

    def held(result: Any) -> list[str]:
        return [one.name for one in result.tests if one.origin == "held-out"]

    assert len(held(same)) == 1
    # Nothing was held out from a program that a person has written anew.
    assert (written.outcome, written.proof) == ("healthy", "E1"), written.proof_why
    assert (held(more), more.proof, len(more.tests)) == ([], "E1", len(same.tests) + 1)


async def test_a_program_that_is_not_believed_is_not_believed_in_a_fork(tmp_path: Path) -> None:
    """A fork's first program stays the user's: else one that acts on its tests would be taken for
    what somebody has brought."""
    forged = "import sys\n\n\ndef shout(words):\n    sys._getframe(1).f_locals.clear()\n" + (
        SOLVED.split("\n", 1)[1]
    )
    async with claude(generator=fenced(forged)) as model, open_session(
        model.settings(tmp_path, max_iterations=2)
    ) as session:
        run = await session.start(from_page(HARD, HARD_TESTS).task)
        parent = await followed(session, run)
        assert [one for one in iterations(session.log(run)) if "sys" in one.solution.text]
        number = max(one.iteration for one in iterations(session.log(run)))
        fork = await followed(session, await session.fork(run, number))
    assert (parent.outcome, fork.outcome) == ("unresolved", "unresolved")


@pytest.mark.nightly
async def test_a_healed_program_is_proven_again_and_as_far(tmp_path: Path) -> None:
    async with open_session(settings(tmp_path)) as session:
        log = await finished(session, from_page(AREA, AREA_TESTS).task)
        fork = await followed(session, await session.fork(log[0].run, 1))
        learned = events(session.log(fork.run_id), "lesson_learned")
    end = last(log)
    assert (fork.outcome, fork.code, fork.proof, fork.strategy) == (
        end.outcome, end.code, end.proof, end.strategy
    )
    assert (fork.diff, fork.candidates, learned) == (end.diff, 0, [])


@pytest.mark.nightly
async def test_a_fork_asks_whom_the_agents_settings_name(tmp_path: Path) -> None:
    async with claude(generator=fenced(WRONG)) as model, open_session(
        model.settings(tmp_path, max_iterations=2)
    ) as session:
        run = await session.start(from_page(HARD, HARD_TESTS).task)
        assert (await followed(session, run)).provider == "anthropic"
        count = len(model.asked)
        config = AgentConfig(provider="mock", data_dir=tmp_path, max_candidates=50)
        result = await SelfHealingAgent(config=config).afork(run, 0)
    assert (result.provider, len(model.asked)) == ("mock", count)


@pytest.mark.nightly
async def test_a_fork_keeps_its_parents_limits_or_named_ones(tmp_path: Path) -> None:
    async with claude(generator=fenced(WRONG)) as model, open_session(
        model.settings(tmp_path, max_iterations=2)
    ) as session:
        run = await session.start(from_page(HARD, HARD_TESTS).task)
        await followed(session, run)
        same = await followed(session, await session.fork(run, 0))
        fewer = await followed(session, await session.fork(run, 0, max_iterations=1))
        free = session.plan(provider="mock")
        parent = await session.start(from_page(HARD, HARD_TESTS).task, plan=free)
        await followed(session, parent)
        asked = await session.fork(parent, 0, plan=session.plan())
        longer = session._run(asked).options.budget_s - session._run(parent).options.budget_s
    assert (same.iterations, fewer.iterations) == (2, 1)
    assert longer == session.settings.model_s > 0


@pytest.mark.nightly
async def test_a_fork_asks_for_its_parents_proof_or_for_another(tmp_path: Path) -> None:
    async with open_session(settings(tmp_path)) as session:
        parent = await session.start(from_page(AREA, AREA_TESTS).task, require_proof="E2")
        await followed(session, parent)
        same = await session.fork(parent, 0)
        more = await session.fork(
            parent, 0, require_proof="E3", budget_s=30.0, require_confidence=0.5
        )
        asked = [session._run(run).options for run in (same, more)]
    assert [one.require_proof for one in asked] == ["E2", "E3"]
    assert [one.require_confidence for one in asked] == [session.settings.require_confidence, 0.5]
    assert asked[1].search_s == 30.0


async def test_an_agent_forks_within_the_bounds_that_it_was_made_with(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[tuple[int | None, float | None]] = []

    async def fork(
        *_: object, max_iterations: int | None, budget_s: float | None, **__: Any
    ) -> str:
        seen.append((max_iterations, budget_s))
        raise UnknownRun("seen")

    monkeypatch.setattr(Session, "fork", fork)
    config = AgentConfig(max_iterations=3, data_dir=tmp_path)
    for agent in (
        SelfHealingAgent(data_dir=tmp_path), SelfHealingAgent(config=config),
        SelfHealingAgent(config=config, max_iterations=2, budget_s=9.0),
    ):
        with pytest.raises(UnknownRun, match="seen"):
            await agent.afork("a" * 8, 0)
    assert seen == [(None, None), (3, None), (2, 9.0)]


async def test_what_cannot_be_forked_is_refused_with_the_next_step(tmp_path: Path) -> None:
    async with open_session(settings(tmp_path)) as session:
        run = (await finished(session, from_page(AREA, AREA_TESTS).task, visitor="a" * 32))[0].run
        for other in (run, "gone"):  # the first is a visitor's
            with pytest.raises(UnknownRun, match="heal runs"):
                await session.fork(other, 0)
        with pytest.raises(UnknownIteration, match=r"7.* 0, 1"):
            await session.fork(run, 7, visitor="a" * 32)
        for edits, kind, fact in (
            (Edits(removed_tests=["f"]), BadFork, "'f'.*assert area"),
            (Edits(code={"b.py": ""}), BadFork, r"b\.py"),
            (Edits(code={"": "x = 1\0"}), BadInput, None),
            (Edits(tests=[TestText("assert area(2, 5) == 11")]), BadFork, "`"),
        ):
            with pytest.raises(kind, match=fact):
                await session.fork(run, 0, edits, visitor="a" * 32)
        assert [one.id for one in session.history("a" * 32).runs()] == [run]
        assert session.history().runs() == ()


@pytest.mark.nightly
async def test_the_answer_to_a_question_of_a_fork_joins_its_own_suite(tmp_path: Path) -> None:
    tests = "assert area(2, 2) == 4"
    async with open_session(settings(tmp_path)) as session:
        run = (await finished(session, from_page(AREA, tests).task))[0].run
        code = "def area(width, height):\n    return width - height\n"
        fork = await session.fork(run, 0, Edits(code={"": code}))
        asked = await followed(session, fork)
        assert asked.question is not None
        settled = await session.rerun_with_answer(fork, asked.question.behaviours[1].label)
        result = await followed(session, settled)
        frozen = of_kind(session.log(settled), "tests_frozen")
    assert result.start is not None and result.start.parent is not None
    assert result.code != asked.code
    assert len({one.name for event in frozen for one in event.tests if one.origin == "user"}) == 2


async def test_a_fork_without_its_parents_key_says_who_may_answer(tmp_path: Path) -> None:
    async with claude() as model, open_session(
        model.settings(tmp_path, max_iterations=3)
    ) as session:
        run = await stuck(model, session)
    async with open_session(Settings.from_env({}, data_dir=tmp_path)) as session:
        waiting = (await followed(session, await session.fork(run, 2))).waiting
        assert waiting is not None and waiting.needs == "key"
        assert "--provider mock" in waiting.question
