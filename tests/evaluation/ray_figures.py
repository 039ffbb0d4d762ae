"""Measures sweeps on two Ray nodes of this machine: `python -m tests.evaluation.ray_figures`."""

from __future__ import annotations

import argparse
import asyncio
import os
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

from agent.core.settings import Settings
from evaluation.cases import read_cases
from evaluation.executors import add_executor_options, open_executor
from evaluation.healing import measure_case
from evaluation.nodes import Function
from evaluation.run_benchmark import TASKS

ROWS, KILLED_AFTER, HEALED_ROWS = 200, 60, 6


async def short_row(number: int) -> int:
    """A row that waits for a tenth of a second."""
    await asyncio.sleep(0.1)
    return number


async def empty_row(number: int) -> int:
    return number


def figures() -> Iterator[str]:
    """Yields what a killed node costs, the overhead of a row, and the throughput of workers."""
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    import ray as library
    from ray.cluster_utils import Cluster

    library.cloudpickle.register_pickle_by_value(sys.modules[__name__])
    cluster = Cluster(
        initialize_head=True, head_node_args={"num_cpus": 2, "include_dashboard": False}
    )
    second = cluster.add_node(num_cpus=2)
    ray = ["--executor", "ray", "--address", cluster.address]
    try:
        numbers = {str(number): number for number in range(ROWS)}
        found: list[str] = []

        def add(key: str, result: object) -> None:
            found.append(key)
            if len(found) == KILLED_AFTER:
                cluster.remove_node(second, allow_graceful=False)

        asyncio.run(_timed(short_row, numbers, ray, add))
        yield (
            f"{ROWS} rows on two nodes, one killed after {KILLED_AFTER}: "
            f"{len(numbers.keys() - found)} lost, {len(found) - len({*found})} twice"
        )
        one = [*ray, "--workers", "1"]
        times = [asyncio.run(_timed(empty_row, numbers, options)) for options in ([], one)]
        yield (
            f"overhead of a row: {1000 * (times[1] - times[0]) / ROWS:.1f} ms more on Ray than "
            f"locally (medians of 3 times {ROWS} empty rows, one at a time)"
        )
        cases = read_cases(TASKS.with_name("seen.jsonl"))[:HEALED_ROWS]
        heal = partial(
            measure_case, given={"provider": "mock", "budget_s": 10.0, "candidates": None}
        )
        cluster.add_node(num_cpus=2)
        seconds = [
            asyncio.run(_timed(heal, {case.id: case for case in cases}, [*ray, "--workers", count]))
            for count in ("1", "2", "4")
        ]
        ratios = ", ".join(
            f"{count} workers {seconds[0] / one:.2f}" for count, one in zip((1, 2, 4), seconds,
                                                                        strict=True)
        )
        yield f"throughput of {HEALED_ROWS} heals on {os.cpu_count()} cores, as a ratio: {ratios}"
    finally:
        cluster.shutdown()


async def _timed(
    function: Function, items: Mapping[str, Any], options: list[str],
    add: Callable[[str, Any], None] | None = None,
) -> float:
    """Measures the items; the seconds without connecting, the median of three for empty rows."""
    parser = argparse.ArgumentParser()
    add_executor_options(parser)
    args = parser.parse_args(options)
    async with open_executor(args, Settings.from_env(provider="mock")) as executor:
        if add is not None:
            await executor.run(function, items, add)
            return 0.0
        warm = dict([*items.items()][: executor.workers])
        times = []
        await executor.run(function, warm, lambda *_: None)
        for _ in range(3 if function is empty_row else 1):
            started = time.perf_counter()
            await executor.run(function, items, lambda *_: None)
            times.append(time.perf_counter() - started)
        return statistics.median(times)


if __name__ == "__main__":
    from tests.evaluation.ray_figures import figures as by_name  # its rows run elsewhere

    for figure in by_name():
        print(figure, flush=True)
