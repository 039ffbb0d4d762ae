"""Runs a project's collected suite with changed texts.

pytest imports and collects once; then each question is answered in a fork of this process, so that
the state of a test or a candidate is not left for the next. Many candidates may share one copy:
state that one of them leaves is detected, since the base then fails differently afterwards.

Nothing here is a verdict. The questions and their answers:

    {"ask": "baseline"}                          the result and processor seconds of each test
    {"ask": "coverage", "tests": […]}            the functions and lines that each test ran
    {"ask": "watch", "file": …, "tests": […]}    traces of each test in one file
    {"ask": "screen", "file": …, "changes": […]} the pre-check of candidates
"""

from __future__ import annotations

import contextlib
import functools
import gc
import json
import mmap
import os
import re
import select
import signal
import sys
import time
import traceback
import types
from collections.abc import Callable, Iterator
from typing import Any
from unittest import case, util

import pytest
from _pytest.assertion import rewrite
from _pytest.assertion import util as assertion_util

from agent.search.precheck.changes import changed, short_hash
from agent.search.precheck.programs.clock import CandidateLimits, Clock, OutOfTime
from agent.search.precheck.programs.nearness import described, nearness
from agent.search.precheck.programs.watcher import Watcher, last_line
from agent.search.project.programs.item_runs import ItemRun, SubtestErrors, run_item
from agent.search.project.programs.live_module import CannotSwitch, LiveModule
from agent.verify.programs.pytest_session import SuiteSession, run_suite, start_suite
from agent.verify.rewriting.messages import text_of

_ADDRESS = re.compile(r"\b0x[0-9a-f]+\b|\d{6,}", re.IGNORECASE)
"""Addresses, and other long numbers that differ in each run, such as times."""
_MAX_LINES = 200_000
"""Lines of one test that coverage records; a longer run mostly repeats itself."""
MAX_MARKED = 3
"""If this many failing tests fail as with the base, the candidate counts as equal to the base."""
_SHARED_BYTES, _COUNTER_BYTES = 1 << 20, 8
_STATE_CHECK_S = 0.02
"""Processor seconds for checking whether the base still behaves as before."""


def main(jail: Any) -> None:
    """Collects the suite, and answers questions until the host closes the channel."""
    start_suite(jail)
    suite = _Suite(jail)
    run_suite(jail, [*jail.payload["args"], "--tb=short"], suite, suite.subtests)
    if not suite.served:
        jail.receive()
        jail.send({"problem": "\n".join(suite.problems) or "pytest collected no test"})


class _Suite(SuiteSession):
    """A plugin that replaces pytest's loop over its tests."""

    def __init__(self, jail: Any) -> None:
        super().__init__(jail.folder)
        self._jail = jail
        self._items: list[Any] = []
        self._live: dict[str, LiveModule] = {}
        self._loaded: dict[str, types.ModuleType] = {}
        self._per_copy: dict[str, int] = {}
        """How many candidates of a file share a copy; halved after one that leaves state, else
        doubled."""
        self.served = False
        self.subtests = SubtestErrors()

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Answers the host in place of running the tests."""
        self._items = session.items
        self.served = True
        self._disable_logging(session.config)
        # The `repr` of values in a failed assert is not part of the test's coverage.
        for module, name in ((rewrite, "_saferepr"), (case, "safe_repr"), (util, "safe_repr")):
            setattr(module, name, _untraced(getattr(module, name)))
        for loaded in [*sys.modules.values()]:
            file = getattr(loaded, "__file__", None)
            if isinstance(file, str) and file.startswith(self._folder):
                self._loaded[file] = loaded
        gc.collect()
        gc.freeze()
        while True:
            item = self._jail.receive()
            if item is None:
                return True
            self._jail.send(self._answer(item))

    def _disable_logging(self, config: pytest.Config) -> None:
        """Disables log capture, a fifth of the time of short tests, if no file uses logging."""
        plugins, texts = config.pluginmanager, self._jail.files.values()
        logs = any("logging" in text or "caplog" in text for text in texts)
        if not logs and plugins.has_plugin("logging-plugin") and not config.getini("log_level"):
            plugins.unregister(name="logging-plugin")

    def _answer(self, item: dict[str, Any]) -> Any:
        asked = item["ask"]
        if asked == "collected":
            return {
                "tests": [one.nodeid for one in self._items], "problems": self.problems,
                "loaded": sorted(one.removeprefix(self._folder) for one in self._loaded),
            }
        if asked == "screen":
            return self._screen(item)
        handlers = {"baseline": self._baseline, "coverage": self._coverage, "watch": self._watch}
        rows, _ = _in_copy(functools.partial(handlers[asked], item), item["wall_s"])
        return rows

    def _baseline(self, item: dict[str, Any], write: Callable[[Any], None]) -> None:
        clock = Clock()
        for number in item["tests"]:
            began = time.monotonic()
            run, cpu_s, _ = self._timed(clock, number, item["limits"])
            wall_s = time.monotonic() - began
            write([number, run.passed, cpu_s, run.exception, _message(run), clock.expired, wall_s])

    def _timed(
        self, clock: Clock, number: int, limits: list[Any],
        around: Callable[[Callable[[], Any]], Any] | None = None,
    ) -> tuple[ItemRun, float, list[tuple[str, Any, Any]]]:
        """Runs one test; returns its processor seconds and the operands of failed comparisons."""
        sides: list[tuple[str, Any, Any]] = []
        assertion_util._reprcompare = lambda op, left, right: sides.append((op, left, right))
        began = time.process_time()
        clock.start(CandidateLimits(0, *limits))
        try:
            run = run_item(self._items[number], OutOfTime, self.subtests, around)
        except OutOfTime as late:
            run = ItemRun(False, late, "teardown")
        finally:
            with contextlib.suppress(OutOfTime):
                clock.stop()
        return run, time.process_time() - began, sides

    def _coverage(self, item: dict[str, Any], write: Callable[[Any], None]) -> None:
        """Writes rows of [test, {file: [[first line of a function, calls]…]}, {file: lines}]."""
        clock = Clock()
        for number in item["tests"]:
            seen = _Coverage(self._folder, {*item["files"]}, item["lines"])
            self._timed(clock, number, item["limits"], seen.around)
            write([number, seen.functions(), seen.lines()])

    def _watch(self, item: dict[str, Any], write: Callable[[Any], None]) -> None:
        """Writes traces of one file."""
        clock = Clock()
        path = self._folder + item["file"]
        if item["change"] is not None:
            live = self._module(item["file"], item["base"])
            live.switch_to(changed(item["base"], item["change"]))
        for number in item["tests"]:
            watcher = Watcher(path)
            run, _, _ = self._timed(clock, number, item["limits"], watcher.run)
            exception = "TimeoutError" if clock.expired else run.exception
            row = watcher.row(run.passed, exception, _message(run), last_line(run.error, path))
            write({**row, "passed": run.passed and not clock.expired})

    def _module(self, file: str, text: str) -> LiveModule:
        path = self._folder + file
        found = self._live.get(file)
        if found is None or found.text != text:
            module = self._loaded.get(path)
            if module is None:
                raise CannotSwitch(f"{file} is not imported by any test")
            found = self._live[file] = LiveModule(path, text, module, self._folder)
        return found

    def _screen(self, item: dict[str, Any]) -> Any:
        """The processor seconds, and rows in the format of `programs.screen`; fewer than requested
        if the time is over."""
        began = time.process_time()
        try:
            live = self._module(item["file"], item["base"])
        except (CannotSwitch, SyntaxError, ValueError) as error:
            return [0.0, {"problem": str(error)}]
        changes = item["changes"]
        rows: list[Any] = []
        cpu_s = 0.0
        while len(rows) < len(changes) and cpu_s < item["slice_s"]:
            # If tests influence each other, a candidate could also influence those of the next one.
            count = 1 if item["together"] else self._per_copy.get(item["file"], len(changes))
            left = changes[len(rows) : len(rows) + count]
            found, used_s = _in_copy(
                functools.partial(self._candidates, live, item, left), item["wall_s"]
            )
            cpu_s += used_s
            clean = not found or found[-1] is not False
            found = [one for one in found if isinstance(one, list)]
            if not clean:
                # One candidate left state, which may have changed the results of others.
                self._per_copy[item["file"]] = max(1, len(found) // 2)
                continue
            self._per_copy[item["file"]] = 2 * count
            rows += found or [_row_without_results("lost", item)]
        return [time.process_time() - began + cpu_s, rows]

    def _candidates(
        self, live: LiveModule, item: dict[str, Any], changes: list[Any],
        write: Callable[[Any], None],
    ) -> None:
        """Writes a row for each candidate, up to the first timeout or while there is time, and then
        `False` if the base does not behave as before."""
        clock = Clock()
        before = self._failures(clock, item, live) if len(changes) > 1 else []
        likely = before[: min(MAX_MARKED, len(item["failing"]))]
        began = time.process_time()
        for one in changes:
            row = self._candidate(clock, item, live, one, likely)
            write(row)
            if clock.expired or time.process_time() - began > item["slice_s"]:
                break
        if len(changes) > 1:
            after = self._failures(clock, item, live)
            pairs = [*zip(before, after)]  # noqa: B905 - new in 3.10
            if any(old != new for old, new in pairs):
                # A message may differ in each run, as by the name of a temporary file.
                repeated = self._failures(clock, item, live)
                if any(
                    old != new and (old[0] != new[0] or new == once_more)
                    for (old, new), once_more in zip(pairs, repeated)  # noqa: B905
                ):
                    write(False)

    def _failures(
        self, clock: Clock, item: dict[str, Any], live: LiveModule
    ) -> list[tuple[str, str]]:
        """The exceptions and messages of the base's first failing tests, and of passing ones as far
        as there is time."""
        try:
            live.switch_to(live.text)
        except CannotSwitch:
            return [("the base's text cannot be restored", "")]
        found: list[tuple[str, str]] = []
        began = time.process_time()
        first = min(MAX_MARKED, len(item["failing"]))
        passing = [one for one in item["order"] if one not in item["failing"]]
        for number in [*item["failing"][:first], *passing]:
            run, _, _ = self._timed(clock, number, item["limits"])
            found.append(_failure(run))
            if len(found) >= first and time.process_time() - began > _STATE_CHECK_S:
                break
        return found

    def _candidate(
        self, clock: Clock, item: dict[str, Any], live: LiveModule, change: Any,
        likely: list[tuple[str, str]],
    ) -> list[Any]:
        try:
            live.switch_to(changed(live.text, change))
        except CannotSwitch as error:
            return ["lost", "", "", str(error), None, [], [], ""]
        except SyntaxError as error:
            return ["syntax", "", type(error).__name__, str(error)[:200], None, [], [], ""]
        except BaseException as error:  # noqa: BLE001 - raised by the module's own code
            row = _row_without_results("failed", item)
            row[2], row[3] = type(error).__name__, text_of(error)[:200]
            row[7] = short_hash(f"{row[2]} {row[3]}")
            return row
        return self._row(clock, item, live.path, likely)

    def _row(
        self, clock: Clock, item: dict[str, Any], path: str, likely: list[tuple[str, str]]
    ) -> list[Any]:
        """The row of a candidate; `likely` are the failures of the base's first failing tests."""
        order: list[int] = item["order"]
        pending = {*item["failing"]}
        marks = ["-"] * len(order)
        near = [0] * len(order)
        failures: list[str] = []
        first: tuple[ItemRun, bool] | None = None
        gained = alike = 0
        for index, number in enumerate(order):
            run, _, sides = self._timed(clock, number, item["limits"])
            late = clock.expired
            passed = run.passed and not late
            marks[index] = "1" if passed else "0"
            was_failing = number in pending
            pending.discard(number)
            gained += passed and was_failing
            if passed:
                continue
            pair = _equal_sides(sides)
            if pair is not None:
                near[index] = round(nearness(*pair) * 100)
            got = described(pair[0]) if pair else _ADDRESS.sub("", _message(run))
            failures.append(f"{index} {run.exception} {got}")
            if first is None or late:
                first = run, late
            if item["mode"] == "early" or late:
                break
            alike += index < len(likely) and _failure(run) == likely[index]
            if alike == MAX_MARKED:
                failures = []  # the behaviour is taken to be that of the base
            hopeless = not was_failing or (not pending and not gained) or alike == MAX_MARKED
            if item["mode"] == "fit" and hopeless:
                break
        if first is None:
            return ["ok", "".join(marks), "", "", None, [], near, ""]
        run, late = first
        return [
            "timeout" if late else "failed", "".join(marks),
            "TimeoutError" if late else run.exception, _message(run), last_line(run.error, path),
            [], near, "" if late or not failures else short_hash("\n".join(failures)),
        ]


class _Coverage:
    """Records the functions of the project that a test enters, and their lines."""

    def __init__(self, folder: str, files: set[str], lines: bool) -> None:
        self._folder = folder
        self._files = {folder + file for file in files}
        self._wants_lines = lines
        self._calls: dict[tuple[str, int], int] = {}
        self._lines: dict[str, set[int]] = {}
        self._left = _MAX_LINES

    def around(self, action: Callable[[], Any]) -> Any:
        sys.settrace(self._called)
        try:
            return action()
        finally:
            sys.settrace(None)

    def _called(self, frame: types.FrameType, event: str, arg: Any) -> Any:
        code = frame.f_code
        if code.co_filename not in self._files:
            return None
        key = code.co_filename, code.co_firstlineno
        self._calls[key] = self._calls.get(key, 0) + 1
        return self._line if self._wants_lines and self._left > 0 else None

    def _line(self, frame: types.FrameType, event: str, arg: Any) -> Any:
        if event == "line":
            self._lines.setdefault(frame.f_code.co_filename, set()).add(frame.f_lineno)
            self._left -= 1
            if self._left <= 0:
                return None
        return self._line

    def functions(self) -> dict[str, list[list[int]]]:
        found: dict[str, list[list[int]]] = {}
        for (path, line), count in self._calls.items():
            found.setdefault(path.removeprefix(self._folder), []).append([line, count])
        return found

    def lines(self) -> dict[str, list[int]]:
        return {
            path.removeprefix(self._folder): sorted(lines) for path, lines in self._lines.items()
        }


def _untraced(call: Callable[..., Any]) -> Callable[..., Any]:
    """A function that runs without the tracer."""

    @functools.wraps(call)
    def untraced(*arguments: Any, **named: Any) -> Any:
        tracer = sys.gettrace()
        sys.settrace(None)
        try:
            return call(*arguments, **named)
        finally:
            sys.settrace(tracer)

    return untraced


def _row_without_results(how: str, item: dict[str, Any]) -> list[Any]:
    count = len(item["order"])
    marks = ("0" + "-" * (count - 1)) if how == "failed" else ""
    return [how, marks, "", "", None, [], [0] * count, ""]


def _equal_sides(sides: list[tuple[str, Any, Any]]) -> tuple[Any, Any] | None:
    return next(((left, right) for op, left, right in reversed(sides) if op == "=="), None)


def _failure(run: ItemRun) -> tuple[str, str]:
    return run.exception, _ADDRESS.sub("", _message(run))


def _message(run: ItemRun) -> str:
    return text_of(run.error)[:300] if run.error is not None else ""


class _Rows:
    """The rows that a copy of this process writes to shared memory, since each write to a pipe
    would wake the reader; rows that do not fit are written to the pipe."""

    def __init__(self, pipe: int) -> None:
        self._pipe = pipe
        self._memory = mmap.mmap(-1, _SHARED_BYTES)
        self._end = _COUNTER_BYTES
        self._full = False

    def write(self, row: Any) -> None:
        """Writes a row, which is kept even if the copy crashes."""
        line = (json.dumps(row, ensure_ascii=True) + "\n").encode()
        end = self._end + len(line)
        self._full |= end > _SHARED_BYTES
        if self._full:
            os.write(self._pipe, line)
            return
        self._memory[self._end : end] = line
        self._end = end
        self._memory[:_COUNTER_BYTES] = end.to_bytes(_COUNTER_BYTES, "little")

    def received(self, by_pipe: bytes) -> list[Any]:
        """All complete rows."""
        end = int.from_bytes(self._memory[:_COUNTER_BYTES], "little") or _COUNTER_BYTES
        content = self._memory[_COUNTER_BYTES:end] + by_pipe
        self._memory.close()
        *lines, _ = content.split(b"\n")
        rows = []
        for line in lines:
            with contextlib.suppress(ValueError):
                rows.append(json.loads(line))
        return rows


def _in_copy(
    action: Callable[[Callable[[Any], None]], None], wall_s: float
) -> tuple[list[Any], float]:
    """The rows that a copy of this process writes until it ends, and its processor seconds."""
    reading, writing = os.pipe()
    rows = _Rows(writing)
    child = os.fork()
    if child == 0:
        os.close(reading)
        try:
            action(rows.write)
        except BaseException:  # noqa: BLE001 - the copy must not continue as the parent
            traceback.print_exc()
        os._exit(0)
    os.close(writing)
    by_pipe = b"".join(_read(reading, time.monotonic() + wall_s))
    os.close(reading)
    with contextlib.suppress(ProcessLookupError):
        os.kill(child, signal.SIGKILL)
    _, _, usage = os.wait4(child, 0)
    return rows.received(by_pipe), usage.ru_utime + usage.ru_stime


def _read(reading: int, end: float) -> Iterator[bytes]:
    while True:
        ready, _, _ = select.select([reading], [], [], max(0.0, end - time.monotonic()))
        part = os.read(reading, 1 << 16) if ready else b""
        if not part:
            return
        yield part
