"""Runs in a session of their own."""

from __future__ import annotations

import tempfile
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TypeVar

from agent.domain import Task
from agent.intake import paste
from agent.session import Session, Settings, open_session

T = TypeVar("T")


async def in_session(measure: Callable[[Session], Awaitable[T]]) -> T:
    """What is measured in a session without a model, whose folder is fresh."""
    with tempfile.TemporaryDirectory() as folder:
        async with open_session(Settings(provider="mock", data_dir=Path(folder))) as session:
            return await measure(session)


def task_of(code: str, tests: str) -> Task:
    """A program and its tests, as a user pastes them."""
    return paste(code, tests).task


async def finished(session: Session, task: Task) -> str:
    """The name of a run that has come to its end."""
    run = await session.start(task)
    async for _ in session.follow(run):
        pass
    return run
