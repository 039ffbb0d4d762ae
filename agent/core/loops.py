"""Runs coroutines from synchronous code, and blocking code in threads."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from functools import wraps
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")

in_thread = asyncio.to_thread
"""Runs slow synchronous work in a thread, so that the event loop is not blocked."""


def run_coroutine(work: Coroutine[object, object, T]) -> T:
    """Runs a coroutine to its end, in a new thread if this one has a running event loop."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work)
    started: list[tuple[asyncio.AbstractEventLoop, asyncio.Task[T]]] = []

    async def recorded() -> T:
        task = asyncio.ensure_future(work)
        started.append((asyncio.get_running_loop(), task))
        return await task

    with ThreadPoolExecutor(1, thread_name_prefix="heal") as pool:
        future = pool.submit(asyncio.run, recorded())
        try:
            return future.result()
        except KeyboardInterrupt:
            for loop, task in started:
                loop.call_soon_threadsafe(task.cancel)
            raise


def blocking(function: Callable[P, Coroutine[object, object, T]]) -> Callable[P, T]:
    """A synchronous version of a coroutine function, named without its leading `a`."""

    @wraps(function)
    def run(*args: P.args, **named: P.kwargs) -> T:
        return run_coroutine(function(*args, **named))

    run.__name__ = function.__name__.removeprefix("a")
    run.__qualname__ = function.__qualname__.removesuffix(function.__name__) + run.__name__
    return run
