"""Whole runs through the session, with the real sandbox, judge and search."""

from __future__ import annotations

import asyncio
import time
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from pathlib import Path
from typing import NoReturn

import pytest
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

from agent.core.events import Notice, RunFinished, RunStarted, Searched
from agent.loop.graph import _Serializer
from agent.loop.session import NoProvider, Session, Settings, open_session
from agent.report.result import fold
from agent.target.task import Inputs, from_command_line, from_page, make_task
from sandbox import Job, SandboxError, open_sandbox
from sandbox.levels import Isolation
from sandbox.sandbox import Batch
from sandbox.subprocess_backend import SubprocessSandbox
from tests.agent.runs import finished, followed, last, of_kind, settings

ONE_BUG = """\
def area(width, height):
    # the sides of a rectangle
    return width + height
"""
TESTS = "assert area(2, 5) == 10\nassert area(1, 1) == 1\nassert area(3, 0) == 0"


async def test_a_sandbox_that_cannot_be_inspected_ends_the_run(tmp_path: Path) -> None:
    class Broken(SubprocessSandbox):
        async def isolation(self, for_job: Job | None = None) -> Isolation:
            raise SandboxError("the kernel is on holiday")

        def start(self, job: object) -> NoReturn:
            raise SandboxError("the kernel is on holiday")

    async with open_session(settings(tmp_path), Broken) as session:
        log = await finished(session, from_page("print(1)\n", "", "").task)

    (start,) = of_kind(log, "run_started")
    assert isinstance(start, RunStarted)
    assert start.level == "" and "the kernel is on holiday" in start.sandbox
    assert last(log).outcome == "not_fixable"
    assert "the kernel is on holiday" in last(log).reason


@pytest.mark.nightly
async def test_which_model_does_what_is_no_warning(session: Session) -> None:
    plan = replace(session.plan(), notes=("rules answer the other roles",))
    run = await session.start(from_page("x = 1\n", "assert x == 1", "").task, plan=plan)
    await followed(session, run)
    notices = [event for event in of_kind(session.log(run), "notice") if isinstance(event, Notice)]
    assert [one.level for one in notices if one.text in plan.notes] == ["info"]


async def test_a_wrong_function_gets_a_minimal_diff(session: Session, tmp_path: Path) -> None:
    log = await finished(session, from_page(ONE_BUG, TESTS, "").task)
    seen, end = await session.jail(), last(log)
    (start,) = of_kind(log, "run_started")
    assert (start.jail, seen.level in seen.words, bool(seen.layers)) == (seen, True, True)
    assert (end.outcome, end.strategy, end.proof, end.tokens, end.cost_usd) == (
        "healed", "search", "E1", 0, 0.0
    )
    changed = [
        line for line in end.diff.split("\n")
        if line[:1] in "+-" and line[:3] not in ("+++", "---")
    ]
    assert changed == ["-    return width + height", "+    return width * height", ""]
    # A checkpoint holds addresses only.
    content = b"".join(path.read_bytes() for path in tmp_path.glob("checkpoints.db*"))
    assert content and b"the sides of a rectangle" not in content


@pytest.mark.nightly
async def test_the_search_never_holds_the_text_of_a_held_out_test_of_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    searched: list[Job] = []

    sandbox = open_sandbox()
    batch = sandbox.batch

    def watched(job: Job) -> AbstractAsyncContextManager[Batch]:
        searched.append(job)
        return batch(job)

    monkeypatch.setattr(sandbox, "batch", watched)
    tests = "from solution import area\nWIDE = [(31, 41, 1271)]\n" + "".join(
        f"def test_{w}_{h}(): assert area({w}, {h}) == {w * h}\n"
        for w, h in ((2, 5), (1, 1), (3, 7))
    ) + "def test_wide():\n    for w, h, wanted in WIDE: assert area(w, h) == wanted\n"
    # No time for a proof, which screens siblings of the repair against all tests.
    async with open_session(settings(tmp_path), lambda: sandbox) as session:
        end = last(await finished(session, from_page(ONE_BUG, tests, "").task))

    assert (end.outcome, end.strategy) == ("healed", "search")
    told = [f"{job.payload}{job.files}" for job in searched]
    assert any("test_2_5" in one for one in told)
    assert not any(words in one for one in told for words in ("WIDE", "1271", "test_wide"))


HEALTHY = ONE_BUG.replace("+", "*")
CRASHING = "def last(items):\n    return items[len(items)]\n\n\nprint(last([1, 2, 3]))\n"


@pytest.mark.sampled(2)
@pytest.mark.parametrize(("code", "tests", "words", "ends"), [
    (HEALTHY, TESTS, "", ("healthy", "E1")),
    (CRASHING, "", "", ("crash_stopped", "E0")),
    (CRASHING, "assert output == '3\\n'", "", ("healed", "E1")),
    ("", "", "Write a chess engine.", ("needs_model", None)),
], ids=["healthy", "crash", "crash with a test", "words alone"])
async def test_a_run_ends_as_its_tests_allow(
    session: Session, code: str, tests: str, words: str, ends: tuple[str, str | None]
) -> None:
    end = last(await finished(session, from_page(code, tests, words).task))
    assert (end.outcome, end.proof) == ends
    assert end.stdout == ("3\n" if code == CRASHING else "")
    if code == HEALTHY:
        assert (end.diff, end.code, end.iterations) == ("", code, 0)


async def test_an_unresolved_run_says_what_it_found(session: Session) -> None:
    code = "def secret(number):\n    return number\n"
    tests = (
        "assert secret(1) == 917\nassert secret(2) == -3\nassert secret(3) == 55\n"
        "assert secret(4) == 8812"
    )
    log = await finished(session, from_page(code, tests, "").task, budget_s=30.0)
    end = last(log)
    assert (end.outcome, end.diff, end.code, end.proof) == ("unresolved", "", code, None)
    diagnosis = of_kind(log, "diagnosed")[0].diagnosis
    assert diagnosis.suspicious_lines[0].line == 2
    *_, judged, nearer = (event.report for event in of_kind(log, "judged"))
    assert {v.got for v in judged.failing} >= {"1", "2"}
    told = fold(log)
    assert told.best is not None and told.partial is not None
    assert (told.best.report, told.best.iteration) == (nearer, 1)
    assert (told.best.diff, told.best.passed) == (told.partial.diff, told.partial.passed)
    assert told.best.passed > judged.score[0]


@pytest.mark.proven
async def test_four_tests_hold_one_out_and_prove_more(session: Session) -> None:
    tests = TESTS + "\nassert area(4, 4) == 16\nassert area(5, 2) == 10"
    log = await finished(session, from_page(ONE_BUG, tests, "").task)
    assert last(log).proof == "E4"
    frozen = [test for event in of_kind(log, "tests_frozen") for test in event.tests]
    assert [test.origin for test in frozen].count("held-out") == 1


async def test_a_cancelled_search_is_over_at_once_with_its_processes(session: Session) -> None:
    code = "def f(x):\n    for i in range(3):\n        x = x * 2 - i\n    return x\n"
    tests = "\n".join(f"assert f({n}) == {n ** 3 + 77}" for n in range(1, 4))
    run = await session.start(from_page(code, tests, "").task)
    async for batch in session.follow(run):
        if any(isinstance(one.event, Searched) and one.event.candidates for one in batch):
            break
    began = time.monotonic()

    await session.cancel(run)

    assert time.monotonic() - began < 1
    assert last(session.log(run)).outcome == "cancelled"
    assert not session._active


@pytest.mark.nightly
async def test_many_runs_go_on_at_once(session: Session) -> None:
    runs = [await session.start(from_page(ONE_BUG, TESTS, "").task) for _ in range(4)]
    logs = await asyncio.gather(*(followed(session, run) for run in runs))
    assert [last(log).outcome for log in logs] == ["healed"] * 4
    assert max(log[2].at for log in logs) < min(log[-1].at for log in logs)


async def test_a_known_id_starts_no_second_run_and_leaves_nothing_going(session: Session) -> None:
    await session.start(from_page(ONE_BUG, TESTS, "").task, run_id="one")
    before = asyncio.all_tasks()
    with pytest.raises(ValueError, match="one"):
        await session.start(from_page(ONE_BUG, TESTS, "").task, run_id="one")
    assert {task for task in asyncio.all_tasks() - before if "judge" in repr(task)} == set()
    assert last(await followed(session, "one")).outcome == "healed"


async def test_a_provider_that_cannot_be_had_starts_no_run(tmp_path: Path) -> None:
    settings = Settings.from_env({}, provider="anthropic", data_dir=tmp_path)
    async with open_session(settings) as session:
        with pytest.raises(NoProvider, match="ANTHROPIC_API_KEY"):
            await session.start(from_page(ONE_BUG, TESTS, "").task)
        assert session.history().runs() == ()


async def test_the_users_own_asserts_are_judged_and_never_edited(session: Session) -> None:
    code = ONE_BUG + "\n\nassert area(2, 5) == 10\nassert area(3, 3) == 9\n"
    end = last(await finished(session, make_task(code).task))
    assert end.outcome == "healed"
    assert end.code == code.replace("width + height", "width * height")


async def test_a_run_cancelled_elsewhere_stays_ended(session: Session, tmp_path: Path) -> None:
    run = await session.start(from_page(ONE_BUG, TESTS, "").task)
    async with open_session(settings(tmp_path)) as other:
        await other.cancel(run)
    while run in session._active:
        await asyncio.sleep(0.05)
    ends = [entry.event for entry in session.log(run) if entry.final]
    assert [end.outcome for end in ends if isinstance(end, RunFinished)] == ["cancelled"]
    assert session.log(run)[-1].final


@pytest.mark.nightly
async def test_a_second_bug_shown_by_a_held_out_test_is_searched_for(tmp_path: Path) -> None:
    code = (
        "def first(items):\n    return items.pop()\n\n\n"
        "def is_in(floor, top):\n    return 0 <= floor <= top\n"
    )
    tests = (
        "assert first([1, 2]) == 1\nassert first([5]) == 5\nassert is_in(2, 5)\n"
        "assert first([3, 4, 6]) == 3\nassert not is_in(5, 5)"
    )
    async with open_session(settings(tmp_path, max_candidates=30)) as session:
        log = await finished(session, from_page(code, tests).task)

    assert (last(log).outcome, last(log).iterations) == ("healed", 2)
    (written,) = [one.solution for one in of_kind(log, "code_written")][-1:]
    assert written.text == code.replace("pop()", "pop(0)").replace("<= top", "< top")
    assert "line 2" in written.note
    assert "line 6" in written.note


async def test_a_run_that_is_taken_up_asks_for_the_proof_that_is_named_then(tmp_path: Path) -> None:
    task = from_page("def twice(x):\n    return x + 3\n", "assert twice(3) == 6", "").task
    async with open_session(settings(tmp_path)) as session:
        run = await session.start(task)
    async with open_session(settings(tmp_path)) as session:
        assert await session.recover(run, require_proof="E2") == (run,)
        assert session._run(run).options.require_proof == "E2"
        async for _ in session.follow(run):
            pass
    async with open_session(settings(tmp_path)) as session:
        assert session._run(run).options.require_proof == "E2"


@pytest.mark.nightly
async def test_a_name_that_a_module_beside_the_program_has_not_is_mended(tmp_path: Path) -> None:
    (tmp_path / "till.py").write_text("from shop import totl\ndef price(n):\n    return totl(n)\n")
    (tmp_path / "shop.py").write_text("def total(n):\n    return n * 3\n")
    inputs = Inputs(str(tmp_path / "till.py"), tests=("assert price(2) == 6",))
    async with open_session(settings(tmp_path / "data")) as session:
        found = last(await finished(session, from_command_line(inputs).task))
    assert found.diff.count("\n+") == 3 and "+from shop import total\n" in found.diff


@pytest.mark.sampled(1)
@pytest.mark.parametrize(("tests", "outcome"), [
    ("assert clmp(5, 0, 3) == 3", "not_fixable"),
    ("assert clmp(5, 0, 3) == 3\nassert clamp(5, 0, 3) == 4", "unresolved"),
    ("assert frobnicate(5) == 3", "unresolved"),
])
async def test_a_misspelt_test_name_is_reported(tests: str, outcome: str, tmp_path: Path) -> None:
    code = "def clamp(x, low, high):\n    return max(low, min(x, high))\n"
    async with open_session(settings(tmp_path, search_s=1.0)) as session:
        log = await finished(session, from_page(code, tests, "").task)
    found = fold(log)
    told = [found.reason, *(one.text for one in found.notices)]
    assert found.outcome == outcome
    assert any(tests.split("(")[0].split()[-1] in words for words in told)
    assert bool(of_kind(log, "searched")) is (outcome == "unresolved")


def test_renamed_state_fields_are_read_from_checkpoints_of_older_versions() -> None:
    written = JsonPlusSerializer().dumps_typed({
        "channel_values": {"taken": True, "place": 1, "around_id": "a", "doubtful_id": "b"}
    })
    read = _Serializer().loads_typed(written)
    assert read == {"channel_values": {
        "passed_visible": True, "place": 1, "search_start_id": "a", "unsure_repair_id": "b",
    }}
