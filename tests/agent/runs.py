"""Whole runs without a model, with the real sandbox, judge and search."""

from __future__ import annotations

import io
from contextlib import chdir, redirect_stdout
from pathlib import Path
from typing import Any

from agent.core.domain import Task
from agent.core.events import LogEntry, RunFinished, without_retries
from agent.core.settings import Settings
from agent.loop.session import Session, open_session
from agent.target.task import from_page

Log = tuple[LogEntry, ...]


PROVING_S = 60.0
"""`proof_s` of tests of a proof: a loaded machine must not decide how far it comes."""


def settings(folder: Path, **changes: object) -> Settings:
    return Settings.from_env({}, provider="mock", data_dir=folder, **{
        "proof_s": 0.0, "require_confidence": 0.0, **changes
    })


async def followed(session: Session, run: str, after: int = 0) -> Log:
    """The log of a run that has ended, or waits."""
    async for _ in session.follow(run, after):
        pass
    return without_retries(session.log(run))


async def finished(session: Session, task: Task, **given: Any) -> Log:
    """The log of a whole run."""
    return await followed(session, await session.start(task, **given))


async def healed(folder: Path, code: str, tests: str) -> Log:
    """The log of a whole run in a session of its own."""
    async with open_session(settings(folder)) as session:
        return await finished(session, from_page(code, tests).task)


def last(log: Log) -> RunFinished:
    event = log[-1].event
    assert isinstance(event, RunFinished), event
    return event


def printed(code: str, folder: Path) -> str:
    """What an example of a document prints there."""
    told = io.StringIO()
    with chdir(folder), redirect_stdout(told):
        exec(compile(code, "the example", "exec"), {"__name__": "__main__"})
    return told.getvalue()


def of_kind(log: Log, kind: str) -> list[Any]:  # of the kind that is named
    return [entry.event for entry in log if entry.event.kind == kind]
