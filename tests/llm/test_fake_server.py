"""The scriptable server does what a test scripts, and tells what clients did."""

import asyncio
import time
from collections.abc import AsyncIterator

import httpx
import pytest

from tests.llm.fakes.server import (
    Exchange,
    FakeServer,
    Handler,
    drips,
    hangs_up,
    lines,
    refusing,
    resets,
    says,
    stalls,
    streams,
)


@pytest.fixture
async def server() -> AsyncIterator[FakeServer]:
    async with FakeServer() as server:
        yield server


@pytest.fixture
async def client() -> AsyncIterator[httpx.AsyncClient]:
    async with httpx.AsyncClient(timeout=0.2, trust_env=False) as client:
        yield client


async def test_it_answers_by_its_script_and_remembers_what_it_was_asked(
    server: FakeServer, client: httpx.AsyncClient
) -> None:
    server.on("POST", "/ask", says({"n": 1}, 429, {"Retry-After": "7"}), says({"n": 2}))

    answers = [await client.post(f"{server.url}/ask?q=1", json={"x": 1}) for _ in range(3)]

    assert [(answer.status_code, answer.json()["n"]) for answer in answers] == [
        (429, 1), (200, 2), (200, 2),
    ]
    assert answers[0].headers["retry-after"] == "7"
    assert [(it.method, it.path, it.json, it.dropped) for it in server.seen] == [
        ("POST", "/ask?q=1", {"x": 1}, False)
    ] * 3
    assert (await client.get(f"{server.url}/elsewhere")).status_code == 404


async def test_it_streams_chunk_by_chunk(server: FakeServer, client: httpx.AsyncClient) -> None:
    server.on("GET", "/", streams(lines({"a": 1}, {"b": 2}), content_type="x/y"))

    answer = await client.get(server.url)

    assert (answer.text, answer.headers["content-type"]) == ('{"a": 1}\n{"b": 2}\n', "x/y")


@pytest.mark.parametrize(
    ("handler", "fault"),
    [
        (stalls, httpx.ReadTimeout),
        (streams([b"a"], then=stalls), httpx.ReadTimeout),
        (hangs_up, httpx.RemoteProtocolError),
        (streams([b"a"], then=hangs_up), httpx.RemoteProtocolError),
        (resets, httpx.ReadError),
        (streams([b"a"], then=resets), httpx.ReadError),
    ],
    ids=["stall", "stall amid", "hang up", "hang up amid", "reset", "reset amid"],
)
async def test_it_has_bad_days(
    server: FakeServer, client: httpx.AsyncClient, handler: Handler, fault: type[Exception]
) -> None:
    server.on("GET", "/", handler)

    with pytest.raises(fault):
        await client.get(server.url)

    assert await server.seen[0].was_dropped() == (fault is httpx.ReadTimeout)


@pytest.mark.parametrize(
    "handler",
    [drips(b"", 0.02), streams([b"a"], then=drips(b":\n", 0.02))],
    ids=["in the head", "in the body"],
)
async def test_it_drips_for_ever_and_sees_who_has_enough(
    server: FakeServer, client: httpx.AsyncClient, handler: Handler
) -> None:
    server.on("GET", "/", handler)
    begun = time.monotonic()

    with pytest.raises(TimeoutError):
        await asyncio.wait_for(client.get(server.url), 0.4)

    assert time.monotonic() - begun >= 0.4  # the client's own 0.2 s between bytes never passed
    assert await server.seen[0].was_dropped()


async def test_a_refusing_port_refuses(client: httpx.AsyncClient) -> None:
    with refusing() as url, pytest.raises(httpx.ConnectError):
        await client.get(url)


async def test_a_fault_in_a_script_is_not_lost(client: httpx.AsyncClient) -> None:
    async def wrong(exchange: Exchange) -> None:
        raise LookupError("a slip")

    with pytest.raises(LookupError, match="a slip"):
        async with FakeServer() as server:
            server.on("GET", "/", wrong)
            with pytest.raises(httpx.RemoteProtocolError):
                await client.get(server.url)
