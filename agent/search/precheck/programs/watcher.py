"""What is seen of a file's lines while something runs: counts, types and values."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import BuiltinFunctionType, FrameType, FunctionType, ModuleType
from typing import Any, TypeVar

T = TypeVar("T")

MAX_LINES = 4_000
"""Lines of functions that are watched in one test."""
MAX_LOADING = 50_000
"""Lines at module level that are watched in one test, before the functions are called."""
VALUES = 12
"""Variables reported for the failing line."""
ITERATIONS, HELD, LENGTH = 5, 10, 120
"""How often a line is looked at in one test, how many variables, how much of each."""
PLAIN = (int, float, bool, str, type(None))

_DEFINITIONS = (ModuleType, FunctionType, BuiltinFunctionType, type)


class Watcher:
    """What is seen of the entry file's lines in one run."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.lines = 0
        self.loading = 0
        """Lines of the module itself, which a long program has thousands of."""
        self.hits: dict[int, int] = {}
        self.types: dict[str, set[str]] = {}
        self.left: dict[str, Any] = {}
        """The variables of the frame that was left last, by return or by exception."""
        self.moments: list[tuple[int, list[list[str]]]] = []
        self._raised: BaseException | None = None

    def run(self, action: Callable[[], T]) -> T:
        """Runs `action` and watches it."""
        sys.settrace(self._traced)
        try:
            return action()
        finally:
            sys.settrace(None)

    def _traced(self, frame: FrameType, event: str, arg: Any) -> Any:
        if frame.f_code.co_filename != self.path:
            return None
        if event == "line":
            if not self._line(frame):
                sys.settrace(None)
                return None
        elif event == "exception":
            self._left_by(frame, arg[1])
        elif event == "return":
            self._returned(frame, arg)
        return self._traced

    def _line(self, frame: FrameType) -> bool:
        """Whether to go on watching."""
        if frame.f_code.co_name == "<module>":
            self.loading += 1
        else:
            self.lines += 1
            if self.lines > MAX_LINES:
                # What runs so long repeats itself: the rest is run unwatched, at full speed.
                return False
        if self.loading > MAX_LOADING:
            return False
        count = self.hits.get(frame.f_lineno, 0) + 1
        self.hits[frame.f_lineno] = count
        if count <= ITERATIONS and frame.f_code.co_name != "<module>":
            self.moments.append((frame.f_lineno, _held(frame.f_locals)))
        return True

    def _left_by(self, frame: FrameType, error: BaseException) -> None:
        self._note(frame)
        # The same exception passes through every caller; where it arose is of interest.
        if error is not self._raised:
            self._raised = error
            self.left = dict(frame.f_locals)

    def _returned(self, frame: FrameType, value: object) -> None:
        self._note(frame)
        if frame.f_code.co_name != "<module>" and self._raised is None:
            self.left = {**frame.f_locals, "return": value}

    def _note(self, frame: FrameType) -> None:
        known = frame.f_locals
        # A module ends once for each of its parts: only the names of that part are news.
        whole = frame.f_code.co_name != "<module>"
        for name in known if whole else known.keys() & frame.f_code.co_names:
            value = known[name]
            if not name.startswith("__") and not isinstance(value, _DEFINITIONS):
                self.types.setdefault(name, set()).add(type(value).__name__)


def _held(values: dict[str, Any]) -> list[list[str]]:
    """Plain values, as literals; what else there is may run code of its own when shown."""
    held = []
    for name, value in values.items():
        if _is_plain(value, 2):
            text = repr(value)
            if len(text) <= LENGTH:
                held.append([name, text])
    return held[:HELD]


def _is_plain(value: Any, depth: int) -> bool:
    kind = type(value)
    if kind is int:
        return bool(value.bit_length() < 200)  # longer ones take long to write down
    if kind in PLAIN:
        return kind is not str or len(value) <= LENGTH
    if depth and kind in (list, tuple, set):
        return len(value) <= LENGTH // 2 and all(_is_plain(one, depth - 1) for one in value)
    if depth and kind is dict:
        return len(value) <= LENGTH // 4 and all(
            _is_plain(one, depth - 1) for pair in value.items() for one in pair
        )
    return False


def shown(values: dict[str, Any]) -> list[list[str]]:
    """Names and short forms of their values, of what is no definition."""
    found = []
    for name, value in values.items():
        if not name.startswith("__") and not isinstance(value, _DEFINITIONS):
            found.append([name, _short(value)])
    return found[:VALUES]


def _short(value: Any) -> str:
    try:
        text = repr(value)
    except Exception as error:  # noqa: BLE001 - a `__repr__` of the candidate's own
        return f"<{type(value).__name__}, its repr raises {type(error).__name__}>"
    return text if len(text) <= 80 else text[:77] + "..."
