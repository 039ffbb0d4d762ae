"""ASGI middleware for every request: open routes, limits on size and rate, and the cookie that
identifies visitors of a public page.

Gradio has many routes that this page does not need, and each release adds more. Routes that are not
listed here return 404.
"""

from __future__ import annotations

import html
import json
import re
from collections import Counter
from collections.abc import Callable
from typing import Any

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import HTMLResponse, JSONResponse, PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from agent.core.settings import Settings
from agent.interfaces.project.upload import MAX_UPLOAD
from demo.serving import visitors
from demo.serving.access import is_loopback
from demo.serving.limits import MINUTE_S, LimitExceeded, Rate

_API = "/gradio_api/"
_ALLOWED_PATHS = re.compile(
    r"/(healthz|readyz|config|robots\.txt|favicon\.ico|manifest\.json|theme\.css|pwa_icon(/\d+)?)?/?"
    r"|/(static|assets|svelte)(/.*)?"
    rf"|{_API}(info|openapi\.json|startup-events|app_id|login_check|theme\.css)/?"
    rf"|{_API}(queue/(join|data)|reset|cancel)/?"
    rf"|{_API}(run|call|heal|heartbeat)(/.*)?"
)
_WORK_CALLS = re.compile(rf"{_API}call/(v2/)?(heal_code|check_code|fork)/?")
"""Calls that start work; they are refused before the queue if the limits are reached."""
_LOADED = ("/static/", "/assets/", "/svelte/")
"""The page's own files, of which each page loads dozens."""
_STREAMS = (f"{_API}queue/data", f"{_API}heartbeat/", f"{_API}call/")
MAX_STREAMS = 100
"""Concurrent responses to one address; a page uses two or three."""
ROOM = 16
"""Bytes of a request for each allowed character of input: it is sent twice, with up to six bytes a
character."""
LEAST_BODY = 2 * MAX_UPLOAD
"""The lowest limit in bytes, because uploaded files are values of a field."""
PAGE = (
    '<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" '
    'content="width=device-width"><meta name="color-scheme" content="light dark">'
    "<title>Self-Healing Code Agent</title><body style=\"font: 16px/1.5 system-ui, sans-serif; "
    'max-width: 34em; margin: 15vh auto; padding: 0 1em"><h1 style="font-size: 1.2em">'
    'Self-Healing Code Agent</h1><p>{}</p><p><a href="">Reload</a></p>'
)
"""The HTML of a refusal."""


class TooLarge(Exception):
    """The body of a request exceeds the limit."""


class Gate:
    """Wraps the server's application; used from its event loop."""

    def __init__(
        self, app: ASGIApp, *, public: bool, settings: Settings,
        admit: Callable[[str, str], None] = lambda _word, _address: None,
    ) -> None:
        """`admit` raises `LimitExceeded` if a visitor token or an address may not start work."""
        self._app = app
        self._admit = admit
        self._public = public
        self._settings = settings
        self._most = max(LEAST_BODY, ROOM * settings.largest_input)
        self._rate = Rate()
        self._streams: Counter[str] = Counter()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self._app(scope, receive, send)
            return
        headers, path = Headers(scope=scope), scope["path"]
        refusal = self._refusal(scope["method"], path, headers, _address(scope))
        if refusal is not None:
            if "text/html" in headers.get("accept", ""):
                refusal = _page(refusal)
            await refusal(scope, receive, send)
            return
        if path == "/":
            send = self._with_new_cookie(scope, headers, send)
        await self._bounded(scope, receive, send)

    def _refusal(self, method: str, path: str, headers: Headers, address: str) -> Response | None:
        if not _ALLOWED_PATHS.fullmatch(path):
            return PlainTextResponse("This page does not exist.\n", status_code=404)
        if not self._public:
            # Against DNS rebinding: another site's host name could point to this machine.
            if not is_loopback(re.sub(r":\d*$", "", headers.get("host", "").lower())):
                return _refused(403, "This page can be opened only on its own machine, as "
                                     "localhost. To use another name, set GRADIO_SERVER_NAME.")
            # All requests are the owner's, except those that another site's page triggers.
            return None if method in ("GET", "HEAD") or visitors.same_site(headers) else _refused(
                403, "Requests from other sites are not allowed. Open this page and use it there."
            )
        length = headers.get("content-length", "")
        if length.isdecimal() and int(length) > self._most:
            return self._too_large()
        if path.startswith(_LOADED):
            return None
        wait_s = self._rate.seconds_until_free(address, self._settings.request_rate)
        if wait_s or (path.startswith(_STREAMS) and self._streams[address] >= MAX_STREAMS):
            wait_s = wait_s or MINUTE_S
            return _refused(
                429, "Too many requests came from your address. Wait "
                f"{wait_s:.0f} seconds, then reload the page. Your runs continue.", wait_s,
            )
        self._rate.count(address)
        if method == "POST" and _WORK_CALLS.fullmatch(path):
            try:
                self._admit(visitors.visitor_token(headers), address)
            except LimitExceeded as full:
                return _refused(429, str(full), full.after_s or MINUTE_S)
        return None

    def _with_new_cookie(self, scope: Scope, headers: Headers, send: Send) -> Send:
        """Sets the cookie with a token for a new browser."""
        if not self._public or visitors.cookie_token(headers):
            return send
        secure = "https" in (scope["scheme"], headers.get("x-forwarded-proto"))
        given = visitors.cookie(visitors.new_token(), secure=secure)

        async def with_cookie(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).append("set-cookie", given)
            await send(message)

        return with_cookie

    async def _bounded(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handles a request with a limit on its body, and counts the concurrent responses."""
        address, received, started = _address(scope), 0, False

        async def counted() -> Message:
            nonlocal received
            message = await receive()
            received += len(message.get("body", b""))
            if self._public and received > self._most:
                raise TooLarge
            return message

        async def noted(message: Message) -> None:
            nonlocal started
            started = True
            await send(message)

        self._streams[address] += 1
        try:
            await self._app(scope, counted, noted)
        except TooLarge:
            if not started:
                await self._too_large()(scope, receive, send)
        finally:
            self._streams[address] -= 1
            if not self._streams[address]:
                del self._streams[address]

    def _too_large(self) -> JSONResponse:
        return _refused(413, (
            f"The input is too large; at most {self._settings.largest_input:,} characters are "
            "allowed. Send only the part that fails."
        ))


def _address(scope: Scope) -> str:
    client: Any = scope.get("client")
    return visitors.network(client[0]) if client else ""


def _page(refusal: Response) -> Response:
    body = bytes(refusal.body)
    text = json.loads(body)["detail"] if isinstance(refusal, JSONResponse) else body.decode()
    headers = {name: refusal.headers[name] for name in ("retry-after",) if name in refusal.headers}
    return HTMLResponse(PAGE.format(html.escape(text)), refusal.status_code, headers)


def _refused(status: int, text: str, after_s: float = 0.0) -> JSONResponse:
    headers = {"Retry-After": f"{after_s:.0f}"} if after_s else {}
    return JSONResponse({"detail": text, "error": text}, status, headers=headers)
