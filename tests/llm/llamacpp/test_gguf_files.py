"""A model's file comes from the Hub by its own client: whole, checked, and gone on with."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from llm.errors import NoProvider
from llm.providers.llamacpp import files

pytest.importorskip("huggingface_hub")

ROOT = Path(__file__).parents[3]
NAME = "maker/small:small.gguf"
CONTENT = b"GGUF" + os.urandom(25_000_000)
"""Longer than what the Hub's client writes at once, 10 MB."""
FETCH = """
import json, sys
from llm.errors import LlmError
from llm.keys import NO_KEY
from llm.providers.llamacpp.files import fetch_file
seen = []
try:
    path = fetch_file(sys.argv[1], NO_KEY, lambda here, whole: seen.append((here, whole)))
    print(json.dumps({"path": str(path), "seen": seen}))
except LlmError as error:
    print(json.dumps({"kind": type(error).__name__, "error": str(error), "seen": seen}))
"""


class Hub:
    """A file of a repository, as the Hub serves it."""

    def __init__(self) -> None:
        self.content = CONTENT
        self.etag = hashlib.sha256(CONTENT).hexdigest()
        self.left = 10**9
        """Bytes that it sends until its network breaks down."""
        self.asked: list[tuple[str, str]] = []
        hub = self

        class Handler(BaseHTTPRequestHandler):
            def log_message(self, *_: object) -> None:
                """Nothing is logged."""

            def do_HEAD(self) -> None:
                self.answer()

            def do_GET(self) -> None:
                begin = self.answer()
                if begin is not None:
                    sent = hub.content[begin : begin + hub.left]
                    hub.left -= len(sent)
                    self.wfile.write(sent)

            def answer(self) -> int | None:
                wanted = self.headers.get("Range", "")
                hub.asked.append((self.command, wanted))
                if self.path != "/maker/small/resolve/main/small.gguf":
                    self.send_response(404)
                    known = self.path.startswith("/maker/small/")
                    self.send_header("X-Error-Code", "EntryNotFound" if known else "RepoNotFound")
                    self.send_header("Content-Length", "0")
                    self.end_headers()
                    return None
                begin = int(wanted.removeprefix("bytes=").partition("-")[0]) if wanted else 0
                self.send_response(206 if wanted else 200)
                size = len(hub.content)
                if wanted:
                    self.send_header("Content-Range", f"bytes {begin}-{size - 1}/{size}")
                self.send_header("Content-Length", str(size - begin))
                self.send_header("ETag", f'"{hub.etag}"')
                self.send_header("X-Repo-Commit", "0" * 40)
                self.end_headers()
                return begin

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self.server.server_port}"


@pytest.fixture
def hub() -> Iterator[Hub]:
    made = Hub()
    yield made
    made.server.shutdown()
    made.server.server_close()


def fetch(hub: Hub, folder: Path, name: str = NAME, **more: str) -> dict[str, Any]:
    """What a process of its own comes to, which has its own cache."""
    environment = {
        "PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), "HF_ENDPOINT": hub.url,
        "HF_HOME": str(folder), "HF_HUB_DOWNLOAD_TIMEOUT": "2", "HF_HUB_ETAG_TIMEOUT": "2", **more,
    }
    done = subprocess.run(
        [sys.executable, "-c", FETCH, name], env=environment, capture_output=True, text=True,
        timeout=120, check=True,
    )
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@pytest.mark.nightly
def test_a_file_is_downloaded_once_with_progress(hub: Hub, tmp_path: Path) -> None:
    first = fetch(hub, tmp_path)
    assert Path(first["path"]).read_bytes() == CONTENT
    here = [one for one, _ in first["seen"]]
    assert here == sorted(here)
    assert first["seen"][-1] == [len(CONTENT), len(CONTENT)]
    calls = len(hub.asked)
    hub.server.shutdown()
    again = fetch(hub, tmp_path, HF_HUB_OFFLINE="1")
    assert (again["path"], again["seen"], len(hub.asked)) == (first["path"], [], calls)


@pytest.mark.nightly
def test_a_download_that_broke_off_is_gone_on_with(hub: Hub, tmp_path: Path) -> None:
    hub.left = 12_000_000
    assert fetch(hub, tmp_path)["kind"] == "ProviderDown"
    hub.left = 10**9
    before = len(hub.asked)
    found = fetch(hub, tmp_path)
    assert Path(found["path"]).read_bytes() == CONTENT
    ranges = [wanted for method, wanted in hub.asked[before:] if method == "GET"]
    assert ranges[-1] == f"bytes={2**20 * 10}-"


@pytest.mark.nightly
def test_a_file_with_another_checksum_is_deleted_and_refused(hub: Hub, tmp_path: Path) -> None:
    hub.content = CONTENT[:-1] + bytes([CONTENT[-1] ^ 1])
    found = fetch(hub, tmp_path)
    assert found["kind"] == "ProviderDown"
    hub.content = CONTENT
    assert Path(fetch(hub, tmp_path)["path"]).read_bytes() == CONTENT


@pytest.mark.parametrize(("name", "fact"), [
    ("maker/small:other.gguf", "other.gguf"), ("maker/none:small.gguf", "maker/none"),
    ("maker/small", "maker/small"),
])
@pytest.mark.nightly
def test_an_unknown_file_name_is_refused(hub: Hub, tmp_path: Path, name: str, fact: str) -> None:
    found = fetch(hub, tmp_path, name)
    assert (found["kind"], fact in found["error"]) == ("UnknownModel", True)


@pytest.mark.nightly
def test_without_network_the_next_step_is_a_file(hub: Hub, tmp_path: Path) -> None:
    hub.server.shutdown()
    hub.server.server_close()
    found = fetch(hub, tmp_path)
    assert (found["kind"], "GGUF_MODEL" in found["error"]) == ("ProviderDown", True)


def test_a_full_disk_stops_before_the_download(tmp_path: Path) -> None:
    with pytest.raises(NoProvider, match=r"[\d,]+ MiB.*[\d,]+ MiB"):
        files._require_disk_space(2**60, tmp_path / "not" / "made", NAME)
