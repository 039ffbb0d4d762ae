"""Serves the page until a signal ends it."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import threading
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from datetime import UTC, datetime
from types import FrameType
from typing import NoReturn

import gradio as gr
from gradio import http_server
from gradio.exceptions import ServerFailedToStartError
from gradio.tunneling import CURRENT_TUNNELS
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from agent.core.settings import Settings
from agent.interfaces.servers.operations import readiness
from demo.layout.theme import ASSETS, PageTheme
from demo.serving.access import is_loopback
from demo.serving.api import bad_call
from demo.serving.downloads import download_route
from demo.serving.gate import Gate
from demo.serving.host import SessionHost
from demo.serving.sessions import Sessions

_DEFAULTS = Settings()
NO_STORE = {"Cache-Control": "no-store"}
DRAIN_S = 1.5
"""Seconds to save the state of runs after a signal to end; the process may be killed soon after."""


def serve(
    ui: gr.Blocks, host: SessionHost, server_name: str, server_port: int, *, share: bool = False,
    settings: Settings = _DEFAULTS,
) -> NoReturn:
    """Serves the page until interrupted, which ends the process.

    Args:
        share: Whether to serve it at a link of gradio.live too.

    Raises:
        OSError: The port is in use.
        ValueError: Other machines could reach the page, but `host.access` is not public.
    """
    if not host.access.public and (share or not is_loopback(server_name)):
        where = "a shared link" if share else server_name
        raise ValueError(f"{where} can be reached by other machines: use Access(public=True)")
    loops: list[asyncio.AbstractEventLoop] = []

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        loops.append(asyncio.get_running_loop())
        app.state_holder = Sessions(ui)  # type: ignore[attr-defined]  # it is Gradio's own kind
        app.router.routes[:0] = [download_route(host), health_route(host), ready_route(host)]
        async with host.serving():
            yield

    http_server.Server.run_in_thread = run_in_thread  # type: ignore[method-assign]
    with _end_signals() as received:
        ui.launch(
            server_name=server_name,
            server_port=server_port,
            prevent_thread_lock=True,
            # Otherwise Gradio aborts the start if an answer takes three seconds, as it can while a
            # run is resumed. `/healthz` reports whether the page works.
            _frontend=False,
            max_threads=256,
            ssr_mode=False,
            # Always set, because an environment variable of Gradio could open a public link.
            share=share,
            run_history=False,
            enable_monitoring=False,
            footer_links=["api"],
            theme=PageTheme(),
            css_paths=ASSETS / "page.css",
            js=(ASSETS / "page.js").read_text(encoding="utf-8"),
            app_kwargs={
                "lifespan": lifespan,
                "exception_handlers": {KeyError: bad_call, TypeError: bad_call},
                "middleware": [Middleware(
                    Gate, public=host.access.public, settings=settings, admit=host.admit,
                )],
            },
        )
        # Signals delivered to another thread are handled when the main thread wakes up.
        while not received:
            time.sleep(0.25)
    _exit(host, loops)


def health_route(host: SessionHost) -> Route:
    """Returns the route `/healthz`: 200 with the status while the server works or starts, 503 if it
    ends or its engine has failed. The reason is only in the server's log, since it may contain
    settings. `since` is the start of the server, from which an open page detects a restart."""
    since = datetime.now(UTC).isoformat(timespec="milliseconds")

    async def health(_: Request) -> JSONResponse:
        if host.status != "ready":
            status = 200 if host.status == "starting" else 503
            return JSONResponse({"status": host.status}, status, headers=NO_STORE)
        here = await host.running()
        return JSONResponse({
            "status": "ready", "jail": here.jail.level, "runs_code": not here.refusal,
            "runs": len(here.session.running()), "since": since,
        }, headers=NO_STORE)

    return Route("/healthz", health)


def ready_route(host: SessionHost) -> Route:
    """Returns the route `/readyz`: 200 if runs can be stored and code may run here, else 503 with
    what is missing and what to do."""

    async def ready(_: Request) -> JSONResponse:
        return JSONResponse(*readiness(await host.not_ready()), headers=NO_STORE)

    return Route("/readyz", ready)


def run_in_thread(server: http_server.Server) -> None:
    """Starts the server and waits until it answers. Gradio waits only five seconds, and on a busy
    machine then reports a free port as taken.

    Raises:
        ServerFailedToStartError: The server has ended, for example because the port is in use.
    """
    server.thread = threading.Thread(target=server.run, daemon=True)
    if server.reloader:  # on a Space
        server.watch_thread = threading.Thread(target=server.watch, daemon=True)
        server.watch_thread.start()
    server.thread.start()
    while not server.started:
        if not server.thread.is_alive():
            raise ServerFailedToStartError
        time.sleep(0.01)


@contextmanager
def _end_signals() -> Iterator[list[int]]:
    """Yields the received signals SIGINT (Ctrl+C) and SIGTERM.

    A signal handler must not use a lock, such as that of an `Event`, because it interrupts the main
    thread, which may hold it.
    """
    received: list[int] = []

    def ended(number: int, _frame: FrameType | None) -> None:
        received.append(number)

    before = {number: signal.signal(number, ended) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield received
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _exit(host: SessionHost, loops: list[asyncio.AbstractEventLoop]) -> NoReturn:
    """Saves every run for the next server, and ends the process. It does not wait for open
    connections, which last as long as their pages, or for cleanup of modules, which is slow."""
    for loop in loops:
        with suppress(TimeoutError):
            asyncio.run_coroutine_threadsafe(host.close(), loop).result(DRAIN_S)
    for tunnel in CURRENT_TUNNELS:
        tunnel.kill()  # type: ignore[no-untyped-call]
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)
