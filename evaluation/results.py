"""Results on disk: one whole line a row, so that an interrupted benchmark goes on later.

    DIR/results.jsonl   a line for each row that is done
    DIR/logs/ID.jsonl   the log of its run, for `python -m agent replay`
    DIR/summary.json    the figures
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import cast
from urllib.parse import quote

from agent.core.domain import address
from agent.core.events import to_jsonl
from evaluation.healing import Line, Measured

KEYS = frozenset(Line.__annotations__)


ROOT = Path(__file__).parent.parent


def provenance() -> dict[str, object]:
    """Of which version figures are that are measured now, and of which machine."""
    asked = ["git", "-C", str(ROOT), "describe", "--always", "--dirty"]
    try:
        said = subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        said = ""  # an unpacked archive does not tell
    now = datetime.now(UTC).isoformat(timespec="minutes")
    return {"version": said or None, "cores": os.cpu_count(), "measured": now}


class BadResults(Exception):
    """A folder of results that cannot be gone on with; the message says what to do."""


class Results:
    """What is done of a suite; lines are added and never changed."""

    def __init__(self, folder: Path, fresh: bool = False) -> None:
        """Takes up the lines that are there, or begins without. Raises `BadResults`."""
        self.folder = folder
        self._path = folder / "results.jsonl"
        self._logs = folder / "logs"
        try:
            folder.mkdir(parents=True, exist_ok=True)
            if fresh:
                self._path.unlink(missing_ok=True)
            self._logs.mkdir(exist_ok=True)
            self._drop_half_a_line()
            self.lines = {line["id"]: line for line in self._read()}
        except OSError as error:
            raise BadResults(f"{folder} cannot be written: {error}") from error

    def add(self, found: Measured) -> None:
        """Writes a row that is done: its log first, so that a line always has one."""
        key = found.line["id"]
        if found.log:
            self._log(key).write_text(to_jsonl(found.log), encoding="utf-8")
        with self._path.open("ab") as file:
            file.write(json.dumps(found.line).encode("ascii") + b"\n")
        self.lines[key] = found.line

    def summarise(self, summary: Mapping[str, object]) -> None:
        """Writes the figures."""
        text = json.dumps(summary, indent=2) + "\n"
        (self.folder / "summary.json").write_text(text, encoding="utf-8")

    def _log(self, key: str) -> Path:
        name = quote(key, safe="")
        return self._logs / f"{name if len(name) <= 200 else address(key)}.jsonl"

    def _drop_half_a_line(self) -> None:
        """A line without its end was being written when its process was killed."""
        if not self._path.exists():
            return
        with self._path.open("r+b") as file:
            written = file.read()
            file.truncate(written.rfind(b"\n") + 1)

    def _read(self) -> Iterator[Line]:
        if not self._path.exists():
            return
        for number, text in enumerate(self._path.read_text("utf-8").split("\n"), start=1):
            if not text:
                continue
            try:
                line = json.loads(text)
            except ValueError:
                line = None
            if not isinstance(line, dict) or line.keys() != KEYS:
                raise BadResults(
                    f"{self._path}, line {number} is no line of results; begin anew with --fresh, "
                    "or name another folder"
                )
            yield cast(Line, line)  # its keys are a line's, and it is we who wrote it
