"""The files of a run: its patch, and its log as JSON lines.

They lie beside the page's own routes under `gradio_api`. A run's identifier is a random
UUID and the only thing needed to read it.
"""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from agent.core.events import to_jsonl
from agent.log.result import fold
from demo.host import Host
from demo.render import patch_of


def download_route(host: Host) -> Route:
    """The route `gradio_api/heal/<run>/patch` and `…/log`."""

    async def download(request: Request) -> Response:
        run, what = request.path_params["run"], request.path_params["what"]
        session = await host.session()
        try:
            log = session.log(run)
        except KeyError:
            return PlainTextResponse("There is no such run here.\n", status_code=404)
        if what == "log":
            return _file(to_jsonl(log), f"heal-{run[:8]}.jsonl")
        patch = patch_of(fold(log))
        if what != "patch" or not patch:
            return PlainTextResponse("This run has no such file.\n", status_code=404)
        return _file(patch, f"heal-{run[:8]}.patch")

    return Route("/gradio_api/heal/{run}/{what}", download)


def _file(text: str, name: str) -> Response:
    return Response(
        text.encode("utf-8", "surrogatepass"),
        media_type="text/plain; charset=utf-8",
        headers={
            "Content-Disposition": f'attachment; filename="{name}"',
            "X-Content-Type-Options": "nosniff",
            "Cache-Control": "no-store",
        },
    )
