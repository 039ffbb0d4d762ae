"""Where the rows of a measurement run: in processes of this machine, or on the nodes of a cluster.

Only the driver, which is the process of the command, writes results, as they come and each row
once. An executor takes a row only when it can start it, so no queue grows in memory. The next start
of the same command measures the rows without a line.
"""

from __future__ import annotations

import argparse
import asyncio
import fcntl
import importlib
import json
import multiprocessing
import os
import signal
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from datetime import datetime, timedelta
from typing import Any, Protocol

from agent.core.settings import BadSettings, Settings
from agent.interfaces.exits import HEALED, INTERRUPTED, USAGE
from evaluation.lines import JsonLinesFile, count, for_each, not_negative
from evaluation.nodes import Function, NodeFacts, NodeModel, describe_node, run_row
from llm import LlmError
from sandbox import SandboxError

NODES = "nodes.json"
ROW_END_S = 30.0
"""How long the rows of a cancelled measurement may take to clean up."""


class ExecutorError(Exception):
    """Rows cannot run, or some did not; the message says what to do."""


class Executor(Protocol):
    """Runs the rows of a measurement."""

    workers: int
    """The largest number of rows at a time."""
    nodes: Sequence[NodeFacts]
    """The machines that take rows, as they were checked at the start."""

    async def run(
        self, function: Function, items: Mapping[str, Any], add: Callable[[str, Any], None]
    ) -> None:
        """Measures all items, and ends what it started if it is cancelled.

        Args:
            function: Measures an item; its exception ends the measurement.
            items: The items by id.
            add: Takes the id of a row and its result, in this process, as the results come.

        Raises:
            ExecutorError: Some rows have no result, for a reason that is not the function's.
        """


class LocalExecutor:
    """Measures one row after another in this process, or several in processes of their own."""

    def __init__(self, workers: int, nodes: Sequence[NodeFacts], model: NodeModel | None) -> None:
        self.workers = workers
        self.nodes = nodes
        self._model = model

    async def run(
        self, function: Function, items: Mapping[str, Any], add: Callable[[str, Any], None]
    ) -> None:
        if self.workers == 1:
            for key, item in items.items():
                add(key, await function(item))
            return
        context = multiprocessing.get_context("spawn")  # this process has threads
        pool = ProcessPoolExecutor(min(self.workers, len(items) or 1), context, _start_worker)
        loop = asyncio.get_running_loop()

        async def act(key: str) -> None:
            environment = await self._model.environment() if self._model else {}
            add(key, await loop.run_in_executor(pool, run_row, function, items[key], environment))

        try:
            await for_each(items, act, self.workers)
        except BaseException as error:
            processes = multiprocessing.active_children()
            pool.shutdown(wait=False, cancel_futures=True)
            for process in processes:
                process.terminate()
            for process in processes:  # their rows clean up first
                await asyncio.to_thread(process.join, ROW_END_S)
            if isinstance(error, BaseExceptionGroup) and error.subgroup(BrokenProcessPool):
                raise ExecutorError(
                    "A worker process was killed, probably for lack of memory. Finished rows are "
                    "saved: run the same command to continue, with fewer --workers."
                ) from error
            raise
        finally:
            await asyncio.to_thread(pool.shutdown)


def _start_worker() -> None:
    """Lets only the driver react to Ctrl-C. It terminates its workers, whose rows then clean up."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, _end_worker)


def _end_worker(*_: object) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)  # the pool may send another while a row cleans up
    sys.exit(1)


@asynccontextmanager
async def open_local(args: argparse.Namespace, settings: Settings) -> AsyncIterator[Executor]:
    """Opens processes on this machine. Raises `SandboxError`, `LlmError`."""
    workers = args.workers or 1
    model = NodeModel(settings) if workers > 1 else None
    facts = await describe_node(settings)
    print(facts["jail_words"], file=sys.stderr, flush=True)
    yield LocalExecutor(workers, [facts], model)


async def measure(
    items: Mapping[str, Any], function: Function, executor: Executor, lines: JsonLinesFile[Any],
    add: Callable[[Any], str],
) -> None:
    """Measures the items without a line.

    Args:
        add: Writes the line of a result, and returns the words for its progress.

    Raises:
        ExecutorError: Another command writes to the same file, or rows could not run.
    """
    pending = {key: item for key, item in items.items() if key not in lines.by_id}
    started, finished = time.monotonic(), 0

    def write(key: str, result: Any) -> None:
        nonlocal finished
        if key not in lines.by_id:
            finished += 1
            seconds = (time.monotonic() - started) / finished
            words = progress(finished, len(pending), seconds)
            print(words.format(add(result)), file=sys.stderr, flush=True)

    with _sole_writer(lines):
        try:
            await executor.run(function, pending, write)
        except BaseExceptionGroup as group:
            raise group.exceptions[0] from None


def progress(finished: int, rows: int, row_s: float) -> str:
    """A template for the words about a row, with the number of rows and the estimated end."""
    left = timedelta(seconds=round(row_s * (rows - finished)))
    rest = f" ({left} left, until {datetime.now() + left:%H:%M})" if finished < rows else ""
    return f"{finished}/{rows} {{}}{rest}"


@contextmanager
def _sole_writer(lines: JsonLinesFile[Any]) -> Iterator[None]:
    """Locks the file of the lines for this process."""
    if lines.path is None:
        yield
        return
    with lines.path.with_name(f".{lines.path.name}.lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise ExecutorError(
                f"Another command writes to {lines.path}. Wait for its end, or choose another "
                "--out."
            ) from None
        yield


def run_measurement(
    args: argparse.Namespace, items: Mapping[str, Any], function: Function,
    lines: JsonLinesFile[Any], add: Callable[[Any], str], settings: Settings | None = None,
) -> int:
    """Measures the items with the executor of a command's options; returns the exit code. The file
    `NODES` beside the lines says where. Arguments as in `measure`."""
    async def run() -> None:
        async with open_executor(args, settings or Settings.from_env()) as executor:
            if lines.path is not None:
                where = {"executor": args.executor, "workers": executor.workers,
                         "nodes": [*executor.nodes]}
                lines.path.with_name(NODES).write_text(json.dumps(where, indent=2), "utf-8")
            await measure(items, function, executor, lines, add)

    try:
        asyncio.run(run())
    except (BadSettings, ExecutorError, LlmError, SandboxError) as error:
        print(error, file=sys.stderr)
        return USAGE
    except KeyboardInterrupt:
        print("Interrupted. Run the same command to continue.", file=sys.stderr)
        return INTERRUPTED
    return HEALED


EXECUTORS: Mapping[str, tuple[str, str]] = {
    "local": (__name__, "open_local"), "ray": ("evaluation.ray_executor", "open_ray"),
}
"""The module and function that opens each executor."""


def open_executor(
    args: argparse.Namespace, settings: Settings
) -> AbstractAsyncContextManager[Executor]:
    """Opens the executor that the options of `add_executor_options` choose.

    Raises:
        ExecutorError: It is not installed, or does not answer.
        SandboxError: This machine has no sandbox.
    """
    module, name = EXECUTORS[args.executor]
    try:
        opener = getattr(importlib.import_module(module), name)
    except ModuleNotFoundError as error:
        raise ExecutorError(f"{error.name} is missing: pip install -e '.[cluster]'") from error
    found: AbstractAsyncContextManager[Executor] = opener(args, settings)
    return found


def add_executor_options(parser: argparse.ArgumentParser) -> None:
    """Adds the options that say where rows run."""
    add = parser.add_argument
    add("--workers", type=count, metavar="N",
        help="rows at a time; local: 1, with more of them times are not meaningful; ray: as many "
        "as the nodes have processors for")
    add("--executor", choices=[*EXECUTORS], default="local",
        help="local: processes of this machine; ray: the nodes of a Ray cluster")
    add("--address", metavar="HOST:PORT", default=os.environ.get("RAY_ADDRESS"),
        help="of a Ray cluster that this machine is a node of, or auto; without it, Ray is "
        "started for this command")
    add("--cpus", type=not_negative, default=1.0, metavar="X", help="ray: processors of a row")
    add("--gpus", type=not_negative, default=0.0, metavar="X",
        help="ray: GPUs of the model server of each node")
