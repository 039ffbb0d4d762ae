"""Logs, traces, metrics and readiness of a session that runs, and what none of them contains."""

from __future__ import annotations

import asyncio
import io
import json
import logging
import os
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from agent.core import events as e
from agent.core.domain import JailStatus
from agent.core.events import LogEntry
from agent.core.settings import BadSettings, Settings
from agent.interfaces.servers.operations import not_ready, operated, readiness
from agent.log.bus import EventBus
from agent.log.store import DatabaseUnavailable, Store
from agent.loop.session import Session, open_session
from agent.operation.facts import StepTimes, facts
from agent.operation.logs import EVENTS, JsonLines, start_json_logs
from agent.operation.traces import Traces
from agent.target.task import from_page
from tests.agent.runs import finished, settings

MARK = "zqmarkerqz"
TASK = from_page(
    f"def add(a, b):\n    '''{MARK} source'''\n    return a - b\n",
    f"assert add(1, 2) == 3, '{MARK} test'",
).task


def entry(event: e.Event, at: float = 0.0, task: str = "t", run: str = "r") -> LogEntry:
    return LogEntry(run=run, seq=1, task=task, attempt=0, ordinal=0, at=at, event=event)


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def get(port: int, path: str) -> tuple[int, str]:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=20) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


@pytest.fixture
def lines() -> Iterator[Callable[[], list[dict[str, Any]]]]:
    """The JSON lines that were logged."""
    handler, written = start_json_logs(), io.StringIO()
    handler.setStream(written)
    yield lambda: [json.loads(line) for line in written.getvalue().splitlines()]
    logging.root.removeHandler(handler)
    EVENTS.setLevel(logging.NOTSET)


def test_a_step_ends_by_its_event_or_with_its_run() -> None:
    times = StepTimes()
    started = e.StepStarted(step="repair", iteration=1)
    done = e.StepFinished(step="repair", iteration=1, wall_ms=2_000)

    def ends(*entries: LogEntry) -> list[tuple[str, str, float]]:
        return [one for given in entries for one in times.ended(given)]

    assert ends(entry(started), entry(done)) == [("repair", "finished", 2.0)]
    assert ends(entry(started, 1.0), entry(e.RunFailed(error="E: x"), 4.0)) == [
        ("repair", "failed", 3.0)
    ]
    assert ends(entry(started, 1.0), entry(e.Resumed(note=""), 2.0)) == [
        ("repair", "stopped", 1.0)
    ]
    assert ends(entry(e.Resumed(note=""))) == []


def test_facts_have_closed_names_and_numbers_only() -> None:
    call = e.ModelCalled(
        call=1, role=MARK, provider=MARK, model=MARK, tokens=5, cost_usd=0.5, wall_s=2.0, input=3,
        output=2, answer=MARK,
    )
    assert facts(call) == {
        "role": "other", "provider": "other", "cost_usd": 0.5, "input": 3, "output": 2,
        "tokens": 5, "wall_s": 2.0,
    }
    assert facts(e.RunFailed(error=f"ValueError: {MARK}")) == {"error": "ValueError"}
    assert facts(e.RunFailed(error=f"{MARK} is no class")) == {"error": "other"}
    assert facts(e.Notice(level="error", text=MARK)) == {}


async def test_operators_see_a_run_and_none_of_its_texts(
    tmp_path: Path, lines: Callable[[], list[dict[str, Any]]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    spans, port = InMemorySpanExporter(), free_port()
    monkeypatch.setattr("agent.operation.traces.OTLPSpanExporter", lambda: spans)
    given = settings(tmp_path).model_copy(update={
        "metrics_port": port, "traces": True, "log_format": "json",
    })
    async with open_session(given) as session:
        with operated(session):
            log = await finished(session, TASK)
            logging.getLogger("agent").error("a run failed", exc_info=_raised())
            logging.getLogger("asyncio").error("%s", MARK)
            answers = [
                await asyncio.to_thread(get, port, path)
                for path in ("/metrics",)
            ]
    metrics, written = answers[0][1], lines()
    assert answers[0][0] == 200
    for line in (
        'heal_runs_total{outcome="healed"} 1.0',
        'heal_steps_total{outcome="finished",step="repair"}',
        "heal_wait_seconds_count 1.0", 'heal_queue_runs{state="driven"} 0.0', "heal_store_up 1.0",
        "heal_jail_starts_total{", 
        "heal_candidates_total", "process_cpu_seconds_total",
    ):
        assert line in metrics
    kinds = [line["message"] for line in written if line["logger"] == "agent.events"]
    assert kinds[0] == "run_started" and kinds[-1] == "run_finished"
    assert [one["where"][-1].rpartition("/")[2][:17] for one in written if "where" in one] == [
        "test_operation.py"
    ]
    names = [span.name for span in spans.get_finished_spans()]
    assert names[-1] == "run" and {"recall", "execute", "repair"} <= {*names}
    assert len({span.context.trace_id for span in spans.get_finished_spans()}) == 1
    assert any(MARK in one.to_json() for one in log), "the marker was in the run"
    seen = metrics + json.dumps(written) + "".join(
        span.to_json() for span in spans.get_finished_spans()
    )
    assert MARK not in seen and "return a - b" not in seen


def _raised() -> Exception:
    try:
        raise ValueError(MARK)
    except ValueError as error:
        return error


def test_a_run_has_one_trace_in_all_processes() -> None:
    found = []
    for _ in range(2):
        spans = InMemorySpanExporter()
        with Traces(spans) as traces:
            traces.observe(entry(e.Resumed(note="")))
            traces.observe(entry(e.Waiting(interrupt="i", question=MARK), 1.0))
            traces.observe(entry(e.Resumed(note=""), run="other"))
        found += [span.context.trace_id for span in spans.get_finished_spans()]
    assert (len(found), len({*found})) == (4, 2)


def test_a_collector_that_is_away_does_not_delay_the_end() -> None:
    program = (
        "import time\n"
        "from agent.core import events as e\n"
        "from agent.operation.traces import Traces\n"
        "with Traces() as traces:\n"
        "    event = e.Waiting(interrupt='i', question='q')\n"
        "    traces.observe(e.LogEntry(\n"
        "        run='r', seq=1, task='t', attempt=0, ordinal=0, at=time.time(), event=event))\n"
        "    began = time.monotonic()\n"
        "assert time.monotonic() - began < 3\n"
    )
    # In a process of its own: the exporter goes on trying in a thread.
    absent = {**os.environ, "OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:9"}
    root = Path(__file__).parents[3]
    subprocess.run([sys.executable, "-c", program], check=True, cwd=root, timeout=60, env=absent)


def test_secrets_in_our_own_words_are_removed_by_the_redaction(
    lines: Callable[[], list[dict[str, Any]]]
) -> None:
    from llm.redaction import LogRedaction, Redactor, redacted_logs

    with redacted_logs(LogRedaction(Redactor(["secret-word-of-host"]))):
        logging.getLogger("agent").warning("away: %s", "secret-word-of-host")
    assert lines()[0]["message"] == "away: ***"


class Away(Store):
    """A store that does not answer."""

    def __init__(self) -> None:
        """Opens nothing."""

    def check(self) -> None:
        raise DatabaseUnavailable("away")


class Broken(Session):
    """Has no store and a weak jail."""

    def __init__(self, **changes: object) -> None:
        self.settings = Settings().model_copy(update=changes)
        self.store = Away()
        self.bus = EventBus(self.store)

    async def jail(self, task: object = None) -> JailStatus:
        return JailStatus(words="subprocess", level="L1")


async def test_what_is_not_ready_is_named_with_what_to_do() -> None:
    assert await not_ready(Broken(), any_jail=False) == ("store", "jail")
    assert await not_ready(Broken(), any_jail=True) == ("store",)
    document, status = readiness(("store", "jail"))
    assert status == 503 and not document["ready"]
    assert "HEAL_DATA_DIR" in str(document) and "selftest" in str(document)


async def test_a_taken_port_and_a_missing_package_are_said(
    monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        session = Broken(metrics_port=taken.getsockname()[1])
        words = pytest.raises(BadSettings, match=r"HEAL_METRICS_PORT=.*Choose another")
        with words, operated(session):
            pass
    monkeypatch.setitem(sys.modules, "agent.operation.traces", None)
    monkeypatch.setitem(sys.modules, "agent.operation", None)
    session = Broken(traces=True)
    words = pytest.raises(BadSettings, match=r"self-healing-code-agent\[operation\]")
    with words, operated(session):
        pass


async def test_a_handler_of_json_lines_passes_levels_on() -> None:
    record = logging.LogRecord("httpx", logging.WARNING, "", 0, MARK, None, None)
    written = json.loads(JsonLines().format(record))
    assert written["severity"] == "warning" and MARK not in str(written)


def test_the_default_imports_nothing_of_it() -> None:
    program = (
        "import sys, app, agent.loop.graph, agent.loop.session, demo.serving.host\n"
        "print([name for name in sys.modules if name.split('.')[0] in "
        "('prometheus_client', 'psycopg', 'alembic') "
        "or name.startswith(('agent.operation', 'opentelemetry.exporter'))])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=Path(__file__).parents[3], capture_output=True,
        text=True, check=True,
    )
    assert done.stdout.strip() == "[]"
