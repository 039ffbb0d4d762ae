"""Runs use the key of their visitor, and no key is left anywhere afterwards."""

from __future__ import annotations

import asyncio
import base64
import io
import json
import logging
import os
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote_from_bytes

import pytest

from agent.core.events import to_jsonl
from agent.iteration.models import BadKey, visitor_id
from agent.loop.session import Session, open_session
from agent.report.result import document, fold
from agent.target.task import from_page
from llm import router
from llm.errors import LlmError, NeedsKey
from tests.agent.claude import KEY, RIGHT_CALLS, Claude, claude, fenced
from tests.agent.loop.test_uploads import Server, no_strays, server  # noqa: F401  # fixtures
from tests.agent.model_runs import HARD, HARD_TESTS, SOLVED, events, followed, until
from tests.llm.fakes import anthropic
from tests.llm.fakes.server import Exchange, says, stalls

ANN, BOB = visitor_id("ann"), visitor_id("bob")
ANNS, BOBS = "sk-ant-anns-canary-+/=0123456789", "sk-ant-bobs-canary-%7E-9876543210"
NAME = "ANTHROPIC_API_KEY"


def keys_seen(model: Claude) -> list[str]:
    """The keys of the requests, in order."""
    return [one.headers["authorization"].removeprefix("Bearer ") for one in model.server.seen]


async def begun(session: Session, visitor: str) -> str:
    return await session.start(from_page(HARD, HARD_TESTS).task, visitor=visitor, pauses=True)


async def test_visitors_pay_with_their_own_keys_side_by_side(tmp_path: Path) -> None:
    async with (
        claude(generator=fenced(SOLVED)) as model,
        open_session(model.settings(tmp_path, host_keys=False)) as session,
    ):
        session.models.add_key(ANN, NAME, ANNS)
        session.models.add_key(BOB, NAME, BOBS)
        runs = [await begun(session, ANN), await begun(session, BOB)]
        results = [await followed(session, run) for run in runs]
        with pytest.raises(NeedsKey):
            session.plan(visitor_id("carl"), provider="anthropic")
    assert [result.outcome for result in results] == ["healed", "healed"]
    assert sorted(keys_seen(model)) == sorted([ANNS, BOBS] * 4)


async def test_a_run_without_its_key_waits_for_it_and_continues(tmp_path: Path) -> None:
    async with (
        claude(debugger=stalls) as model,
        open_session(model.settings(tmp_path, host_keys=False)) as session,
    ):
        session.models.add_key(ANN, NAME, ANNS)
        run = await begun(session, ANN)
        await until(session, run, "model_asked")
    async with (
        claude(generator=fenced(SOLVED)) as model,
        open_session(model.settings(tmp_path, host_keys=False)) as session,
    ):
        assert await session.recover() == (run,)
        asked = (await followed(session, run)).waiting
        assert asked is not None
        assert asked.needs == "key"
        assert NAME in asked.question

        session.models.add_key(BOB, NAME, BOBS)  # not used for the run of another visitor
        assert await session.answer(run, asked.interrupt, {}) is True
        again = (await followed(session, run)).waiting
        assert again is not None
        assert (again.needs, again.interrupt == asked.interrupt) == ("key", False)
        assert model.asked == []

        session.models.add_key(ANN, NAME, ANNS)
        assert await session.answer(run, again.interrupt, {}) is True
        result = await followed(session, run)
        ends = [entry for entry in session.log(run) if entry.final]
    assert (result.outcome, len(ends)) == ("healed", 1)
    assert set(keys_seen(model)) == {ANNS}


async def test_a_run_that_waits_for_a_key_can_be_ended(tmp_path: Path) -> None:
    async with claude(debugger=stalls) as model:
        async with open_session(model.settings(tmp_path, host_keys=False)) as session:
            session.models.add_key(ANN, NAME, ANNS)
            run = await begun(session, ANN)
            await until(session, run, "model_asked")
        async with open_session(model.settings(tmp_path, host_keys=False)) as session:
            await session.recover()
            asked = (await followed(session, run)).waiting
            assert asked is not None
            await session.answer(run, asked.interrupt, {"end": True})
            assert fold(session.log(run)).outcome == "cancelled"


def spellings(key: str) -> Iterator[bytes]:
    """A key as it may be written to a file: plain, or encoded."""
    raw = key.encode()
    yield raw
    yield quote_from_bytes(raw, safe="").encode()
    yield json.dumps(key)[1:-1].encode()
    yield raw.hex().encode()
    yield raw[::-1]
    yield raw.decode().encode("utf-16-le")
    for before in range(3):
        coded = base64.b64encode(bytes(before) + raw).rstrip(b"=")[before + 1:-1]
        yield coded
        yield coded.replace(b"+", b"-").replace(b"/", b"_")


class Hunt:
    """Searches texts for keys."""

    def __init__(self) -> None:
        self.texts: list[tuple[str, bytes]] = []

    def add(self, where: str, text: str | bytes) -> None:
        self.texts.append((where, text if isinstance(text, bytes) else text.encode(
            "utf-8", "surrogateescape"
        )))

    def folder(self, folder: Path) -> None:
        for path in folder.rglob("*"):
            if path.is_file():
                self.add(f"{path.relative_to(folder)}", path.read_bytes())

    def error(self, where: str, error: BaseException) -> None:
        self.add(where, "".join(traceback.TracebackException.from_exception(
            error, capture_locals=False
        ).format()) + repr(error) + str(vars(error)))

    def found(self, *keys: str) -> list[str]:
        return [
            f"{where}: {key[:12]} as {way[:16]!r}"
            for where, text in self.texts for key in keys for way in spellings(key) if way in text
        ]


def test_the_hunt_finds_a_key_in_every_encoding() -> None:
    for way in spellings(ANNS):
        hunt = Hunt()
        hunt.add("here", b"x" + way + b"y")
        assert hunt.found(ANNS)
    for place in range(3):
        hunt = Hunt()
        hunt.add("here", base64.b64encode(b"z" * place + ANNS.encode() + b"and more"))
        assert hunt.found(ANNS)


@contextmanager
def all_logs(hunt: Hunt) -> Iterator[None]:
    """Captures all logs at the debug level, with a handler older than the session."""
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    handler.setFormatter(logging.Formatter("%(name)s %(message)s %(args)s"))
    named = [one for one in logging.root.manager.loggerDict.values()
             if isinstance(one, logging.Logger)]
    before = {one: one.level for one in (logging.root, *named)}
    logging.root.addHandler(handler)
    for one in before:
        one.setLevel(logging.DEBUG)
    try:
        yield
    finally:
        logging.root.removeHandler(handler)
        for one, level in before.items():
            one.setLevel(level)
        assert stream.getvalue()
        hunt.add("logs", stream.getvalue())


def echoes(status: int) -> Callable[[Exchange], object]:
    """A server whose error repeats the key of the request."""

    async def handle(exchange: Exchange) -> None:
        sent = exchange.request.headers["authorization"]
        key = sent.removeprefix("Bearer ")
        coded = base64.b64encode(key.encode()).decode()
        words = f"no: {sent} {coded} {quote_from_bytes(key.encode(), safe='')}"
        await says(
            anthropic.error("authentication_error", words), status,
            {"request-id": key, "x-echo": key},
        )(exchange)

    return handle


def echoes_amid(exchange: Exchange) -> object:
    """The same in an error event within a stream."""
    key = exchange.request.headers["authorization"].removeprefix("Bearer ")
    wrong = anthropic.error("api_error", f"failed for {key}")
    return anthropic.answers([*anthropic.opening(["half "]), wrong])(exchange)


async def test_no_key_is_found_anywhere_after_runs_that_end_in_every_way(
    tmp_path: Path, server: Server,  # noqa: F811
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch,
) -> None:
    hunt = Hunt()
    data = tmp_path / "data"
    environment = {
        "LANGCHAIN_TRACING_V2": "true", "LANGCHAIN_API_KEY": "lsv2_pt_0123456789abcdef",
        "LANGCHAIN_ENDPOINT": server.url,
    }
    ways = {
        "wrong": echoes(401), "server": echoes(500), "teapot": echoes(418), "amid": echoes_amid,
        "cancelled": stalls, "waiting": stalls, "done": fenced(SOLVED),
    }
    monkeypatch.setattr(router, "FIRST_WAIT_S", 0.01)
    runs: dict[str, str] = {}
    with all_logs(hunt):
        async with claude() as model:
            settings = model.settings(data, host_keys=False, max_candidates=20)
            settings = type(settings).from_env(
                {**settings.environment, **environment}, data_dir=data, host_keys=False,
                max_candidates=20, trace_content=True,
            )
            async with open_session(settings) as session:
                session.models.add_key(ANN, NAME, ANNS)
                session.models.add_key(BOB, NAME, BOBS)
                for visitor, (way, said) in zip([ANN, BOB] * 4, ways.items(), strict=False):
                    model.said |= {"debugger": RIGHT_CALLS["debugger"], "generator": said}
                    if way != "done":
                        model.said["debugger"] = said
                    before = len(model.asked)
                    runs[way] = await begun(session, visitor)
                    if said is not stalls:
                        result = await followed(session, runs[way])
                    else:
                        while len(model.asked) == before:
                            await asyncio.sleep(0.01)
                    if way == "cancelled":
                        await session.cancel(runs[way])
                with pytest.raises(BadKey) as bad:
                    session.models.add_key(ANN, NAME, f"{ANNS}\n{BOBS}")
                hunt.error("bad key", bad.value)
                model.server.on("GET", "/v1/models", echoes(401))
                with pytest.raises(LlmError) as refused:
                    await session.models.test_key(ANN, "anthropic")
                hunt.error("test of a key", refused.value)
                for thing in (
                    session, settings, session.models, session.plan(ANN),
                    session.models.available_keys(ANN),
                    session.models.log_redaction, session.models._visitor_keys, session._shared.bus,
                    vars(session),
                ):
                    hunt.add(type(thing).__name__, f"{thing!r} {thing!s}")
                _add_runs(session, runs, hunt)
            # Keys are not saved, so the interrupted run waits for its key.
            async with open_session(settings) as session:
                await session.recover()
                result = await followed(session, runs["waiting"])
                assert result.waiting is not None
                assert result.waiting.needs == "key"
                _add_runs(session, runs, hunt)
                hunt.folder(tmp_path)
            hunt.folder(tmp_path)
        assert set(keys_seen(model)) == {ANNS, BOBS}
    out, err = capfd.readouterr()
    hunt.add("stdout", out)
    hunt.add("stderr", err)
    hunt.add("environment", repr(dict(os.environ)))
    hunt.add("uploads", b"\n".join(server.bodies))
    assert server.bodies
    assert hunt.found(ANNS, BOBS, KEY) == []


def _add_runs(session: Session, runs: dict[str, str], hunt: Hunt) -> None:
    """Adds the logs, documents and options of runs to the hunt."""
    for way, run in runs.items():
        log = session.log(run)
        hunt.add(f"{way}: events", to_jsonl(log))
        if way in ("wrong", "server", "teapot", "amid"):
            assert "***" in events(log, "model_failed")[0].why, way
        hunt.add(f"{way}: document", json.dumps(document(fold(log))))
        hunt.add(f"{way}: options", session._store.run(run).options)
    outcomes = {way: fold(session.log(run)).outcome for way, run in runs.items()}
    assert outcomes["done"] == "healed", outcomes
    assert outcomes["cancelled"] == "cancelled", outcomes
