"""Logs as JSON lines without texts of users: events by their facts, errors by class and place."""

from __future__ import annotations

import json
import logging
import sys
import traceback
from datetime import UTC, datetime
from typing import Any, TextIO

from agent.core.events import LogEntry
from agent.operation.facts import facts

EVENTS = logging.getLogger("agent.events")


class JsonLines(logging.StreamHandler[TextIO]):
    """Writes JSON lines. Messages of libraries are left out, since they can quote input."""

    def filter(self, record: logging.LogRecord) -> Any:
        """Notes class and place of an error, before the redaction of secrets turns it into text."""
        if record.exc_info and record.exc_info[0] is not None:
            frames = traceback.extract_tb(record.exc_info[2])[-5:]
            record.facts = {
                "error": record.exc_info[0].__name__,
                "where": [f"{one.filename}:{one.lineno}" for one in frames],
            }
        return super().filter(record)

    def format(self, record: logging.LogRecord) -> str:
        """See `logging.Handler`."""
        ours = record.name.partition(".")[0] in ("agent", "demo", "llm", "sandbox")
        return json.dumps({
            "at": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "severity": record.levelname.lower(), "logger": record.name,
            "message": record.getMessage() if ours else "", **getattr(record, "facts", {}),
        })


def start_json_logs() -> JsonLines:
    """Writes all records to standard error, ahead of handlers that change records."""
    handler = JsonLines(sys.stderr)
    logging.root.handlers.insert(0, handler)
    EVENTS.setLevel(logging.INFO)
    return handler


def log_event(entry: LogEntry) -> None:
    """Logs an event that this process has written."""
    if found := facts(entry.event):
        fields = {"run": entry.run, "seq": entry.seq, **found}
        EVENTS.info(entry.event.kind, extra={"facts": fields})
