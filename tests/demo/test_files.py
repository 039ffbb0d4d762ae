"""The program's own files are read and compressed once."""

from __future__ import annotations

import brotli  # type: ignore[import-untyped]  # it has no types
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Route
from starlette.testclient import TestClient

from demo.serving.files import Files

TEXT = "let x = 1;\n" * 1_000


def test_a_file_is_read_once_and_kept_as_it_is_sent_but_nothing_else() -> None:
    read: list[str] = []

    async def answer(request: Request) -> PlainTextResponse:
        read.append(request.url.path)
        return PlainTextResponse(TEXT, 404 if "none" in request.url.path else 200)

    app = Files(Starlette(routes=[Route("/{path:path}", answer)]))
    client = TestClient(app, headers={"accept-encoding": "br"})
    for _ in range(2):
        with client.stream("GET", "/assets/a.js") as told:
            sent = b"".join(told.iter_raw())
        assert told.headers["content-encoding"] == "br" and len(sent) < len(TEXT) / 20
        assert brotli.decompress(sent).decode() == TEXT
    for path, headers in (
        ("/assets/a.js", {"accept-encoding": "gzip"}), ("/assets/a.woff2", {}),
        ("/assets/none.js", {}), ("/run", {}), ("/assets/a.js", {"range": "bytes=0-4"}),
    ):
        for _ in range(2):
            assert len(client.get(path, headers=headers).content) == len(TEXT)
    assert read == [
        "/assets/a.js", "/assets/a.js", "/assets/a.woff2",
        *["/assets/none.js"] * 2, *["/run"] * 2, *["/assets/a.js"] * 2,
    ]
