"""A memory, a fix, and a Hub of our own: the few endpoints that sharing needs, on loopback."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import json
import shutil
import sqlite3
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from agent.loop.session import Session, open_session
from agent.memory import FailureKey, Fix, Memory
from agent.target.task import from_page
from tests.agent.runs import finished, settings

Making = Callable[..., Fix]
Change = Callable[..., None]


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    memory = Memory(tmp_path / "memory.db")
    yield memory
    memory.close()


@pytest.fixture
def change(tmp_path: Path) -> Change:
    """Runs a statement on the memory's file, as somebody would who can write it."""

    def run(statement: str, *values: object) -> None:
        with closing(sqlite3.connect(tmp_path / "memory.db")) as db, db:
            db.execute(statement, values)

    return run


@pytest.fixture(scope="module")
def healed_before(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which `BEFORE` of the test module, a program and its tests, was healed once."""
    folder = tmp_path_factory.mktemp("before")

    async def heal() -> None:
        async with open_session(settings(folder)) as session:
            await finished(session, from_page(*request.module.BEFORE).task, run_id="first")

    asyncio.run(heal())
    return folder


@pytest.fixture
async def remembering(healed_before: Path, tmp_path: Path) -> AsyncIterator[Session]:
    """A session that remembers the run `first`, in which that was healed."""
    shutil.copytree(healed_before, tmp_path, dirs_exist_ok=True)
    async with open_session(settings(tmp_path)) as session:
        yield session


@pytest.fixture
def fix() -> Making:
    """Makes a fix of a small program under a failure's signature."""

    def make(signature: str = "s", before: str = "", after: str = "", **changes: object) -> Fix:
        failure = FailureKey(
            signature=signature, exception="wrong result", shape="failed",
            passed="0 of 1 tests pass",
        )
        return Fix(
            failure=failure.model_copy(update=changes),
            before=before or "def f(a, b):\n    return a + b\n",
            after=after or "def f(a, b):\n    return a - b\n", proof="E1", note="changed + to -",
        )

    return make


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    """A Hub with one dataset, served from a thread."""
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    hub = Hub()
    server = _served(hub)
    yield hub
    server.shutdown()
    server.server_close()


Answer = tuple[int, object, dict[str, str]]
"""A status, JSON or the bytes of a file, and headers."""
REPO = "anna/lessons"
TOKEN = "hf_" + "s3cret" * 5


@dataclass
class Hub:
    """One dataset as the server keeps it; `before_commit` is called ahead of each commit."""

    files: dict[str, str] = field(default_factory=dict)
    exists: bool = True
    made: dict[str, Any] = field(default_factory=dict)
    """What it was asked to be made with."""
    commits: int = 0
    before_commit: Callable[[], None] = lambda: None
    url: str = ""
    repo: str = REPO
    token: str = TOKEN

    @property
    def sha(self) -> str:
        state = json.dumps([self.commits, self.files])
        return hashlib.sha1(state.encode(), usedforsecurity=False).hexdigest()

    def add(self, name: str, text: str) -> None:
        """What someone else pushes."""
        self.files[name] = text
        self.commits += 1

    def answer(self, path: str, given: bytes) -> Answer:
        """What a client with the right token is told."""
        place = path.partition("?")[0]
        if place == "/api/repos/create":
            self.exists, self.made = True, json.loads(given)
            return 200, {"url": f"{self.url}/datasets/{REPO}", "id": REPO}, {}
        if not self.exists:
            return 404, {"error": "gone"}, {"X-Error-Code": "RepoNotFound"}
        if place == f"/api/datasets/{REPO}/preupload/main":
            return 200, {"files": [
                {"path": one["path"], "uploadMode": "regular", "shouldIgnore": False}
                for one in json.loads(given)["files"]
            ]}, {}
        if place == f"/api/datasets/{REPO}/commit/main":
            self.before_commit()
            return self._committed(*map(json.loads, given.splitlines()))
        if place.startswith(f"/api/datasets/{REPO}"):
            return 200, {"id": REPO, "sha": self.sha, "private": True}, {}
        name = place.rpartition("/")[2]
        if name not in self.files:
            return 404, {"error": "none"}, {"X-Error-Code": "EntryNotFound"}
        data = self.files[name].encode()
        digest = hashlib.sha1(data, usedforsecurity=False).hexdigest()
        return 200, data, {"ETag": f'"{digest}"', "X-Repo-Commit": self.sha}

    def _committed(self, header: dict[str, Any], *operations: dict[str, Any]) -> Answer:
        if header["value"].get("parentCommit") != self.sha:
            return 412, {"error": "the branch has moved on"}, {}
        for operation in operations:
            assert operation["key"] == "file", operation
            value = operation["value"]
            self.files[value["path"]] = base64.b64decode(value["content"]).decode()
        self.commits += 1
        return 200, {
            "success": True, "commitOid": self.sha, "hookOutput": "",
            "commitUrl": f"{self.url}/datasets/{REPO}/commit/{self.sha}",
        }, {}


def _served(hub: Hub) -> ThreadingHTTPServer:
    """Serves the hub from a thread; the caller shuts it down."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_: object) -> None:
            pass

        def _answer(self) -> None:
            given = self.rfile.read(int(self.headers.get("content-length", 0)))
            answer: Answer = 401, {"error": "Invalid username or password."}, {}
            if self.headers.get("authorization") == f"Bearer {TOKEN}":
                answer = hub.answer(self.path, given)
            status, value, headers = answer
            data = value if isinstance(value, bytes) else json.dumps(value).encode()
            self.send_response(status)
            for name, text in {**headers, "Content-Length": str(len(data))}.items():
                self.send_header(name, text)
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(data)

        do_HEAD = do_GET = do_POST = _answer

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    hub.url = f"http://127.0.0.1:{server.server_address[1]}"
    threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    return server
