"""What the operator of a page or a worker sees: readiness, and on request logs, traces, metrics."""

from __future__ import annotations

import logging
import sqlite3
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

from agent.core.settings import BadSettings
from sandbox import SandboxError
from sandbox.levels import SAFE_FOR_PUBLIC

if TYPE_CHECKING:
    from agent.loop.session import Session

ADVICE = {
    "session": "The engine is starting or has failed; the log of this process says why.",
    "store": "Runs cannot be read and written. Check the database, or the disk of HEAL_DATA_DIR.",
    "jail": "The jail is missing or too weak for code of other people: run `python -m sandbox "
    "selftest` on this machine.",
}
"""What to do about each part that is not ready; without values of settings, as anybody reads it."""


async def not_ready(session: Session, *, any_jail: bool) -> tuple[str, ...]:
    """The names in `ADVICE` of what prevents new runs; with `any_jail`, a weak jail does not."""
    missing = []
    try:
        session.store.check()
    except (BadSettings, sqlite3.Error):
        missing.append("store")
    try:
        weak = not any_jail and (await session.jail()).level not in SAFE_FOR_PUBLIC
    except SandboxError:
        weak = True
    return (*missing, *(["jail"] if weak else []))


def readiness(missing: tuple[str, ...]) -> tuple[dict[str, object], int]:
    """The JSON and the status that `/readyz` answers."""
    advice = {name: ADVICE[name] for name in missing}
    return {"ready": not missing, "missing": advice}, 503 if missing else 200


@contextmanager
def operated(session: Session) -> Iterator[None]:
    """Shows the session's runs to the operator as its settings ask; used in its event loop. Raises
    `BadSettings` if a package is missing or the port is taken."""
    settings = session.settings
    with ExitStack() as stack:
        try:
            if settings.log_format == "json":
                from agent.operation.logs import log_event, start_json_logs

                handler = start_json_logs()
                handler.addFilter(session.models.log_redaction)
                stack.callback(logging.root.removeHandler, handler)
                session.bus.observers.append(log_event)
            if settings.traces:
                from agent.operation.traces import Traces

                session.bus.observers.append(stack.enter_context(Traces()).observe)
            if settings.metrics_port:
                from agent.operation.metrics import Metrics

                metrics = Metrics(session.store)
                session.bus.observers.append(metrics.observe)
                stack.enter_context(metrics.served(settings.metrics_host, settings.metrics_port))
        except ModuleNotFoundError as error:
            raise BadSettings(
                f"HEAL_METRICS_PORT and HEAL_TRACES need the package {error.name}: install "
                "`self-healing-code-agent[operation]`."
            ) from error
        yield
