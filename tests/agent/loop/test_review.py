"""A person's word: on a repair, and on asking a model at all."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from agent import Review, SelfHealingAgent
from agent.core.events import Waiting
from agent.interfaces.terminal import commands
from agent.interfaces.terminal.cli import app
from agent.loop.session import Session, open_session
from agent.report.result import Result, fold
from agent.report.waiting import BadReview
from agent.target.errors import BadInput
from agent.target.task import from_page
from tests.agent.claude import Claude, claude, fenced
from tests.agent.model_runs import HARD, HARD_TESTS, SOLVED, WRONG, followed, settings
from tests.agent.scripted import ONE_WRONG, specs
from tests.agent.scripted import WORDS as TASK
from tests.llm.fakes.server import stalls

BUG = "def add(a, b):\n    return a - b\n"
TESTS = "assert add(2, 3) == 5\nassert add(1, 1) == 2\nassert add(0, 4) == 4\n"
OTHERWISE = "def add(a, b):\n    return sum((a, b))\n"
SHOUTED = SOLVED.replace("upper() + '!'", "upper().join(['', '!'])")
FOUR_TESTS = HARD_TESTS + "assert shout('held out') == 'HELD! OUT!'\n"
WORDS = "Write shout(words), which gives each word in capitals with '!'. shout('x') gives 'X!'."


@asynccontextmanager
async def reviewing(
    folder: Path, code: str = BUG, tests: str = TESTS
) -> AsyncIterator[tuple[Session, str]]:
    """A run without a model, whose repair is reviewed."""
    async with open_session(settings(folder, {}, autonomy_level="review_repairs")) as session:
        yield session, await session.start(from_page(code, tests, "").task)


@asynccontextmanager
async def written(
    folder: Path, *drafts: str, level: str = "review_repairs", words: str = "",
    tests: str = HARD_TESTS, **given: Any,
) -> AsyncIterator[tuple[Claude, Session, str]]:
    """A run that is reviewed, for which a model writes these programs; without `words` it mends
    one."""
    submitted = ("", "", words) if words else (HARD, tests, "")
    async with (
        claude(generator=[*map(fenced, drafts)]) as model,
        open_session(model.settings(folder, autonomy_level=level, **given)) as session,
    ):
        yield model, session, await session.start(from_page(*submitted).task)


async def asked(session: Session, run: str) -> Waiting:
    result = await followed(session, run)
    assert result.waiting is not None, (result.outcome, result.reason)
    return result.waiting


async def answered(session: Session, run: str, **review: Any) -> Result:
    waiting = await asked(session, run)
    assert await session.answer(run, waiting.interrupt, review)
    return await followed(session, run)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("kept", [True, False])
async def test_a_review_waits_for_an_answer_by_id(tmp_path: Path, kept: bool) -> None:
    async with reviewing(tmp_path) as (session, run):
        question = (await asked(session, run)).interrupt
        assert session.log(run)[-1].event.kind == "waiting"
        result = fold(session.log(run))
        assert await session.answer(run, "stale", {"approve": True}) is False
        # To change nothing is to keep it.
        answer = {"code": result.code} if kept else {"approve": False}
        assert await session.answer(run, question, answer) is True
        end = await followed(session, run)
        assert await session.answer(run, question, {"approve": True}) is False
    assert (end.outcome, end.code) == (("healed", result.code) if kept else ("unresolved", BUG))
    assert (result.outcome, result.phase) == ("awaiting_review", "waiting")
    assert "return a + b" in result.code
    assert "+    return a + b" in result.diff
    assert result.integrity == "isolated"


async def test_a_persons_own_program_is_judged_proven_and_asked_about(tmp_path: Path) -> None:
    wrong = BUG.replace("-", "*")
    async with reviewing(tmp_path, tests=f"{TESTS}assert add(7, 1) == 8\n") as (session, run):
        first = await followed(session, run)
        failed = await answered(session, run, code=wrong, approve=True)
        waiting = await asked(session, run)
        # One that fails is told, and the repair stays.
        assert (failed.outcome, failed.code, failed.notices) == ("awaiting_review", first.code, ())
        assert (waiting.tried, "4 tests" in waiting.question) == (wrong, True)
        again = await answered(session, run, code=OTHERWISE)
        assert (again.outcome, again.code) == ("awaiting_review", OTHERWISE)
        result = await answered(session, run, approve=True)
    assert (result.outcome, result.code, result.strategy) == ("healed", OTHERWISE, "person")
    # A person has seen every test, so that none was held out from their program.
    assert (first.proof != "E1", again.proof) == (True, "E1")


@pytest.mark.sampled(1)
@pytest.mark.parametrize("code", [BUG, HARD])
async def test_an_invalid_review_is_refused_and_asked_again(tmp_path: Path, code: str) -> None:
    reviews: list[tuple[dict[str, Any], type[Exception]]] = [
        ({"approve": "yes"}, BadReview), ({"approve": True, "hint": 3}, BadReview),
        ({"keep": True}, BadReview), ({"code": b"x"}, BadReview),
        ({"code": "x = '\ud800'\n"}, BadInput), ({"approve": True, "hint": "\0"}, BadInput),
        ({"hint": "use sum"}, BadReview),  # there is no model that could read it
    ]
    async with reviewing(tmp_path, code, TESTS if code == BUG else HARD_TESTS) as (session, run):
        waiting = await asked(session, run)
        for review, kind in reviews:
            with pytest.raises(kind):
                await session.answer(run, waiting.interrupt, review)
        assert await asked(session, run) == waiting
        session._store.release(run)  # the process that asked is gone
        assert await session.answer(run, waiting.interrupt, {"approve": True})
        assert await session.recover() == ()  # who answers drives on, and nobody else
        result = await followed(session, run)
    assert (result.phase, result.outcome == "healed") == ("finished", code == BUG)


async def test_a_hint_reaches_the_next_model(tmp_path: Path) -> None:
    async with written(tmp_path, SOLVED, SHOUTED) as (model, session, run):
        first = await answered(session, run, hint="do not add strings")
        assert (first.outcome, first.code) == ("awaiting_review", SHOUTED)
        result = await answered(session, run, approve=True)
    assert (result.outcome, result.code) == ("healed", SHOUTED)
    told = [
        str(seen.json["messages"]) for seen, role in
        zip(model.server.seen, model.asked, strict=True) if role == "generator"
    ]
    assert "do not add strings" not in told[0]
    assert "do not add strings" in told[1]


async def test_a_hint_that_names_the_held_out_test_reveals_it(tmp_path: Path) -> None:
    async with written(
        tmp_path, SOLVED, SHOUTED, proof_s=0.0, tests=FOUR_TESTS
    ) as (_, session, run):
        assert (await followed(session, run)).proof == "E2"
        result = await answered(session, run, hint="look at shout('held out')")
    assert (result.code, result.proof) == (SHOUTED, "E1")


@pytest.mark.nightly
async def test_a_hint_is_read_by_a_model_where_a_search_would_come_next(tmp_path: Path) -> None:
    words = f"{WORDS} shout('a b') gives 'A! B!'. shout('') gives ''."
    drafts = [WRONG, SOLVED, SHOUTED, SOLVED.replace("word", "part")]
    async with written(
        tmp_path, *drafts, parallel_strategies=1, words=words
    ) as (_, session, run):
        await answered(session, run, hint="another way")
        last = await answered(session, run, hint="and another")
    assert (last.outcome, last.code) == ("awaiting_review", drafts[-1]), last.reason


async def test_a_hint_reveals_no_excluded_test(tmp_path: Path) -> None:
    async with claude(
        generator=[*map(fenced, (WRONG, SOLVED, SHOUTED))], spec_tester=ONE_WRONG,
        arbiter=specs(("shout('x')", "'X!'"), ("shout('a b')", "'A! B!'")),
    ) as model:
        given = model.settings(tmp_path, autonomy_level="review_repairs")
        async with open_session(given) as session:
            run = await session.start(from_page("", "", TASK).task)
            again = await answered(session, run, hint="another way")
    assert (again.outcome, again.code) == ("awaiting_review", SHOUTED)
    assert [one.ruling for one in again.rulings if "'x'" in one.test] == ["excluded"]
    *_, last = [
        seen.json["messages"][0]["content"] for seen, role in
        zip(model.server.seen, model.asked, strict=True) if role == "generator"
    ]
    assert "another way" in last
    assert "shout('a b')" in last
    assert "shout('x')" not in last


async def test_no_model_writes_without_approval(tmp_path: Path) -> None:
    async with written(tmp_path, SOLVED, level="review_all", words=WORDS) as (model, session, run):
        waiting = await asked(session, run)
        assert (waiting.needs, "generator" in model.asked) == ("permission", False)
        assert "shout('x') == 'X!'" in waiting.question
        asking = fold(session.log(run))
        assert (asking.outcome, asking.reason) == ("awaiting_review", waiting.question)
        refused = await answered(session, run, approve=False)
    assert (refused.outcome, refused.stopped) == ("unresolved", "person")
    assert "generator" not in model.asked


@pytest.mark.nightly
async def test_with_leave_a_first_draft_is_reviewed_too(tmp_path: Path) -> None:
    async with written(tmp_path, SOLVED, level="review_all", words=WORDS) as (_, session, run):
        drafted = await answered(session, run, approve=True)
        assert (drafted.outcome, drafted.code) == ("awaiting_review", SOLVED)
        result = await answered(session, run, approve=True)
    assert (result.outcome, result.code) == ("healthy", SOLVED)


@pytest.mark.sampled(1)
@pytest.mark.parametrize(("level", "needs"), [
    ("full_auto", []), ("review_repairs", ["review"]), ("review_all", ["permission", "review"]),
])
async def test_levels_wait_over_restarts(tmp_path: Path, level: str, needs: list[str]) -> None:
    seen = []
    async with claude(generator=[fenced(WRONG), fenced(SOLVED)]) as model:
        given = model.settings(tmp_path, autonomy_level=level)
        async with open_session(given) as session:
            run = await session.start(from_page(HARD, HARD_TESTS, "").task)
            result = await followed(session, run)
        while result.waiting is not None:
            seen.append(result.waiting.needs)
            async with open_session(given) as session:
                assert await session.answer(run, result.waiting.interrupt, {"approve": True})
                result = await followed(session, run)
    assert (seen, result.outcome, result.code) == (needs, "healed", SOLVED)


@pytest.mark.nightly
async def test_where_nothing_helped_a_person_is_asked_what_else_to_try(tmp_path: Path) -> None:
    async with written(tmp_path, WRONG, SOLVED, max_iterations=2) as (model, session, run):
        waiting = await asked(session, run)
        assert (waiting.needs, fold(session.log(run)).outcome) == ("help", "unresolved")
        again = await answered(session, run, hint="split it into words")
        assert (again.outcome, again.code) == ("awaiting_review", SOLVED)
        result = await answered(session, run, approve=True)
    assert (result.outcome, result.iterations) == ("healed", 3)
    assert "split it into words" in str(model.server.seen[-3].json["messages"])


@pytest.mark.nightly
async def test_help_may_be_the_program_itself_or_none(tmp_path: Path) -> None:
    async with reviewing(tmp_path, HARD, HARD_TESTS) as (session, run):
        other = await session.start(from_page(HARD, HARD_TESTS, "").task)
        wrong = await answered(session, run, code=WRONG)
        assert (wrong.outcome, wrong.phase) == ("unresolved", "waiting")
        given = await answered(session, run, code=SOLVED)
        assert given.outcome == "awaiting_review"
        result = await answered(session, run, approve=True)
        none = await answered(session, other, approve=False)
    assert (result.outcome, result.code, result.strategy) == ("healed", SOLVED, "person")
    assert (none.outcome, none.phase, none.stopped) == ("unresolved", "finished", "no_model")


async def test_a_run_without_viewers_spends_nothing(tmp_path: Path) -> None:
    async with (
        claude(generator=[stalls, fenced(SOLVED)]) as model,
        open_session(model.settings(tmp_path)) as session,
    ):
        run = await session.start(from_page(HARD, HARD_TESTS, "").task, pauses=True)
        while "generator" not in model.asked:
            await asyncio.sleep(0.01)
        await session.pause(run)
        waiting = await asked(session, run)
        count = len(model.asked)
        await session.pause(run)
        assert (waiting.needs, len(model.asked)) == ("visitor", count)
        assert await session.answer(run, waiting.interrupt, {})
        result = await followed(session, run)
    assert (result.outcome, result.code) == ("healed", SOLVED)


async def test_a_run_without_a_model_goes_on_though_nobody_looks(tmp_path: Path) -> None:
    async with open_session(settings(tmp_path, {})) as session:
        run = await session.start(from_page(BUG, TESTS, "").task, pauses=True)
        await session.pause(run)
        assert (await followed(session, run)).outcome == "healed"


def test_the_library_calls_its_approver(tmp_path: Path) -> None:
    shown: list[Waiting] = []

    def approve(waiting: Waiting) -> Review | bool:
        shown.append(waiting)
        return Review(code=OTHERWISE) if len(shown) == 1 else True

    result = SelfHealingAgent(data_dir=tmp_path).run(code=BUG, tests=TESTS, approve=approve)
    assert (result.outcome, result.code, len(shown)) == ("healed", OTHERWISE, 2)
    assert "return a + b" in shown[0].code


@pytest.mark.nightly
def test_repeated_failing_answers_end(tmp_path: Path) -> None:
    asked_: list[str] = []

    def approve(waiting: Waiting) -> Review:
        asked_.append(waiting.question)
        return Review(code=BUG.replace("-", "*"))

    result = SelfHealingAgent(data_dir=tmp_path).run(code=BUG, tests=TESTS, approve=approve)
    assert (result.outcome, result.stopped, len(asked_)) == ("unresolved", "person", 10)
    assert "gave 6" in asked_[1] and "gave 6" not in asked_[0]


@pytest.mark.nightly
def test_the_library_resumes_later(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEAL_AUTONOMY", "review_repairs")
    first = SelfHealingAgent(data_dir=tmp_path).run(code=BUG, tests=TESTS)
    assert (first["outcome"], first.success, "return a + b" in first.code) == (
        "awaiting_review", False, True,
    )
    later = SelfHealingAgent(data_dir=tmp_path)
    result = later.decide(first.run_id, approve=True)
    assert (result.outcome, result.success, result.code) == ("healed", True, first.code)
    with pytest.raises(BadReview):
        later.decide(first.run_id, approve=True)


async def test_the_second_of_two_decisions_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HEAL_AUTONOMY", "review_repairs")
    agent = SelfHealingAgent(data_dir=tmp_path)
    run = (await agent.arun(code=BUG, tests=TESTS)).run_id
    both = await asyncio.gather(
        agent.adecide(run, approve=True), agent.adecide(run),
        return_exceptions=True,
    )
    (late,) = [one for one in both if isinstance(one, BaseException)]
    assert isinstance(late, BadReview)


@pytest.mark.nightly
def test_a_terminal_answers_the_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEAL_AUTONOMY", "review_repairs")
    monkeypatch.setenv("HEAL_DATA_DIR", str(tmp_path))
    asked = SelfHealingAgent().run(code=BUG, tests=TESTS)
    assert asked.outcome == "awaiting_review"
    monkeypatch.setattr(commands, "is_interactive", lambda face: True)
    monkeypatch.setattr("typer.prompt", lambda *_given, **_named: "y")
    done = CliRunner().invoke(app, ["resume", asked.run_id])
    assert (done.exit_code, "return a + b" in done.stdout) == (0, True), done.output


def test_a_terminal_offers_no_hint_where_no_model_could_read_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked, said = [], iter(["use sum", "e"])
    monkeypatch.setattr("typer.prompt", lambda words, **_: asked.append(words) or next(said))
    monkeypatch.setattr("click.edit", lambda text, **_: f"{text}# more\n")
    waiting = Waiting(interrupt="1", question="Keep?", code="a", tried="b", hint_refusal="no model")
    assert commands._ask_for_review(waiting) == {"code": "b# more\n"}
    assert len(asked) == 2 and not any("[h]" in one for one in asked)
    assert "no model" in capsys.readouterr().err


@pytest.mark.nightly
def test_what_is_no_review_decides_nothing_and_the_run_waits_on(tmp_path: Path) -> None:
    agent = SelfHealingAgent(data_dir=tmp_path)
    maybe: Any = lambda waiting: "maybe"  # noqa: E731
    with pytest.raises(BadReview, match="'maybe'"):
        agent.run(code=BUG, tests=TESTS, approve=maybe)
    assert agent.decide(agent.runs(1)[0].id, approve=True).outcome == "healed"
