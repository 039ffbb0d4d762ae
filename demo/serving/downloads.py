"""The files of a run: its patch, its tests, its log as JSON lines, and all of it in one zip.

They lie beside the page's own routes under `gradio_api`. A run's identifier is a random
UUID and the only thing needed to read it.
"""

from __future__ import annotations

import asyncio
import json
from pathlib import PurePosixPath
from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from agent.core.domain import Task
from agent.core.events import Stamped, to_jsonl
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
    """The route `gradio_api/heal/<run>/<what>`, for each file that `file_of` makes."""

    async def download(request: Request) -> Response:
        run, what = request.path_params["run"], request.path_params["what"]
        try:
            session = await host.session()
            log, task = session.log(run), session.task(run)
        except Unavailable as fault:
            return PlainTextResponse(f"{fault}\n", status_code=503)
        except KeyError:
            return PlainTextResponse("There is no such run here.\n", status_code=404)
        name, content = await asyncio.to_thread(file_of, what, task, log)
        if not content:
            return PlainTextResponse("This run has no such file.\n", status_code=404)
        return _file(content, f"heal-{run[:8]}{'-' if name[0] != '.' else ''}{name}")

    return Route("/gradio_api/heal/{run}/{what}", download)


def file_of(what: str, task: Task, log: tuple[Stamped, ...]) -> tuple[str, bytes]:
    """The end of a file's name, and what it holds; nothing where the run has none."""
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
        case "moments":  # by which the page replays a run
            return ".json", json.dumps(moments(log)).encode()
        case "healed":  # a whole project with its repair, to be healed further or taken along
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
