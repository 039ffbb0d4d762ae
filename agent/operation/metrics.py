"""Counts events for Prometheus; the numbers of the queue are read from the store at each scrape."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import prometheus_client as prometheus
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from agent.core import events as e
from agent.core.settings import BadSettings
from agent.log.store import DatabaseUnavailable, Load, Store
from agent.operation.facts import StepTimes, facts
from sandbox.sandbox import JAIL_STARTS

WAITS_S = (0.1, 0.5, 1, 2, 5, 10, 30, 60, 300, 900, 3600)
"""Upper bounds of the buckets of waits and runs, in seconds."""
ANSWER_S = 15.0
"""How long a scrape waits for the event loop; if that hangs, the answer has status 500."""


class Metrics(Collector):
    """The metrics of this process; made in the event loop that drives runs."""

    def __init__(self, store: Store) -> None:
        self._store, self._loop, self._steps = store, asyncio.get_running_loop(), StepTimes()
        self._registry = registry = prometheus.CollectorRegistry()

        def counter(name: str, about: str, *labels: str) -> Any:
            return prometheus.Counter(f"heal_{name}", about, labels, registry=registry)

        def times(name: str, about: str) -> Any:
            return prometheus.Histogram(f"heal_{name}", about, buckets=WAITS_S, registry=registry)

        self._runs = counter("runs", "Runs that ended", "outcome")
        self._run_s = times("run_seconds", "Wall time of runs")
        self._wait_s = times("wait_seconds", "From a run's creation to its first event")
        self._ended = counter("steps", "Steps that ended", "step", "outcome")
        self._step_s = counter("step_seconds", "Wall time of steps", "step")
        self._candidates = counter("candidates", "Candidates of finished runs")
        self._calls = counter("model_calls", "Model calls", "role", "provider", "kind")
        self._tokens = counter("model_tokens", "Tokens of models", "provider", "direction")
        self._usd = counter("model_usd", "Known cost of models in dollars", "provider")
        self._faults = counter("faults", "Errors and recoveries", "kind")
        registry.register(self)
        prometheus.ProcessCollector(registry=registry)

    def observe(self, entry: e.LogEntry) -> None:
        """Counts one event that this process has written."""
        event, found = entry.event, facts(entry.event)
        for step, outcome, seconds in self._steps.ended(entry):
            self._ended.labels(step, outcome).inc()
            self._step_s.labels(step).inc(seconds)
        if isinstance(event, e.ModelFailed | e.RunFailed):
            self._faults.labels(f"{event.kind} {found['error']}").inc()
        match event:
            case e.RunStarted():
                created = self._store.run(entry.run).created
                self._wait_s.observe(max(0.0, entry.at - created))
            case e.ModelCalled() | e.ModelFailed():
                self._calls.labels(found["role"], found["provider"], event.kind).inc()
                self._usd.labels(found["provider"]).inc(event.cost_usd or 0.0)
                for name in ("input", "output"):
                    self._tokens.labels(found["provider"], name).inc(found.get(name, 0))
            case e.Resumed() | e.FellBack():
                self._faults.labels(event.kind).inc()
            case e.RunFailed():
                self._runs.labels("failed").inc()
            case e.RunFinished():
                self._runs.labels(event.outcome).inc()
                self._run_s.observe(event.seconds)
                self._candidates.inc(event.candidates)

    def collect(self) -> Iterator[Metric]:
        """Yields what is read at a scrape, in another thread."""
        jail = CounterMetricFamily("heal_jail_starts", "Jailed processes", labels=["kind"])
        for kind, count in [*JAIL_STARTS.items()]:
            jail.add_metric([kind], count)
        yield jail
        load = asyncio.run_coroutine_threadsafe(self._load(), self._loop).result(ANSWER_S)
        yield GaugeMetricFamily("heal_store_up", "Whether the store answers", int(load is not None))
        if load is not None:
            queue = GaugeMetricFamily("heal_queue_runs", "Unfinished runs", labels=["state"])
            for state in ("queued", "driven", "waiting"):
                queue.add_metric([state], getattr(load, state))
            yield queue
            yield GaugeMetricFamily("heal_queue_oldest_seconds", "Longest wait", load.oldest_s)

    async def _load(self) -> Load | None:
        try:
            return self._store.load()
        except DatabaseUnavailable:
            return None

    @contextmanager
    def served(self, host: str, port: int) -> Iterator[None]:
        """Serves the metrics in a thread. Raises `BadSettings` if the port is taken."""
        try:
            server, _ = prometheus.start_http_server(port, host, self._registry)
        except OSError as error:
            words = f"HEAL_METRICS_PORT={port} cannot be served at {host}: {error}."
            raise BadSettings(f"{words} Choose another port for each process.") from error
        try:
            yield
        finally:
            server.shutdown()
            server.server_close()
