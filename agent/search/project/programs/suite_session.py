"""Holds a project's collected suite, and answers what becomes of it under changed texts.

pytest imports and collects once; then each question is answered in a copy of this process, so that
nothing a test or a candidate does is left for the next. Many candidates may share one copy: what
one of them leaves behind is noticed by the base failing otherwise afterwards.

Nothing here is a verdict. Questions, and what they are answered:

    {"ask": "baseline"}                          how each test comes out, and its processor seconds
    {"ask": "coverage", "tests": […]}            which functions and lines of the project each ran
    {"ask": "watch", "file": …, "tests": […]}    the lines of one file, with values
    {"ask": "screen", "file": …, "changes": […]} how far candidates come
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
from agent.search.precheck.programs.watcher import Watcher, shown
from agent.search.project.programs.item_runs import ItemRun, SubtestErrors, run_item
from agent.search.project.programs.live_module import CannotTakeOn, LiveModule
from agent.verify.programs.pytest_session import SuiteSession, run_suite, start_suite
from agent.verify.rewriting.messages import text_of

_ADDRESS = re.compile(r"\b0x[0-9a-f]+\b|\d{6,}", re.IGNORECASE)
"""And what else is long and other each time: times and numbers of files."""
_MAX_LINES = 200_000
"""Lines of one test that coverage follows; what runs longer repeats itself."""
ALIKE = 3
"""Failing tests of which a candidate that leaves them as they are is taken to leave all so."""
_SHARED_BYTES, _COUNTED = 1 << 20, 8
_LOOK_S = 0.02
"""Processor seconds for seeing whether the base still does what it did."""


def main(jail: Any) -> None:
    """Collects the suite and answers until the host is gone."""
    start_suite(jail)
    suite = _Suite(jail)
    run_suite(jail, [*jail.payload["args"], "--tb=short"], suite, suite.subtests)
    if not suite.served:
        jail.receive()
        jail.send({"problem": "\n".join(suite.problems) or "pytest collected no test"})


class _Suite(SuiteSession):
    """A plugin that takes the place of pytest's loop over its tests."""

    def __init__(self, jail: Any) -> None:
        super().__init__(jail.folder)
        self._jail = jail
        self._items: list[Any] = []
        self._live: dict[str, LiveModule] = {}
        self._loaded: dict[str, types.ModuleType] = {}
        self._together: dict[str, int] = {}
        """How many candidates of a file share a copy: fewer after one that changes what is not
        its own, and by and by more again."""
        self.served = False
        self.subtests = SubtestErrors()

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Serves the host in the place of running the tests."""
        self._items = session.items
        self.served = True
        self._leave_out_logging(session.config)
        # What shows values once an assert has failed is no part of what the test ran.
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

    def _leave_out_logging(self, config: pytest.Config) -> None:
        """Keeping each test's log takes a fifth of a short test's time; it is done where somebody
        could tell."""
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

    # How the base does.

    def _baseline(self, item: dict[str, Any], write: Callable[[Any], None]) -> None:
        clock = Clock()
        for number in item["tests"]:
            run, cpu_s, _ = self._timed(clock, number, item["limits"])
            write([number, run.passed, cpu_s, run.exception, _said(run), clock.rang])

    def _timed(
        self, clock: Clock, number: int, limits: list[Any],
        around: Callable[[Callable[[], Any]], Any] | None = None,
    ) -> tuple[ItemRun, float, list[tuple[str, Any, Any]]]:
        """One test under the clock, and what its failing assert compared."""
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

    # Which lines run.

    def _coverage(self, item: dict[str, Any], write: Callable[[Any], None]) -> None:
        """Rows of [test, {file: [[function's first line, its calls]…]}, {file: lines}]."""
        clock = Clock()
        for number in item["tests"]:
            seen = _Coverage(self._folder, {*item["files"]}, item["lines"])
            self._timed(clock, number, item["limits"], seen.around)
            write([number, seen.functions(), seen.lines()])

    def _watch(self, item: dict[str, Any], write: Callable[[Any], None]) -> None:
        """Rows as `programs.trace` has them, of one file."""
        clock = Clock()
        path = self._folder + item["file"]
        if item["change"] is not None:
            self._module(item["file"], item["base"]).take_on(changed(item["base"], item["change"]))
        for number in item["tests"]:
            watcher = Watcher(path)
            run, _, _ = self._timed(clock, number, item["limits"], watcher.run)
            write({
                "passed": run.passed and not clock.rang,
                "exception": "TimeoutError" if clock.rang else run.exception,
                "message": _said(run),
                "line": _line(run.error, path),
                "hits": [[line, count] for line, count in watcher.hits.items()],
                "types": {name: sorted(kinds) for name, kinds in watcher.types.items()},
                "values": [] if run.passed else shown(watcher.left),
                "moments": watcher.moments,
            })

    # Candidates.

    def _module(self, file: str, text: str) -> LiveModule:
        path = self._folder + file
        found = self._live.get(file)
        if found is None or found.text != text:
            module = self._loaded.get(path)
            if module is None:
                raise CannotTakeOn(f"{file} is not imported by any test")
            found = self._live[file] = LiveModule(path, text, module, self._folder)
        return found

    def _screen(self, item: dict[str, Any]) -> Any:
        """Rows of candidates from the first on, as `programs.screen` has them; fewer than were
        asked for where the time is over."""
        began = time.process_time()
        try:
            live = self._module(item["file"], item["base"])
        except (CannotTakeOn, SyntaxError, ValueError) as error:
            return [0.0, {"problem": str(error)}]
        changes = item["changes"]
        rows: list[Any] = []
        cpu_s = 0.0
        while len(rows) < len(changes) and cpu_s < item["slice_s"]:
            # Where tests act on each other, a candidate would act on the next one's too.
            together = 1 if item["together"] else self._together.get(item["file"], len(changes))
            left = changes[len(rows) : len(rows) + together]
            found, used_s = _in_copy(
                functools.partial(self._candidates, live, item, left), item["wall_s"]
            )
            cpu_s += used_s
            clean = not found or found[-1] is not False
            found = [one for one in found if isinstance(one, list)]
            if not clean:
                # What one left behind has changed how others came out.
                self._together[item["file"]] = max(1, len(found) // 2)
                continue
            self._together[item["file"]] = 2 * together
            rows += found or [_ended("lost", item)]
        return [time.process_time() - began + cpu_s, rows]

    def _candidates(
        self, live: LiveModule, item: dict[str, Any], changes: list[Any],
        write: Callable[[Any], None],
    ) -> None:
        """Writes a row for each candidate until the time is over or one does not end by itself;
        and at last `False`, if the base then does otherwise than before."""
        clock = Clock()
        before = self._did(clock, item, live) if len(changes) > 1 else []
        likely = before[: min(ALIKE, len(item["failing"]))]
        began = time.process_time()
        for one in changes:
            row = self._candidate(clock, item, live, one, likely)
            write(row)
            if clock.rang or time.process_time() - began > item["slice_s"]:
                break
        if len(changes) > 1:
            after = self._did(clock, item, live)
            pairs = [*zip(before, after)]  # noqa: B905 - new in 3.10
            if any(old != new for old, new in pairs):
                # A message may differ each time, as by the name of a temporary file.
                again = self._did(clock, item, live)
                if any(
                    old != new and (old[0] != new[0] or new == once_more)
                    for (old, new), once_more in zip(pairs, again)  # noqa: B905
                ):
                    write(False)

    def _did(
        self, clock: Clock, item: dict[str, Any], live: LiveModule
    ) -> list[tuple[str, str]]:
        """What the base's first failing tests do, and passing ones, as far as there is time:
        exceptions and what they say."""
        try:
            live.take_on(live.text)
        except CannotTakeOn:
            return [("its own text cannot be given back", "")]
        did: list[tuple[str, str]] = []
        began = time.process_time()
        first = min(ALIKE, len(item["failing"]))
        passing = [one for one in item["order"] if one not in item["failing"]]
        for number in [*item["failing"][:first], *passing]:
            run, _, _ = self._timed(clock, number, item["limits"])
            did.append(_did_of(run))
            if len(did) >= first and time.process_time() - began > _LOOK_S:
                break
        return did

    def _candidate(
        self, clock: Clock, item: dict[str, Any], live: LiveModule, change: Any,
        likely: list[tuple[str, str]],
    ) -> list[Any]:
        try:
            live.take_on(changed(live.text, change))
        except CannotTakeOn as error:
            return ["lost", "", "", str(error), None, [], [], ""]
        except SyntaxError as error:
            return ["syntax", "", type(error).__name__, str(error)[:200], None, [], [], ""]
        except BaseException as error:  # noqa: BLE001 - the module's own, as it is executed
            row = _ended("failed", item)
            row[2], row[3] = type(error).__name__, text_of(error)[:200]
            row[7] = short_hash(f"{row[2]} {row[3]}")
            return row
        return self._row(clock, item, live.path, likely)

    def _row(
        self, clock: Clock, item: dict[str, Any], path: str, likely: list[tuple[str, str]]
    ) -> list[Any]:
        """How far a candidate comes; `likely` is what the base's first failing tests do."""
        order: list[int] = item["order"]
        waiting = {*item["failing"]}
        marks = ["-"] * len(order)
        near = [0] * len(order)
        did: list[str] = []
        first: tuple[ItemRun, bool] | None = None
        gained = alike = 0
        for place, number in enumerate(order):
            run, _, sides = self._timed(clock, number, item["limits"])
            late = clock.rang
            passed = run.passed and not late
            marks[place] = "1" if passed else "0"
            was_failing = number in waiting
            waiting.discard(number)
            gained += passed and was_failing
            if passed:
                continue
            pair = _equal_sides(sides)
            if pair is not None:
                near[place] = round(nearness(*pair) * 100)
            said = described(pair[0]) if pair else _ADDRESS.sub("", _said(run))
            did.append(f"{place} {run.exception} {said}")
            if first is None or late:
                first = run, late
            if item["mode"] == "early" or late:
                break
            alike += place < len(likely) and _did_of(run) == likely[place]
            if alike == ALIKE:
                did = []  # so is the rest, as far as is worth a look
            hopeless = not was_failing or (not waiting and not gained) or alike == ALIKE
            if item["mode"] == "fit" and hopeless:
                break
        if first is None:
            return ["ok", "".join(marks), "", "", None, [], near, ""]
        run, late = first
        return [
            "timeout" if late else "failed", "".join(marks),
            "TimeoutError" if late else run.exception, _said(run), _line(run.error, path), [], near,
            "" if late or not did else short_hash("\n".join(did)),
        ]


class _Coverage:
    """Functions of the project that a test enters, and lines of them."""

    def __init__(self, folder: str, files: set[str], lines: bool) -> None:
        self._folder = folder
        self._files = {folder + one for one in files}
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
    """A function that no tracer sees at work."""

    @functools.wraps(call)
    def unseen(*arguments: Any, **named: Any) -> Any:
        tracer = sys.gettrace()
        sys.settrace(None)
        try:
            return call(*arguments, **named)
        finally:
            sys.settrace(tracer)

    return unseen


def _ended(how: str, item: dict[str, Any]) -> list[Any]:
    count = len(item["order"])
    marks = ("0" + "-" * (count - 1)) if how == "failed" else ""
    return [how, marks, "", "", None, [], [0] * count, ""]


def _equal_sides(sides: list[tuple[str, Any, Any]]) -> tuple[Any, Any] | None:
    return next(((left, right) for op, left, right in reversed(sides) if op == "=="), None)


def _did_of(run: ItemRun) -> tuple[str, str]:
    return run.exception, _ADDRESS.sub("", _said(run))


def _said(run: ItemRun) -> str:
    return text_of(run.error)[:300] if run.error is not None else ""


def _line(error: BaseException | None, path: str) -> int | None:
    found, trace = None, error.__traceback__ if error is not None else None
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == path:
            found = trace.tb_lineno
        trace = trace.tb_next
    return found


class _Rows:
    """What a copy of this process tells: in memory that both have, since each write to a pipe would
    wake the reader; what does not fit there goes by the pipe."""

    def __init__(self, pipe: int) -> None:
        self._pipe = pipe
        self._memory = mmap.mmap(-1, _SHARED_BYTES)
        self._end = _COUNTED
        self._full = False

    def write(self, row: Any) -> None:
        """Tells a row, which is there whatever becomes of the copy."""
        line = (json.dumps(row, ensure_ascii=True) + "\n").encode()
        end = self._end + len(line)
        self._full |= end > _SHARED_BYTES
        if self._full:
            os.write(self._pipe, line)
            return
        self._memory[self._end : end] = line
        self._end = end
        self._memory[:_COUNTED] = end.to_bytes(_COUNTED, "little")

    def received(self, by_pipe: bytes) -> list[Any]:
        """All rows; one that was cut short is none."""
        end = int.from_bytes(self._memory[:_COUNTED], "little") or _COUNTED
        said = self._memory[_COUNTED:end] + by_pipe
        self._memory.close()
        *lines, _ = said.split(b"\n")
        rows = []
        for line in lines:
            with contextlib.suppress(ValueError):
                rows.append(json.loads(line))
        return rows


def _in_copy(
    action: Callable[[Callable[[Any], None]], None], wall_s: float
) -> tuple[list[Any], float]:
    """The rows that a copy of this process wrote until it ended, and its processor seconds."""
    reading, writing = os.pipe()
    rows = _Rows(writing)
    child = os.fork()
    if child == 0:
        os.close(reading)
        try:
            action(rows.write)
        except BaseException:  # noqa: BLE001 - nothing may leave the copy by returning
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
