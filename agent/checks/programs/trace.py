"""Runs each test once, line by line: coverage, types, and the values where it went wrong."""

from __future__ import annotations

import sys
import warnings
from types import BuiltinFunctionType, FrameType, FunctionType, ModuleType
from typing import Any

from agent.checks.programs.namesakes import give_way
from agent.checks.programs.running import Limits, Room, Run

VALUES = 12
"""Variables told about the failing line."""

_DEFINITIONS = (ModuleType, FunctionType, BuiltinFunctionType, type)


def main(jail: Any) -> None:
    """Answers each item, the number of a test and its steps, with what was seen of it."""
    warnings.simplefilter("ignore")
    give_way(jail.files)
    room = Room(jail.payload, jail.folder)
    room.serving(lambda: _serve(jail, room))


def _serve(jail: Any, room: Any) -> None:
    while True:
        item = jail.receive()
        if not isinstance(item, list):
            return
        index, steps = item
        limits = Limits(steps, jail.payload["cpu_s"], jail.payload["wall_s"])
        jail.send(_seen(room, index, limits))


class Watcher:
    """A trace function for `sys.settrace` that only looks into the entry file."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.hits: dict[int, int] = {}
        self.types: dict[str, set[str]] = {}
        self.left: dict[str, Any] = {}
        """The variables of the frame that was left last, by return or by exception."""
        self._raised: BaseException | None = None

    def __call__(self, frame: FrameType, event: str, arg: Any) -> Any:
        if frame.f_code.co_filename != self.path:
            return None
        if event == "line":
            self.hits[frame.f_lineno] = self.hits.get(frame.f_lineno, 0) + 1
        elif event == "exception":
            self._note(frame)
            # The same exception passes through every caller; where it arose is of interest.
            if arg[1] is not self._raised:
                self._raised = arg[1]
                self.left = dict(frame.f_locals)
        elif event == "return":
            self._note(frame)
            if frame.f_code.co_name != "<module>" and self._raised is None:
                self.left = {**frame.f_locals, "return": arg}
        return self

    def _note(self, frame: FrameType) -> None:
        known = frame.f_locals
        # A module ends once for each of its parts: only the names of that part are news.
        whole = frame.f_code.co_name != "<module>"
        for name in known if whole else known.keys() & frame.f_code.co_names:
            value = known[name]
            if not name.startswith("__") and not isinstance(value, _DEFINITIONS):
                self.types.setdefault(name, set()).add(type(value).__name__)


def _seen(room: Any, index: int, limits: Any) -> dict[str, Any]:
    watcher = Watcher(room.path)
    try:
        code = room.compiled(room.base)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        run = Run(False, exception=type(error).__name__, line=getattr(error, "lineno", None))
    else:
        sys.settrace(watcher)
        try:
            run = room.run(code, index, limits)
        finally:
            sys.settrace(None)
    return {
        "passed": run.passed,
        "exception": "TimeoutError" if run.timeout else run.exception,
        "message": run.message,
        "line": run.line,
        "hits": [[line, count] for line, count in watcher.hits.items()],
        "types": {name: sorted(kinds) for name, kinds in watcher.types.items()},
        "values": [] if run.passed else _shown(watcher.left),
    }


def _shown(values: dict[str, Any]) -> list[list[str]]:
    shown = []
    for name, value in values.items():
        if not name.startswith("__") and not isinstance(value, _DEFINITIONS):
            shown.append([name, _short(value)])
    return shown[:VALUES]


def _short(value: Any) -> str:
    try:
        text = repr(value)
    except Exception as error:  # noqa: BLE001 - a `__repr__` of the candidate's own
        return f"<{type(value).__name__}, its repr raises {type(error).__name__}>"
    return text if len(text) <= 80 else text[:77] + "..."
