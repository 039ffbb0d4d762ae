"""Runs a project's test command in a fresh jail; its exit code is the verdict.

The command's output is untrusted, and only used for messages and to find places.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

from agent.core.domain import Status
from agent.verify.jail_modules import without_jail_paths
from sandbox.sandbox import Sandbox
from sandbox.types import Job, Json, Outcome

MAX_S = 600.0
MAX_MESSAGE = 2_000
NO_TEST = "it ran no test"
NO_TESTS = 5
"""The exit code of pytest, and of newer versions of unittest, if no test was collected."""
_RAN_NONE = re.compile(
    r"^(?:Ran 0 tests in |\W*no tests ran\b|collected 0 items|0 tests in \d+ items?\.|"
    r"\W*\d+ (?:skipped|deselected)\b.* in [\d.]+s)", re.MULTILINE
)
_RAN_SOME = re.compile(
    r"^(?:Ran [1-9]\d* tests? in |\W*[1-9]\d* passed\b|[1-9]\d* tests? in \d+ items?\.)",
    re.MULTILINE,
)
_FRAME = re.compile(r'^\s*File "(.+?)", line (\d+)', re.MULTILINE)
_RAISED = re.compile(r"^(?:[A-Za-z_][\w.]*\.)?[A-Z]\w*(?:Error|Exception|Exit|Warning|Interrupt)\b")


@dataclass(frozen=True)
class SourcePlace:
    file: str
    line: int


@dataclass(frozen=True)
class CommandRun:
    outcome: Outcome
    places: tuple[SourcePlace, ...] = ()
    """The project's lines on printed tracebacks, in the order of the output."""
    functions: Mapping[str, Mapping[int, int]] = field(default_factory=dict)
    """Watched files to the number of calls by each function's first line."""
    lines: Mapping[str, frozenset[int]] = field(default_factory=dict)
    tested: bool = True
    """False where the output says that no test ran."""

    @property
    def passed(self) -> bool:
        return self.tested and _succeeded(self.outcome)

    @property
    def status(self) -> Status:
        late = self.outcome.ended == "timeout"
        return "passed" if self.passed else "timeout" if late else "failed"

    @property
    def _lines(self) -> list[str]:
        text = without_jail_paths(self.outcome.stderr)
        return [line.strip() for line in text.split("\n") if line.strip()]

    @property
    def _raised(self) -> str:
        return next((line for line in reversed(self._lines) if _RAISED.match(line)), "")

    @property
    def crash(self) -> tuple[str, str]:
        """Name and message of the exception that was printed last; empty where none was."""
        exception, _, message = self._raised.partition(": ")
        return ("", "") if self.passed else (exception, message[:MAX_MESSAGE])

    @property
    def message(self) -> str:
        """Why it failed; empty where it passed."""
        if self.passed:
            return ""
        ended = self.outcome
        if not self.tested:
            return NO_TEST
        how = ended.limit or ended.signal or f"exit code {ended.exit_code}"
        last_line = self._raised or next(reversed(self._lines), "")
        why = "; ".join(filter(None, (last_line, how, *ended.refusals)))
        return why[:MAX_MESSAGE]


async def run_command(
    job: Job, command: Sequence[str], sandbox: Sandbox, *, seed: int = 0,
    watched: Collection[str] = (), wall_s: float = MAX_S,
) -> CommandRun:
    """Runs Python with these arguments over the files of a project's job, once.

    Executed lines of `watched` files are recorded, which takes several times as long.
    """
    outcome = await sandbox.run(replace(
        job, payload=_payload(job.payload, command, watched), seed=seed,
        limits=replace(job.limits, wall_s=wall_s, cpu_s=wall_s),
    ))
    ran = next((one["ran"] for one in outcome.messages if isinstance(one, dict) and "ran" in one),
               None)
    functions, lines = _watched(ran)
    places = _places(outcome.stderr + outcome.stdout, job.files)
    return CommandRun(outcome, places, functions, lines, not _ran_no_test(outcome, command))


def _succeeded(ended: Outcome) -> bool:
    return ended.ended == "completed" or (ended.ended == "exited" and ended.exit_code == 0)


def _ran_no_test(ended: Outcome, command: Sequence[str]) -> bool:
    """Whether a command ran no test, by its exit code or, as with older unittest, its output."""
    if ended.exit_code == NO_TESTS and "pytest" in command:
        return True
    output = f"{ended.stdout}\n{ended.stderr}"
    ends = _succeeded(ended) or ended.exit_code == NO_TESTS
    return bool(ends and _RAN_NONE.search(output) and not _RAN_SOME.search(output))


def _payload(suites: Json, command: Sequence[str], watched: Collection[str]) -> Json:
    assert isinstance(suites, dict)
    return {
        **suites, "arguments": [*command], "blocked": [], "keep": False, "opens": True,
        "most_bytes": [0, 0], "watched": [*watched],
    }


def _places(output: str, files: Collection[str]) -> tuple[SourcePlace, ...]:
    found = []
    for path, line in _FRAME.findall(output):
        ours = [file for file in files if path == file or path.endswith(f"/{file}")]
        if ours:
            found.append(SourcePlace(max(ours, key=len), int(line)))
    return tuple(found)


def _watched(ran: Json) -> tuple[dict[str, dict[int, int]], dict[str, frozenset[int]]]:
    functions: dict[str, dict[int, int]] = {}
    lines: dict[str, frozenset[int]] = {}
    for row in ran if isinstance(ran, list) else []:
        match row:
            case [str(file), list(calls), list(some)]:
                functions[file] = {
                    call[0]: call[1] for call in calls
                    if isinstance(call, list) and len(call) == 2
                    and isinstance(call[0], int) and isinstance(call[1], int)
                }
                lines[file] = frozenset(one for one in some if isinstance(one, int))
    return functions, lines
