"""Runs rows as tasks of a Ray cluster (extra `cluster`); see `docs/sweep-on-ray.md`.

The driver places each row itself: a node has as many slots as rows fit into its processors, and a
slot takes the next row when its last one has ended. So only as many rows are in flight as there are
slots. The driver takes the row of a dead worker or node back and gives it to another slot. Nodes
get the code of the driver, which is uploaded once for each version.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import subprocess
import sys
from collections import Counter, deque
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Any

import ray
from ray.exceptions import GetTimeoutError, RayError, RayTaskError
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from agent.core.settings import Settings
from evaluation.executors import Executor, ExecutorError
from evaluation.nodes import (
    ROOT,
    SHIPPED,
    Function,
    NodeFacts,
    NodeModel,
    code_checksum,
    driver_environment,
    holds_jail,
    run_row,
)

ANSWER_S, CHECK_S, CANCEL_S = 30.0, 180.0, 5.0
"""For the head node, for the check of a node with its copy of the code, and for a row's end."""
MOST_CRASHES = 3
"""A row whose worker process has died so many times is not tried again."""


def _at(node: str) -> NodeAffinitySchedulingStrategy:
    return NodeAffinitySchedulingStrategy(node, soft=False)


@ray.remote(num_cpus=0, max_retries=0)  # type: ignore[untyped-decorator]
def _check(provider: str, environment: Mapping[str, str], name: str) -> NodeFacts | str:
    os.environ.update(environment)
    return asyncio.run(holds_jail(Settings.from_env(provider=provider), name))


@ray.remote(max_retries=0)  # type: ignore[untyped-decorator]
def _row(function: Function, item: Any, environment: Mapping[str, str]) -> Any:
    return run_row(function, item, environment)


@ray.remote(num_cpus=0, max_restarts=-1, max_task_retries=-1)
class _ModelServer:
    """The model server of a node. Its process is started again if it dies."""

    def __init__(self, provider: str, environment: Mapping[str, str]) -> None:
        os.environ.update(environment)
        self._model = NodeModel(Settings.from_env(provider=provider))

    async def environment(self) -> dict[str, str]:
        return await self._model.environment()


class RayExecutor:
    """Runs rows on the nodes of a cluster that hold the jail."""

    def __init__(
        self, slots: Sequence[str], nodes: Sequence[NodeFacts], cpus: float,
        models: Mapping[str, Any],
    ) -> None:
        """Takes the node of each slot, and the model server of each node if there is one."""
        self.workers = len(slots)
        self.nodes = nodes
        self._slots, self._cpus, self._models = slots, cpus, models
        self._environment = driver_environment()

    async def run(
        self, function: Function, items: Mapping[str, Any], add: Callable[[str, Any], None]
    ) -> None:
        waiting, lost, crashes = deque(items), list[str](), Counter[str]()

        async def work(node: str) -> None:
            while waiting:
                key = waiting.popleft()
                try:
                    result = await self._measured(node, function, items[key])
                except RayError as error:
                    await asyncio.sleep(1)  # Ray reports a dead worker before its dead node
                    alive = node in _living()
                    crashes[key] += alive
                    if crashes[key] < MOST_CRASHES:
                        waiting.append(key)
                    else:
                        lost.append(f"{key} ({_last_line(error)})")
                    if not alive:
                        _say(f"node {node[:8]} is gone; its row {key} will run elsewhere")
                        return
                else:
                    add(key, result)

        while waiting:
            slots = [node for node in self._slots if node in _living()]
            if not slots:
                raise ExecutorError(
                    f"No node is left for {len(waiting)} rows. Finished rows are saved: start the "
                    "nodes again, then run the same command to continue."
                )
            async with asyncio.TaskGroup() as group:
                for node in slots:
                    group.create_task(work(node))
        if lost:
            raise ExecutorError(
                f"{len(lost)} rows have no result, because their worker process died "
                f"{MOST_CRASHES} times: {', '.join(lost[:5])}. Run the same command to try them "
                "again, with more memory for each row: raise --cpus."
            )

    async def _measured(self, node: str, function: Function, item: Any) -> Any:
        environment = self._environment
        if node in self._models:
            environment = {**environment, **await self._models[node].environment.remote()}
        strategy = _at(node)
        reference = _row.options(scheduling_strategy=strategy, num_cpus=self._cpus).remote(
            function, item, environment
        )
        try:
            return await reference
        except RayTaskError as error:
            raise getattr(error, "cause", None) or RuntimeError(str(error)) from None
        except asyncio.CancelledError:
            ray.cancel(reference)
            with suppress(RayError):
                await asyncio.to_thread(ray.wait, [reference], timeout=CANCEL_S)
            raise


@asynccontextmanager
async def open_ray(args: argparse.Namespace, settings: Settings) -> AsyncIterator[Executor]:
    """Connects to a cluster, or starts one for this command, and checks its nodes.

    Raises:
        ExecutorError: The cluster does not answer or does not fit, or no node can take rows.
    """
    await asyncio.to_thread(_connect, args.address)
    try:
        checked = [one async for one in _checked_nodes(settings.provider)]
        slots = [*_slots_of([node for node, _ in checked], args.cpus)][: args.workers]
        if not slots:
            raise ExecutorError(
                f"No node can take a row of {args.cpus:g} processors. Start a node on a machine "
                "with the jail, or lower --cpus."
            )
        models = {}
        for node in {*slots} if NodeModel(settings) else ():
            models[node] = _ModelServer.options(  # type: ignore[attr-defined]
                scheduling_strategy=_at(node), num_gpus=args.gpus
            ).remote(settings.provider, driver_environment())
        yield RayExecutor(slots, [facts for _, facts in checked], args.cpus, models)
    finally:
        ray.shutdown()


def _connect(address: str | None) -> None:
    """Connects to a cluster. Raises `ExecutorError`."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    if address:
        _require_answer(address)
    excluded = [f"/{path.name}" for path in ROOT.iterdir() if path.name not in SHIPPED]
    try:
        ray.init(
            address=address or "local", log_to_driver=False, logging_level="error",
            include_dashboard=None if address else False,
            runtime_env={"working_dir": str(ROOT), "excludes": excluded},
        )
    except (ConnectionError, RuntimeError, ValueError) as error:
        raise ExecutorError(
            f"Ray cannot start or connect: {' '.join(str(error).split())}. All nodes need the "
            "Python and ray of this command, and this machine must be one of them: run "
            "`ray start --address=HOST:PORT` here."
        ) from error


def _require_answer(address: str) -> None:
    """Raises `ExecutorError` if no head node answers soon. Ray itself would wait for minutes, and
    then end this process."""
    asked = [] if address == "auto" else ["--address", address]
    command = [sys.executable, "-m", "ray.scripts.scripts", "status", *asked]
    try:
        subprocess.run(
            command, capture_output=True, timeout=ANSWER_S, check=True, stdin=subprocess.DEVNULL
        )
    except (subprocess.TimeoutExpired, subprocess.CalledProcessError):
        raise ExecutorError(
            f"No Ray head node answers at {address}. Start one with `ray start --head`, and give "
            "the address that it prints as --address. If it runs, set RAY_AUTH_MODE=token, and "
            "copy its ~/.ray/auth_token to this machine."
        ) from None


def _living() -> dict[str, Mapping[str, Any]]:
    """The nodes of the cluster that are alive, by id."""
    return {node["NodeID"]: node for node in ray.nodes() if node["Alive"]}


async def _checked_nodes(provider: str) -> AsyncIterator[tuple[Mapping[str, Any], NodeFacts]]:
    """Yields the nodes that hold the jail; says why the others take no rows."""
    environment, nodes, checksums = driver_environment(), _living(), set()
    names = {key: f"{node['NodeManagerHostname']}/{key[:8]}" for key, node in nodes.items()}
    checks = {
        key: _check.options(scheduling_strategy=_at(key)).remote(provider, environment, name)
        for key, name in names.items()
    }
    for key, check in checks.items():
        found: NodeFacts | str
        try:
            found = await asyncio.to_thread(ray.get, check, timeout=CHECK_S)
        except GetTimeoutError:
            found = f"its check did not end in {CHECK_S:g} s"
        except RayError as error:
            found = _last_line(error)
        if not isinstance(found, str) and found["code_sha256"] != code_checksum():
            found = "it imports other code than this checkout"
        if isinstance(found, str):
            _say(f"node {names[key]} takes no rows: {found}. Correct this on the node, and run the "
                 "same command again.")
            continue
        checksums.add(found["model_sha256"])
        if len(checksums) > 1:
            raise ExecutorError(
                "The nodes have different files of the model. Copy one file to all of them, and "
                "set GGUF_MODEL to its path."
            )
        _say(f"node {names[key]}: {found['jail_words']}")
        yield nodes[key], found


def _slots_of(nodes: Sequence[Mapping[str, Any]], cpus: float) -> Iterator[str]:
    """Yields the node of each slot, one of each node in turn."""
    left = {node["NodeID"]: int(node["Resources"].get("CPU", 0) / (cpus or 1)) for node in nodes}
    while any(left.values()):
        for node in [node for node, count in left.items() if count]:
            left[node] -= 1
            yield node


def _last_line(error: Exception) -> str:
    cause = getattr(error, "cause", None) or error
    return f"{type(cause).__name__}: {str(cause).strip().rpartition(chr(10))[2][:200]}"


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
