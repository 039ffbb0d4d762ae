"""A memory, a fix, and a Hub of our own: the few endpoints that sharing needs, on loopback."""

from __future__ import annotations

import base64
import hashlib
import json
import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from agent.memory import Failure, Fix, Memory

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


@pytest.fixture
def fix() -> Callable[..., Fix]:
    """Makes a fix of a small program under a failure's signature."""

    def make(signature: str = "s", before: str = "", after: str = "", **changes: object) -> Fix:
        failure = Failure(
            signature=signature, exception="wrong result", shape="failed",
            passed="0 of 1 tests pass",
        )
        return Fix(
            failure=failure.model_copy(update=changes),
            before=before or "def f(a, b):\n    return a + b\n",
            after=after or "def f(a, b):\n    return a - b\n",
            proof="E1", note="changed + to -",
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


def _served(hub: Hub) -> ThreadingHTTPServer:
    """Serves the hub from a thread; the caller shuts it down."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_: object) -> None:
            pass

        def do_HEAD(self) -> None:
            self._get(body=False)

        def do_GET(self) -> None:
            self._get(body=True)

        def do_POST(self) -> None:
            given = self.rfile.read(int(self.headers.get("content-length", 0)))
            if self._refused():
                return
            if self.path == "/api/repos/create":
                hub.exists, hub.made = True, json.loads(given)
                self._json(200, {"url": f"{hub.url}/datasets/{REPO}", "id": REPO})
            elif self.path == f"/api/datasets/{REPO}/preupload/main":
                files = json.loads(given)["files"]
                self._json(200, {"files": [
                    {"path": one["path"], "uploadMode": "regular", "shouldIgnore": False}
                    for one in files
                ]})
            elif self.path == f"/api/datasets/{REPO}/commit/main":
                hub.before_commit()
                self._commit([json.loads(line) for line in given.splitlines() if line])
            else:
                self._json(404, {"error": "no such endpoint"})

        def _commit(self, lines: list[dict[str, Any]]) -> None:
            header, *operations = lines
            if header["value"].get("parentCommit") != hub.sha:
                self._json(412, {"error": "the branch has moved on"})
                return
            for operation in operations:
                assert operation["key"] == "file", operation
                value = operation["value"]
                hub.files[value["path"]] = base64.b64decode(value["content"]).decode()
            hub.commits += 1
            self._json(200, {
                "success": True, "commitOid": hub.sha, "hookOutput": "",
                "commitUrl": f"{hub.url}/datasets/{REPO}/commit/{hub.sha}",
            })

        def _get(self, *, body: bool) -> None:
            if self._refused():
                return
            path = self.path.partition("?")[0]
            if not hub.exists:
                self._json(404, {"error": "gone"}, {"X-Error-Code": "RepoNotFound"})
            elif path.startswith(f"/api/datasets/{REPO}"):
                self._json(200, {"id": REPO, "sha": hub.sha, "private": True})
            elif path.startswith(f"/datasets/{REPO}/resolve/"):
                name = path.rpartition("/")[2]
                if name in hub.files:
                    self._file(hub.files[name].encode(), body=body)
                else:
                    self._json(404, {"error": "none"}, {"X-Error-Code": "EntryNotFound"})
            else:
                self._json(404, {"error": "no such endpoint"})

        def _refused(self) -> bool:
            if self.headers.get("authorization") == f"Bearer {TOKEN}":
                return False
            self._json(401, {"error": "Invalid username or password."})
            return True

        def _file(self, data: bytes, *, body: bool) -> None:
            self.send_response(200)
            digest = hashlib.sha1(data, usedforsecurity=False).hexdigest()
            self.send_header("ETag", f'"{digest}"')
            self.send_header("X-Repo-Commit", hub.sha)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            if body:
                self.wfile.write(data)

        def _json(
            self, status: int, value: object, headers: dict[str, str] | None = None
        ) -> None:
            data = json.dumps(value).encode()
            self.send_response(status)
            for name, text in {"Content-Type": "application/json", **(headers or {})}.items():
                self.send_header(name, text)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(data)

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    hub.url = f"http://127.0.0.1:{server.server_address[1]}"
    threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    return server
