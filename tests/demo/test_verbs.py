"""What programs may ask of the page: each visitor meets their own runs, and forks no other's."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import gradio as gr
import pytest
from starlette.requests import Request

from agent.iteration.models import LOCAL_USER
from agent.log.store import UnknownRun
from agent.loop.session import Session, open_session
from agent.memory import MemoryFault
from agent.report.iterations import UnknownIteration
from agent.target.errors import BadInput
from agent.target.task import from_page
from demo.browser_state import NEW_VISIT
from demo.models.panel import Panel
from demo.serving.access import Access
from demo.serving.api import _endpoint, bad_call
from demo.serving.endpoints import Endpoints
from demo.serving.host import SessionHost
from demo.web import build
from sandbox import SandboxUnavailable
from tests.agent.model_runs import followed
from tests.agent.runs import settings
from tests.demo.recorded import RecordedSession, hosting

CODE = "def area(width, height):\n    return width + height\n"
BY = gr.Request(Request({"type": "http", "headers": [], "client": ("10.0.0.1", 1)}))
ONE, ANOTHER = "k3mfu0az-wq8-tyx", "p5ldnb1o-vz7-hcs"
TESTS = "assert area(2, 5) == 10\nassert area(1, 1) == 1"


@asynccontextmanager
async def asked(folder: Path, *, public: bool) -> AsyncIterator[tuple[Endpoints, Panel, Session]]:
    host = SessionHost(lambda: open_session(settings(folder, proof_s=0.0)), Access(public=public))
    async with host.serving():
        session = await host.session()
        panel = Panel(host)
        assert isinstance(session, Session)
        yield Endpoints(host, panel), panel, session


async def test_a_visitor_lists_opens_compares_and_forks_their_own_runs_only(tmp_path: Path) -> None:
    async with asked(tmp_path, public=True) as (endpoints, panel, session):
        own = panel.visitor({**NEW_VISIT, "visitor": ONE})
        run = await session.start(from_page(CODE, TESTS).task, visitor=own)
        await followed(session, run)

        fork = await endpoints.fork(run, 0, tests="assert area(3, 3) == 9", visitor=ONE)
        result = await followed(session, fork["run_id"])

        assert (result.outcome, fork["page"]) == ("healed", f"?run={fork['run_id']}")
        assert [one["run_id"] for one in await endpoints.runs(ONE)] == [fork["run_id"], run]
        assert [one["by"] for one in await endpoints.iterations(run, ONE)] == ["user", "search"]
        assert (await endpoints.compare(run, fork["run_id"], ONE))["diff"] == ""
        assert session.visitor(fork["run_id"]) == own

        assert await endpoints.runs(ANOTHER) == []
        for ask in (
            endpoints.fork(run, 0, visitor=ANOTHER), endpoints.iterations(run, ANOTHER),
            endpoints.compare(run, run, ANOTHER), endpoints.runs(""),
            endpoints.runs("SOME-RANDOM-LETTERS-OF-YOURS"), endpoints.runs("aaaaaaaaaaaaaaaa"),
            endpoints.runs("1234567890123456"), endpoints.runs("Zyxwvutsrqponmlk"),
            endpoints.runs("qwertyuiopasdfgh"),
        ):
            with pytest.raises(UnknownRun):
                await ask
        with pytest.raises(UnknownIteration):
            await endpoints.fork(run, 9, visitor=ONE)


async def test_a_refusal_reaches_the_program_that_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def lacking(*_: object) -> None:
        raise fault

    async with asked(tmp_path, public=False) as (endpoints, _, session):
        with pytest.raises(gr.Error, match=r"gone.*/runs"):
            await _endpoint(endpoints.iterations)(BY, "gone")
        with pytest.raises(gr.Error):
            await anext(_endpoint(endpoints.heal_code)(BY))
        monkeypatch.setattr(session, "judge", lacking)
        for fault in (SandboxUnavailable("no jail; get one"), MemoryFault("no disk; make room")):
            with pytest.raises(gr.Error, match=str(fault)):
                await _endpoint(endpoints.check_code)(BY, CODE, TESTS)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("name, missing", [("check_code", "tests, visitor"), (None, "")])
async def test_a_call_with_too_few_values_names_the_missing(name: str | None, missing: str) -> None:
    ui = build(hosting(RecordedSession()))
    act = next(one for one in ui.fns.values() if len(one.inputs) > 1 and (
        one.api_name == name if name else one.fn is None
    ))
    with pytest.raises(gr.Error, match=missing or None) as told:
        ui.validate_inputs(act, ["ACME_SECRET"])
    assert not told.value.print_exception and "ACME_SECRET" not in str(told.value)


async def test_a_program_heals_checks_reads_and_cancels_by_name(tmp_path: Path) -> None:
    async with asked(tmp_path, public=True) as (endpoints, _, _session):
        told = [one async for one in endpoints.heal_code(CODE, TESTS, visitor=ONE)]
        assert (told[-1]["outcome"], told[0]["outcome"]) == ("healed", None)
        run = told[-1]["run_id"]
        assert await endpoints.get_run(run, ONE) == told[-1]
        assert (await endpoints.cancel_run(run, ONE))["outcome"] == "healed"
        checked = await endpoints.check_code(CODE, TESTS, ONE)
        assert (checked["passed"], [one["status"] for one in checked["tests"]]) == (
            False, ["failed", "failed"],
        )
        for refused in (endpoints.get_run(run, ANOTHER), endpoints.cancel_run(run, ANOTHER)):
            with pytest.raises(UnknownRun):
                await refused
        with pytest.raises(BadInput):
            await endpoints.check_code("", TESTS, ONE)


async def test_a_program_that_leaves_ends_its_run(tmp_path: Path) -> None:
    async with asked(tmp_path, public=False) as (endpoints, _, _session):
        endless = "def f(n):\n    return n * 7 % 3\n"
        tests = "\n".join(f"assert f({n}) == {n ** 3 + 77}" for n in range(1, 5))
        told = _endpoint(endpoints.heal_code)(BY, endless, tests)
        first = await anext(told)
        await told.aclose()
        assert (await endpoints.get_run(first["run_id"]))["outcome"] == "cancelled"


async def test_a_waiting_review_is_not_ended_by_its_reader(tmp_path: Path) -> None:
    given = settings(tmp_path, proof_s=0.0, autonomy_level="review_repairs")
    host = SessionHost(lambda: open_session(given), Access(public=False))
    async with host.serving():
        endpoints = Endpoints(host, Panel(host))
        *_, told = [one async for one in endpoints.heal_code(CODE, TESTS)]
        assert told["outcome"] == "awaiting_review"
        assert (await endpoints.get_run(told["run_id"]))["outcome"] == "awaiting_review"


@pytest.mark.parametrize(("verb", "values"), [
    ("get_run", (7,)), ("check_code", (None, TESTS)), ("forget", ({"1": 1},)),
    ("runs", ([ONE],)), ("fork", ("run", True)), ("compare", ("run", ["run"])),
])
async def test_a_value_of_another_kind_is_refused(
    tmp_path: Path, verb: str, values: tuple[object, ...]
) -> None:
    async with asked(tmp_path, public=True) as (endpoints, _, _):
        with pytest.raises(gr.Error):
            await _endpoint(getattr(endpoints, verb))(BY, *values)


async def test_one_address_under_many_words_delays_no_other_address(tmp_path: Path) -> None:
    async with asked(tmp_path, public=True) as (endpoints, _, session):
        async with endpoints._host.reading_in_turn("another visitor", "10.0.0.1"):
            waits = asyncio.create_task(endpoints.check_code(CODE, TESTS, ONE, address="10.0.0.1"))
            heals = endpoints.heal_code(CODE, TESTS, visitor=ONE, address="10.0.0.1")
            begins = asyncio.create_task(anext(heals))
            elsewhere = await endpoints.check_code(CODE, TESTS, ANOTHER, address="10.0.0.2")
            assert elsewhere["passed"] is False
            assert not waits.done() and not begins.done() and not session.running()
        assert (await waits)["passed"] is False
        await begins
        await heals.aclose()


async def test_those_who_share_an_address_share_a_turn_in_the_sandbox(tmp_path: Path) -> None:
    async with asked(tmp_path, public=True) as (_, panel, session):
        one, other, third = (
            panel.visitor({**NEW_VISIT, "visitor": word}) for word in (ONE, ANOTHER, ONE + ANOTHER)
        )
        session.record_address(one, "10.0.0.1")
        session.record_address(other, "10.0.0.1")
        owners = [
            vars(session._shared.sandbox_of(visitor, run))["_owner"]
            for visitor, run in (
                (one, "a"), (other, "b"), (third, "c"), (LOCAL_USER, "d"), (LOCAL_USER, "e")
            )
        ]
    assert owners[0] == owners[1] and len({*owners}) == 4


@pytest.mark.parametrize("fault", [TypeError("f() missing 1 required positional argument: 'x'"),
                                   KeyError("x")])
async def test_an_internal_error_is_not_blamed_on_the_caller(fault: Exception) -> None:
    asked = Request({"type": "http", "path": "/gradio_api/call/v2/heal_code", "headers": []})
    with pytest.raises(type(fault)):
        await bad_call(asked, fault)
