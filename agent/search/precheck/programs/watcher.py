"""Traces the lines of a file while something runs: counts, types and values."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import BuiltinFunctionType, FrameType, FunctionType, ModuleType
from typing import Any, TypeVar

T = TypeVar("T")

MAX_LINES = 4_000
"""Lines of functions that are traced in one test."""
MAX_MODULE_LINES = 50_000
"""Lines at module level that are traced in one test."""
VALUES = 12
"""Variables reported for the failing line."""
ITERATIONS, HELD, LENGTH = 5, 10, 120
"""Moments recorded for one line of a test, variables of each, and characters of each value."""
PLAIN = (int, float, bool, str, type(None))

_DEFINITIONS = (ModuleType, FunctionType, BuiltinFunctionType, type)


class Watcher:
    """Records the lines of one file in one run."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.lines = 0
        self.module_lines = 0
        """Lines at module level, of which a long program has thousands."""
        self.hits: dict[int, int] = {}
        self.types: dict[str, set[str]] = {}
        self.last_variables: dict[str, Any] = {}
        """The variables of the frame that returned last or raised the last exception."""
        self.moments: list[tuple[int, list[list[str]]]] = []
        self._raised: BaseException | None = None

    def run(self, action: Callable[[], T]) -> T:
        """Runs `action` and records it."""
        sys.settrace(self._traced)
        try:
            return action()
        finally:
            sys.settrace(None)

    def row(self, passed: bool, exception: str, message: str, line: int | None) -> dict[str, Any]:
        """The record of a run with its result, as `agent.search.precheck.tracing` parses it."""
        shown = [
            [name, _short(value)] for name, value in self.last_variables.items()
            if not name.startswith(("__", ".")) and not isinstance(value, _DEFINITIONS)
        ]
        return {
            "passed": passed, "exception": exception, "message": message, "line": line,
            "hits": [[at, count] for at, count in self.hits.items()],
            "types": {name: sorted(kinds) for name, kinds in self.types.items()},
            "values": [] if passed else shown[:VALUES],
            "moments": self.moments,
        }

    def _traced(self, frame: FrameType, event: str, arg: Any) -> Any:
        if frame.f_code.co_filename != self.path:
            return None
        if event == "line":
            if not self._line(frame):
                sys.settrace(None)
                return None
        elif event == "call":
            self._record_types(frame)  # a parameter may be given another value later
        elif event == "exception":
            self._raised_in(frame, arg[1])
        elif event == "return":
            self._returned(frame, arg)
        return self._traced

    def _line(self, frame: FrameType) -> bool:
        """Records a line; returns whether to continue tracing."""
        in_function = frame.f_code.co_name != "<module>"
        self.lines += in_function
        self.module_lines += not in_function
        if self.lines > MAX_LINES or self.module_lines > MAX_MODULE_LINES:
            return False  # a long run mostly repeats itself
        count = self.hits.get(frame.f_lineno, 0) + 1
        self.hits[frame.f_lineno] = count
        if count <= ITERATIONS and in_function:
            self.moments.append((frame.f_lineno, _plain_values(frame.f_locals)))
        return True

    def _raised_in(self, frame: FrameType, error: BaseException) -> None:
        self._record_types(frame)
        # The same exception passes through every caller; the first frame raised it.
        if error is not self._raised:
            self._raised = error
            self.last_variables = dict(frame.f_locals)

    def _returned(self, frame: FrameType, value: object) -> None:
        self._record_types(frame)
        if frame.f_code.co_name != "<module>" and self._raised is None:
            self.last_variables = {**frame.f_locals, "return": value}

    def _record_types(self, frame: FrameType) -> None:
        values = frame.f_locals
        # A module runs in pieces, each of which ends: only the names of that piece are new.
        in_function = frame.f_code.co_name != "<module>"
        for name in values if in_function else values.keys() & frame.f_code.co_names:
            value = values[name]
            if not name.startswith("__") and not isinstance(value, _DEFINITIONS):
                self.types.setdefault(name, set()).add(type(value).__name__)


def _plain_values(values: dict[str, Any]) -> list[list[str]]:
    """The plain values as literals; the `repr` of any other could run the program's code."""
    rows = [[name, repr(value)] for name, value in values.items() if _is_plain(value, 2)]
    return [row for row in rows if len(row[1]) <= LENGTH][:HELD]


def _is_plain(value: Any, depth: int) -> bool:
    kind = type(value)
    if kind is int:
        return bool(value.bit_length() < 200)  # the decimal form of a long one is slow
    if kind in PLAIN:
        return kind is not str or len(value) <= LENGTH
    if depth and kind in (list, tuple, set):
        return len(value) <= LENGTH // 2 and all(_is_plain(one, depth - 1) for one in value)
    if depth and kind is dict:
        return len(value) <= LENGTH // 4 and all(
            _is_plain(one, depth - 1) for pair in value.items() for one in pair
        )
    return False


def last_line(error: BaseException | None, path: str) -> int | None:
    """The last line of a file on the traceback of an exception."""
    found, trace = None, None if error is None else error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == path:
            found = trace.tb_lineno
        trace = trace.tb_next
    return found


def _short(value: Any) -> str:
    try:
        text = repr(value)
    except Exception as error:  # noqa: BLE001 - the candidate's own `__repr__`
        return f"<{type(value).__name__}, its repr raises {type(error).__name__}>"
    return text if len(text) <= 80 else text[:77] + "..."
