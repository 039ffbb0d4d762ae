"""How much a visitor of a public page may have, and what stands before every request."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import httpx
import pytest
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route
from starlette.testclient import TestClient

from agent.core.domain import JailStatus
from agent.core.settings import Settings
from demo.browser_state import NEW_VISIT
from demo.serving.access import Access
from demo.serving.gate import Gate
from demo.serving.host import SessionHost, Unavailable
from demo.serving.limits import ADDRESS_SHARE, LimitExceeded, VisitorLimits
from demo.serving.server import health_route, ready_route
from demo.serving.visitors import network, new_token, visit_to_save, visiting
from demo.web import build
from sandbox import SandboxUnavailable
from tests.demo.recorded import RecordedSession, hosting

PAGE = "/gradio_api/info"


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_a_visitor_has_so_many_runs_at_once_and_an_address_some_more() -> None:
    limits, settings, going = VisitorLimits(Clock()), Settings(visitor_runs=1, visitor_rate=99), {}
    for number in range(ADDRESS_SHARE):
        with limits.counted_work(settings, going, f"v{number}", "here", f"run-{number}"):
            with pytest.raises(LimitExceeded):
                limits.counted_work(settings, going, f"v{number}", "elsewhere").__enter__()
            going[f"run-{number}"] = f"v{number}"
    with pytest.raises(LimitExceeded):
        limits.counted_work(settings, going, "new", "here").__enter__()
    with limits.counted_work(settings, going, "new", "elsewhere"):
        pass
    del going["run-0"]
    with limits.counted_work(settings, going, "v0", "here"):
        pass


async def test_input_of_a_visitor_or_of_an_address_is_read_one_piece_at_a_time() -> None:
    limits = VisitorLimits(Clock())
    entered: list[str] = []

    async def read(visitor: str, address: str) -> None:
        async with limits.reading_in_turn(visitor, address):
            entered.append(f"{visitor} {address}")

    async with limits.reading_in_turn("v", "here"):
        asked = [("v", "elsewhere"), ("new", "here"), ("w", "there")]
        tasks = [asyncio.create_task(read(*one)) for one in asked]
        await asyncio.sleep(0.01)
        assert entered == ["w there"]
    await asyncio.gather(*tasks)
    assert sorted(entered) == ["new here", "v elsewhere", "w there"]
    assert not limits._turns  # nothing is kept of who has left


def test_the_page_as_a_whole_has_so_many_and_a_minute_has_so_many_starts() -> None:
    clock = Clock()
    limits, settings = VisitorLimits(clock), Settings(live_runs=2, visitor_rate=2)
    with pytest.raises(LimitExceeded):
        limits.counted_work(settings, {"a": "v1", "b": "v2"}, "new", "here").__enter__()
    for at in (0.0, 10.0):
        clock.now = at
        with limits.counted_work(settings, {}, "v", "here"):
            pass
    for at, wait_s in ((10.0, 50), (59.8, 1)):
        clock.now = at
        with pytest.raises(LimitExceeded, match=str(wait_s)) as refused:
            limits.counted_work(settings, {}, "v", "here").__enter__()
        assert refused.value.after_s == wait_s
    clock.now = 60.0
    with limits.counted_work(settings, {}, "v", "here"):
        pass


async def test_the_owner_is_bounded_by_nothing_and_a_visitor_by_the_size() -> None:
    session = RecordedSession()
    session.settings = Settings(largest_input=3)
    with hosting(session).counted_work(session, "", "here", ["x" * 1_000_000]):
        pass
    with pytest.raises(LimitExceeded, match=r"4.* 3"):
        hosting(session, Access(public=True)).counted_work(session, "v", "here", ["xx", "xx"])


async def test_a_page_says_how_much_it_takes() -> None:
    ui = build(hosting(RecordedSession(), Access(public=True)), most_pasted=200_000)
    assert any("200000" in str(fn["js"]) for fn in ui.config["dependencies"])


HEAL = "/gradio_api/call/v2/heal_code"


def gated(
    *, public: bool = True, scheme: str = "http", host: str = "page",
    admit: Callable[[str, str], None] = lambda *_: None, **settings: int,
) -> TestClient:
    async def answer(request: Request) -> Response:
        return PlainTextResponse(str(len(await request.body())))

    routes = [Route("/{path:path}", answer, methods=["GET", "POST"])]
    gate = Middleware(Gate, public=public, settings=Settings(**settings), admit=admit)
    return TestClient(Starlette(routes=routes, middleware=[gate]), f"{scheme}://{host}")


def test_a_browser_gets_a_word_that_no_script_reads_and_keeps_it() -> None:
    client = gated()
    first = client.get("/").headers["set-cookie"]
    assert "HttpOnly" in first and "SameSite=Lax" in first and "Secure" not in first
    assert "set-cookie" not in client.get("/").headers
    framed = gated(scheme="https").get("/").headers["set-cookie"]
    assert "SameSite=None; Partitioned; Secure" in framed
    assert "set-cookie" not in gated(public=False, host="localhost").get("/").headers
    assert "set-cookie" in gated().get("/", headers={"cookie": "heal_visitor=short"}).headers
    linked = {"sec-fetch-site": "cross-site"}  # a link from another site leaves it its word
    assert "set-cookie" not in client.get("/", headers=linked).headers
    assert "set-cookie" in gated().get("/", headers=linked).headers


def test_unknown_paths_and_excess_are_refused() -> None:
    client = gated(request_rate=3, largest_input=1)  # of which what is read in pieces is one
    for path in (
        "gradio_api/upload", "gradio_api/queue/status", "gradio_api/file=a.zip", "monitoring", "x",
        "gradio_api/stream/x", "gradio_api/component_server", "gradio_api/process_recording",
        "gradio_api/vibe-edit",
    ):
        asked = [ask(f"/{path}").status_code for ask in (client.get, client.post)]
        assert asked == [404, 404], path
    for content in (b"x" * 4_000_001, (b"x" * 9_999 for _ in range(500))):
        large = client.post(PAGE, content=content)
        assert (large.status_code, bool(large.json()["detail"])) == (413, True)
    assert [client.get(PAGE).status_code for _ in range(3)] == [200, 200, 429]
    refused = client.get(PAGE)
    assert int(refused.headers["retry-after"]) > 0 and refused.json()["detail"]
    shown = client.get("/", headers={"accept": "text/html,*/*"})
    assert (shown.status_code, int(shown.headers["retry-after"]) > 0) == (429, True)
    assert shown.headers["content-type"].startswith("text/html") and "{" not in shown.text


async def test_a_full_server_refuses_before_waiting() -> None:
    session = RecordedSession(jail=JailStatus(words="jail", level="L2"))
    session.settings = Settings(live_runs=1, visitor_rate=99)
    host = hosting(session, Access(public=True))
    client = gated(admit=host.admit)
    async with host.serving():
        assert client.post(HEAL).status_code == 200  # it is not known yet
        await host.running()
        with host.counted_work(session, "somebody", "elsewhere", ["x"], "a-run"):
            refused = client.post(HEAL)
            assert (refused.status_code, refused.headers["retry-after"]) == (429, "60")
            assert refused.json()["error"]
            assert client.get(HEAL).status_code == client.get(PAGE).status_code == 200
        assert client.post(HEAL).status_code == 200
    own = hosting(session)
    async with own.serving():
        await own.running()
        own.admit("", "")


def test_another_sites_page_asks_nothing_of_the_owner() -> None:
    client = gated(public=False, host="localhost:7860")
    for elsewhere in ({"origin": "https://evil.example"}, {"sec-fetch-site": "cross-site"}):
        assert client.post(PAGE, headers=elsewhere).status_code == 403
    for own in ({}, {"origin": "http://localhost:7860"}, {"sec-fetch-site": "same-origin"}):
        assert client.post(PAGE, headers=own).status_code == 200


@pytest.mark.parametrize(("host", "served"), [
    ("localhost", 200), ("LOCALHOST:7860", 200), ("127.0.0.1:7860", 200), ("[::1]:7860", 200),
    ("evil.example:7860", 403), ("localhost.evil.example", 403), ("10.0.0.1:7860", 403), ("", 403),
])
def test_a_foreign_host_name_is_not_answered(host: str, served: int) -> None:
    client, named = gated(public=False), {"host": host, "sec-fetch-site": "same-origin"}
    assert [client.get("/", headers=named).status_code,
            client.post(PAGE, headers=named).status_code] == [served, served]
    assert gated().get("/", headers={"host": host}).status_code == 200


def asked(**headers: str) -> Request:
    told = [(name.encode(), value.encode()) for name, value in headers.items()]
    return Request({"type": "http", "headers": told, "client": ("2001:db8::7", 1)})


def test_who_visits_is_what_the_cookie_says_and_else_the_browsers_own_word() -> None:
    word, own = new_token(), new_token()
    told = {**NEW_VISIT, "visitor": own, "address": "forged", "model": "m", "more": 1}
    known = visiting(asked(cookie=f"a=b; heal_visitor={word}"), told)
    assert known == {**NEW_VISIT, "visitor": word, "address": "2001:db8::/64", "model": "m"}
    assert visit_to_save(known, asked(cookie=f"heal_visitor={word}"))["visitor"] == ""
    unknown = visiting(asked(), told)
    assert (unknown["visitor"], visit_to_save(unknown, asked())["visitor"]) == (own, own)
    assert visiting(asked(), ["no", "visit"])["visitor"] == ""


@pytest.mark.parametrize(("address", "where"), [
    ("10.0.0.1", "10.0.0.1"), ("2001:db8:0:1::7", "2001:db8:0:1::/64"), ("name", ""),
    ("fe80::1%eth0", "fe80::/64"), ("x" * 60_000, ""),
])
def test_a_household_is_one_address(address: str, where: str) -> None:
    assert network(address) == where


async def test_a_health_check_shows_whether_the_page_works() -> None:
    host = hosting(RecordedSession())
    transport = httpx.ASGITransport(app=Starlette(routes=[health_route(host), ready_route(host)]))
    async with httpx.AsyncClient(transport=transport, base_url="http://page") as client:
        starting = await client.get("/healthz")
        assert (starting.status_code, starting.json()) == (200, {"status": "starting"})
        missing = await client.get("/readyz")
        assert (missing.status_code, [*missing.json()["missing"]]) == (503, ["session"])
        async with host.serving():
            await host.running()
            ready = await client.get("/healthz")
            able = await client.get("/readyz")
            assert (able.status_code, able.json()) == (200, {"ready": True, "missing": {}})
        assert (ready.status_code, {**ready.json(), "since": ""}) == (
            200, {"status": "ready", "jail": "", "runs_code": True, "runs": 0, "since": ""},
        )
        assert (await client.get("/healthz")).json() == {"status": "ending"}


async def test_a_health_check_of_an_engine_that_does_not_work_gives_no_reason() -> None:
    @asynccontextmanager
    async def opened() -> AsyncIterator[RecordedSession]:
        raise SandboxUnavailable("of a secret path")
        yield

    host = SessionHost(opened)
    transport = httpx.ASGITransport(app=Starlette(routes=[health_route(host)]))
    async with host.serving(), httpx.AsyncClient(transport=transport, base_url="http://p") as asks:
        with pytest.raises(Unavailable):
            await host.running()
        failed = await asks.get("/healthz")
    assert (failed.status_code, failed.json()) == (503, {"status": "failed"})
