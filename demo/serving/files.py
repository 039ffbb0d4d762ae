"""The program's own files, which each page loads dozens of, kept in memory as they are sent: read
and compressed once, they are there when a page asks."""

from __future__ import annotations

import brotli  # type: ignore[import-untyped]  # it has no types
from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

LOADED = ("/static/", "/assets/", "/svelte/")
"""Where they stand."""
MOST_KEPT = 500
_COMPRESSED = (".js", ".css", ".svg", ".json")


class Files:
    """Wraps the server's application; used from its event loop."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._kept: dict[tuple[str, bool], list[Message]] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        path, asked = scope.get("path", ""), scope.get("method", "")
        headers = Headers(raw=scope.get("headers", []))
        if not (path.startswith(LOADED) and asked == "GET") or "range" in headers:
            await self._app(scope, receive, send)
            return
        small = path.endswith(_COMPRESSED) and "br" in headers.get("accept-encoding", "")
        answer = self._kept.get((path, small))
        if answer is None:
            answer = await self._read(scope, receive, small)
            if answer[0]["status"] == 200 and len(self._kept) < MOST_KEPT:
                self._kept[path, small] = answer
        for message in answer:
            await send({**message, "headers": [*message.get("headers", ())]})

    async def _read(self, scope: Scope, receive: Receive, small: bool) -> list[Message]:
        told: list[Message] = []

        async def noted(message: Message) -> None:
            told.append(message)

        await self._app(scope, receive, noted)
        start, *parts = told
        body = b"".join(one.get("body", b"") for one in parts)
        headers = MutableHeaders(raw=start["headers"])
        if small and start["status"] == 200:
            body = brotli.compress(body, quality=9)
            headers["content-encoding"] = "br"
            headers.add_vary_header("accept-encoding")
        headers["content-length"] = str(len(body))
        return [start, {"type": "http.response.body", "body": body}]
