"""Whether the page works, for whoever watches over it: `GET /healthz`."""

from __future__ import annotations

from datetime import UTC, datetime

from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from demo.serving.host import Host

NOT_KEPT = {"Cache-Control": "no-store"}


def health_route(host: Host) -> Route:
    """The route: 200 with what works, 503 while the engine is not ready or where it does not work.
    Why it does not stands in the server's log, since it may name what is set. By `since`, when the
    server began, an open page knows whether it is another one by now."""
    since = datetime.now(UTC).isoformat(timespec="milliseconds")

    async def health(_: Request) -> JSONResponse:
        if host.standing != "ready":
            return JSONResponse({"status": host.standing}, 503, headers=NOT_KEPT)
        here = await host.running()
        return JSONResponse({
            "status": "ready", "jail": here.jail.level, "runs_code": not here.refusal,
            "runs": len(here.session.going()), "since": since,
        }, headers=NOT_KEPT)

    return Route("/healthz", health)
