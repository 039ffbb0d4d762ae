"""What goes to LangSmith, seen by a server that stands where it would be."""

from __future__ import annotations

import asyncio
import gc
import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import nullcontext
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar

import pytest
from langgraph.graph import END, START, StateGraph
from langsmith import Client, utils
from langsmith.run_helpers import tracing_context

from agent.core.settings import BadSettings, Settings
from agent.loop.resources import PROJECT, Uploads, upload_address, uploads
from agent.loop.session import open_session
from agent.target.task import from_page
from llm.redaction import Redactor

API_KEY = "lsv2_pt_canarycanarycanary_0123456789"
CODE = "def area(width, height):\n    # canary-of-the-code\n    return width + height\n"
TESTS = "assert area(2, 5) == 10\nassert area(1, 1) == 1\nassert area(3, 0) == 0"
STRAY = (
    "LANGSMITH_TRACING", "LANGSMITH_TRACING_V2", "LANGCHAIN_TRACING_V2", "LANGSMITH_API_KEY",
    "LANGCHAIN_API_KEY", "LANGSMITH_ENDPOINT", "LANGCHAIN_ENDPOINT", "LANGCHAIN_PROJECT",
    "LANGSMITH_PROJECT", "LANGSMITH_RUNS_ENDPOINTS", "LANGCHAIN_TRACING", "LANGCHAIN_HANDLER",
)


class Server(ThreadingHTTPServer):
    """Takes what LangSmith's client sends."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.bodies: list[bytes] = []
        self.keys: set[str | None] = set()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    @property
    def text(self) -> str:
        return b"\n".join(self.bodies).decode("utf-8", "replace")

    def parts(self, name: str) -> list[dict[str, Any]]:
        """The JSON of all parts that are called `post.<id>` and then this."""
        found = []
        for part in self.text.split("Content-Disposition: form-data; name=")[1:]:
            title, _, content = part.partition("\r\n\r\n")
            if title.splitlines()[0].strip('"').partition(".")[2].partition(".")[2] == name:
                found.append(json.loads(content.partition("\r\n--")[0]))
        return found


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Server
    INFO: ClassVar[dict[str, object]] = {
        "version": "0.10",
        "batch_ingest_config": {
            "use_multipart_endpoint": True, "size_limit": 100, "size_limit_bytes": 20_000_000,
            "scale_up_nthreads_limit": 1, "scale_up_qsize_trigger": 1_000,
            "scale_down_nempty_trigger": 4,
        },
    }

    def do_GET(self) -> None:
        self._answer(200, json.dumps(self.INFO).encode())

    def do_POST(self) -> None:
        self.server.keys.add(self.headers["x-api-key"])
        self.server.bodies.append(self.rfile.read(int(self.headers["Content-Length"])))
        self._answer(202, b"{}")

    def _answer(self, status: int, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Says nothing."""


@pytest.fixture
def server() -> Iterator[Server]:
    with Server() as one:
        thread = threading.Thread(target=one.serve_forever, args=(0.01,))
        thread.start()
        yield one
        one.shutdown()
        thread.join()


@pytest.fixture(autouse=True)
def no_strays(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for name in STRAY:
        monkeypatch.delenv(name, raising=False)
    utils.get_env_var.cache_clear()
    utils.get_tracer_project.cache_clear()
    yield
    utils.get_env_var.cache_clear()
    utils.get_tracer_project.cache_clear()


def asked_for(server: Server, **more: str) -> dict[str, str]:
    return {
        "LANGCHAIN_TRACING_V2": "true", "LANGCHAIN_API_KEY": API_KEY,
        "LANGCHAIN_ENDPOINT": server.url, **more,
    }


async def heal(folder: Path, environment: dict[str, str], content: bool = False) -> None:
    settings = Settings.from_env(
        environment, provider="mock", data_dir=folder, proof_s=0.0, trace_content=content
    )
    async with open_session(settings) as session:
        run = await session.start(from_page(CODE, TESTS, "").task)
        async for _ in session.follow(run):
            pass
        assert session.log(run)[-1].event.kind == "run_finished"


def graph(step: Any) -> Any:  # LangGraph's own types have no short names
    building: Any = StateGraph(dict)
    building.add_node("step", step)
    building.add_edge(START, "step")
    building.add_edge("step", END)
    return building.compile()


@pytest.mark.nightly
async def test_uploads_hold_steps_and_no_program(server: Server, tmp_path: Path) -> None:
    await heal(tmp_path, asked_for(server))

    assert {"recall", "specify", "finish"} <= {
        extra["metadata"].get("langgraph_node") for extra in server.parts("extra")
    }
    assert f'"session_name":"{PROJECT}"' in server.text
    assert server.keys == {API_KEY}
    for private in (API_KEY, "canary-of-the-code", "solution_id", "width", "iteration"):
        assert private not in server.text, private


async def test_uploads_with_content_hold_no_key(server: Server, tmp_path: Path) -> None:
    await heal(tmp_path, asked_for(server, LANGCHAIN_PROJECT="mine"), content=True)
    assert any("solution_id" in given for given in server.parts("outputs"))
    assert '"session_name":"mine"' in server.text
    assert API_KEY not in server.text


SWITCHED_ON = {"LANGSMITH_TRACING": "true"}


@pytest.mark.parametrize(("stray", "is_ours"), [
    (SWITCHED_ON, True), (SWITCHED_ON, False), ({"LANGSMITH_TRACING_V2": "true"}, True),
    ({"LANGCHAIN_TRACING_V2": "true", "LANGCHAIN_API_KEY": ""}, True),
    ({"LANGCHAIN_TRACING_V2": "0", "LANGCHAIN_API_KEY": API_KEY, **SWITCHED_ON}, True),
])
async def test_stray_variables_upload_nothing(
    server: Server, monkeypatch: pytest.MonkeyPatch, stray: Mapping[str, str], is_ours: bool
) -> None:
    around_us = {"LANGSMITH_API_KEY": API_KEY, "LANGSMITH_ENDPOINT": server.url, **stray}
    for name, value in around_us.items():
        monkeypatch.setenv(name, value)
    utils.get_env_var.cache_clear()
    tracing = uploads(around_us)
    assert tracing.client is None
    with tracing.tracing_scope() if is_ours else nullcontext():  # without it they do upload
        await graph(lambda state: state).ainvoke({"a": 1})
    _wait_for_uploads()
    assert bool(server.bodies) is not is_ours


def _wait_for_uploads() -> None:
    """Sends what the client that LangChain makes for itself has to send, and ends it."""
    from langsmith import run_trees

    if run_trees._CLIENT is not None:
        run_trees._CLIENT.close(timeout=5)
        run_trees._CLIENT = None
        gc.collect()


@pytest.mark.parametrize("content", [False, True])
async def test_an_error_is_uploaded_without_secrets(server: Server, content: bool) -> None:
    keys: list[str] = []

    def step(state: object) -> object:
        raise ValueError(f"canary-of-the-code {API_KEY} hush-hush-1")

    tracing = uploads(asked_for(server), content=content, redactor=lambda: Redactor(keys))
    keys.append("hush-hush-1")  # a visitor's key comes when the session has long begun
    with tracing.tracing_scope(), pytest.raises(ValueError, match="canary"):
        await graph(step).ainvoke({"a": 1})
    await asyncio.to_thread(tracing.close)
    assert ("canary-of-the-code *** ***" in server.text) is content
    assert not any(secret in server.text for secret in ("hush-hush-1", API_KEY))
    if not content:
        assert set(server.parts("error")) == {"ValueError"}  # type: ignore[arg-type]  # a JSON text
        assert "canary" not in server.text


async def test_who_traces_the_program_around_us_does_not_get_our_steps(server: Server) -> None:
    theirs = Client(api_url=server.url, api_key=API_KEY, tracing_mode="langsmith")
    with tracing_context(enabled=True, client=theirs):
        with Uploads().tracing_scope():
            await graph(lambda state: state).ainvoke({"a": 1})
        await asyncio.to_thread(theirs.flush, 5)
        assert server.bodies == []
        await graph(lambda state: state).ainvoke({"a": 1})
        await asyncio.to_thread(theirs.flush, 5)
        assert server.bodies
    await asyncio.to_thread(theirs.close, 5)


@pytest.mark.parametrize("name", ["LANGCHAIN_TRACING", "LANGCHAIN_HANDLER"])
def test_a_variable_that_makes_every_run_fail_is_named(name: str) -> None:
    with pytest.raises(BadSettings, match=name):
        uploads({name: "true"})
    assert uploads({name: "false"}).client is None


@pytest.mark.parametrize(("environment", "url"), [
    ({}, "https://api.smith.langchain.com"),
    ({"LANGSMITH_ENDPOINT": "https://b"}, "https://b"),
    ({"LANGCHAIN_ENDPOINT": "https://a", "LANGSMITH_ENDPOINT": "https://b"}, "https://a"),
    ({"LANGCHAIN_ENDPOINT": " "}, "https://api.smith.langchain.com"),
])
def test_uploads_go_to_langsmith_by_default(environment: dict[str, str], url: str) -> None:
    assert upload_address(environment) == url
