"""Sends a span for each run, step and model call to OpenTelemetry's collector."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from threading import Thread

from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import OTELResourceDetector, Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter
from opentelemetry.sdk.trace.id_generator import RandomIdGenerator

from agent.core import events as e
from agent.operation.facts import Fact, StepTimes, facts

SERVICE = "self-healing-code-agent"
SEND_S = 0.5
"""How long the end of a process waits for the collector; its runs must still be released."""


class _Ids(RandomIdGenerator):
    """A run has one trace, also if several processes drive it."""

    run = ""

    def generate_trace_id(self) -> int:
        return uuid.uuid5(uuid.NAMESPACE_OID, self.run).int


class Traces:
    """Turns events into spans; `exporter` is by default that of the variables `OTEL_*`."""

    def __init__(self, exporter: SpanExporter | None = None) -> None:
        self._ids, self._steps = _Ids(), StepTimes()
        self._runs: dict[str, trace.Span] = {}
        resource = Resource({"service.name": SERVICE}).merge(OTELResourceDetector().detect())
        # A provider of its own: spans of other libraries may contain texts of users.
        self._provider = TracerProvider(
            resource=resource, id_generator=self._ids, shutdown_on_exit=False
        )
        self._provider.add_span_processor(BatchSpanProcessor(exporter or OTLPSpanExporter()))
        self._tracer = self._provider.get_tracer(SERVICE)

    def __enter__(self) -> Traces:
        return self

    def __exit__(self, *_: object) -> None:
        for span in self._runs.values():
            span.end()
        sending = Thread(target=self._provider.shutdown, daemon=True)
        sending.start()
        sending.join(SEND_S)

    def observe(self, entry: e.LogEntry) -> None:
        """Adds one event that this process has written."""
        event, found = entry.event, facts(entry.event)
        if entry.run not in self._runs:
            self._ids.run = entry.run
            self._runs[entry.run] = self._tracer.start_span(
                "run", Context(), start_time=int(entry.at * 1e9), attributes={"heal.run": entry.run}
            )
        for step, outcome, seconds in self._steps.ended(entry):
            self._add(entry, step, seconds, {"outcome": outcome})
        if isinstance(event, e.ModelCalled | e.ModelFailed):
            self._add(entry, f"model {found['role']}", event.wall_s, found)
        elif isinstance(event, e.RunFinished | e.RunFailed | e.Waiting):
            span = self._runs.pop(entry.run)
            span.set_attributes(_attributes({"ended": event.kind, **found}))
            span.end(int(entry.at * 1e9))

    def _add(self, entry: e.LogEntry, name: str, seconds: float, found: Mapping[str, Fact]) -> None:
        self._tracer.start_span(
            name, trace.set_span_in_context(self._runs[entry.run], Context()),
            start_time=int((entry.at - seconds) * 1e9), attributes=_attributes(found),
        ).end(int(entry.at * 1e9))


def _attributes(found: Mapping[str, Fact]) -> dict[str, Fact]:
    return {f"heal.{name}": value for name, value in found.items()}
