"""Serves the files of a run: its patch, tests, log as JSON lines, and a zip of all files. The id of
a run is a random UUID, and enough to read it."""

from __future__ import annotations

import asyncio
import json
from pathlib import PurePosixPath
from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from agent.core.domain import Task
from agent.core.events import LogEntry, to_jsonl
from agent.interfaces.bundle import (
    bundle,
    healed_project,
    packed,
    patch,
    regression_tests,
    rejection,
)
from agent.report.result import fold
from demo.panels.replay import moments
from demo.serving.host import SessionHost, Unavailable


def download_route(host: SessionHost) -> Route:
    """Returns the route `gradio_api/heal/<run>/<what>` for the files of `file_of`."""

    async def download(request: Request) -> Response:
        run, what = request.path_params["run"], request.path_params["what"]
        try:
            session = await host.session()
            log, task = session.log(run), session.task(run)
        except Unavailable as fault:
            return PlainTextResponse(f"{fault}\n", status_code=503)
        except KeyError:
            words = "This run was not found: its link is wrong, or its log was deleted.\n"
            return PlainTextResponse(words, status_code=404)
        name, content = await asyncio.to_thread(file_of, what, task, log)
        if not content:
            return PlainTextResponse("This run has no such file.\n", status_code=404)
        return _file(content, f"heal-{run[:8]}{'-' if name[0] != '.' else ''}{name}")

    return Route("/gradio_api/heal/{run}/{what}", download)


def file_of(what: str, task: Task, log: tuple[LogEntry, ...]) -> tuple[str, bytes]:
    """Returns the end of a file's name and its content; empty if the run has no such file."""
    result = fold(log)
    match what:
        case "patch":
            return f"{rejection(result).replace(' ', '-')}.patch", patch(result)
        case "log":
            return ".jsonl", to_jsonl(log).encode("utf-8", "surrogatepass")
        case "tests":  # several of them in a zip
            files = {file.path: _bytes(file.text) for file in regression_tests(task, result)}
            if len(files) > 1:
                return "tests.zip", packed(files)
            return next(((PurePosixPath(path).name, text) for path, text in files.items()), NONE)
        case "bundle" if log and log[-1].final:
            return ".zip", bundle(task, log)
        case "moments":  # for the replay on the page
            return ".json", json.dumps(moments(log)).encode()
        case "healed":  # a whole project with its repair
            files = {path: _bytes(text) for path, text in healed_project(task, result).items()}
            return ("healed.zip", packed(files)) if files else NONE
    return NONE


NONE = ("", b"")


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def _file(content: bytes, name: str) -> Response:
    return Response(
        content,
        media_type="application/zip" if name.endswith(".zip") else "text/plain; charset=utf-8",
        headers={
            "Content-Disposition": f"attachment; filename*=UTF-8''{quote(name)}",
            "X-Content-Type-Options": "nosniff",
            "Cache-Control": "no-store",
        },
    )
