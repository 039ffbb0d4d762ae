"""Records the comparisons of a test as they are made, to report a failure with its values."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable

from agent.core.trees import is_literal
from agent.verify.examples.plain_values import differs
from agent.verify.rewriting.messages import first_line, named, short, text_of
from agent.verify.rewriting.transform import Site

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

LIMIT = 2_000
_HEAP_TYPE_FLAG = 1 << 9
"""The flag of classes that are defined in Python, not in C."""
_FEW = 200
_LONG = 2_000

OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "==": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le,
    ">": operator.gt, ">=": operator.ge, "is": operator.is_, "is not": operator.is_not,
    "in": lambda item, whole: item in whole, "not in": lambda item, whole: item not in whole,
}
MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}
"""Operators of swapped comparisons."""


class Recorder:
    """Receives the calls and comparisons of an instrumented test."""

    def __init__(self, sites: list[Site], compared: Callable[[Any, Any], None]) -> None:
        self.sites = sites
        self.type_differs = False
        self.checks = 0
        self._compared = compared
        """Called with two equal values, the program's side first."""
        self._last_failure: tuple[Site, Any, Any, str] | None = None
        self._call = ("", "")

    @property
    def has_checks(self) -> bool:
        """Whether there is a check that could hold; `assert False` cannot."""
        return any(site.operator or site.got not in ("False", "0", "None") for site in self.sites)

    def called(self, name: str, *args: Any) -> tuple[Any, ...]:
        """Records a call, and returns its arguments."""
        self._call = name, f"{name}({', '.join(map(_safe_repr, args))})"[:LIMIT]
        return args

    def compare(self, number: int, left: Any, right: Any) -> Any:
        site, call = self.sites[number], self._call
        result = OPERATORS[site.operator](left, right)
        got, expected = (right, left) if site.swapped else (left, right)
        if _holds(result):
            self.checks += 1
            if site.operator == "==":
                self.type_differs = self.type_differs or differs(left, right)
                self._compared(got, expected)
        else:
            self._last_failure = (site, got, expected, _call_source(site.got, call))
        return result

    def holds(self, number: int, value: Any) -> Any:
        """Records a condition that is not a single comparison."""
        site = self.sites[number]
        if self._last_failure is None or self._last_failure[0].line != site.line:
            self._last_failure = (site, value, None, _call_source(site.got, self._call))
        self.checks += 1
        return value

    def details(self, error: BaseException) -> dict[str, Any]:
        """The call, expected value, actual value and message of a failure."""
        if not isinstance(error, AssertionError):
            text = named(error)
            return {"call": self._call[1], "got": text, "message": text}
        message, details = first_line(text_of(error)), self._details()
        if not details.get("message"):
            details["message"] = message or "the assert does not hold"
        elif message and self._last_failure is not None and self._last_failure[0].message:
            details["message"] = f"{message}: {details['message']}"
        details.setdefault("call", self._call[1])
        return details

    def _details(self) -> dict[str, Any]:
        if self._last_failure is None:
            return {}
        site, got, expected, call = self._last_failure
        if not site.operator and call in ("False", "0", "None"):
            return {}  # `assert False, "…"` marks a place that must not be reached
        details = {"call": call[:LIMIT], "got": shown(got)}
        if not site.operator:
            details["expected"] = "a true value"
            details["message"] = f"{short(call)} gave {short(details['got'])}, which is not true"
            return details
        other = shown(expected)
        details["expected"] = _expectation(site, other)[:LIMIT]
        what = short(call) or "the value"
        wanted = _expectation(site, short(other))
        details["message"] = f"{what} gave {short(details['got'])}, expected {wanted}"
        return details


def _holds(result: Any) -> bool:
    """Whether a comparison holds, whose result may be numpy's.

    No method of a class defined in Python is called; only the test itself does so.
    """
    if result is True or type(result).__flags__ & _HEAP_TYPE_FLAG:
        return result is True
    try:
        return bool(result)
    except Exception:  # noqa: BLE001 - the test itself raises it too
        return False


def _expectation(site: Site, other: str) -> str:
    """The expectation of the program's side of a comparison."""
    operator = MIRRORED.get(site.operator, site.operator) if site.swapped else site.operator
    match operator:
        case "==":
            return other
        case "in" | "not in" if site.swapped:
            return f"a value {'with' if operator == 'in' else 'without'} {other} in it"
        case "in" | "not in":
            return f"a value {operator} {other}"
        case _:
            return f"{operator} {other}"


def _call_source(source: str, call: tuple[str, str]) -> str:
    """The expression of the test, with the argument values of its call where they are known."""
    try:
        node = ast.parse(source, mode="eval").body
    except (SyntaxError, ValueError):
        return source
    name, as_called = call
    if not name:
        return source
    if isinstance(node, ast.Name):
        return as_called
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == name:
        literal = all(is_literal(arg) for arg in [*node.args, *[k.value for k in node.keywords]])
        return source if literal or node.keywords else as_called
    return source


def shown(value: Any) -> str:
    try:
        text = repr(value)
    except Exception as error:  # noqa: BLE001 - the value's own repr may raise anything
        text = f"<{type(value).__name__}, whose repr raised {type(error).__name__}>"
    return text if len(text) <= LIMIT else text[: LIMIT - 1] + "…"


def _safe_repr(value: Any) -> str:
    """A short `repr` that calls no code of the program."""
    if isinstance(value, type) or callable(value):
        return str(getattr(value, "__name__", f"<{type(value).__name__}>"))
    if type(value) in (list, tuple, dict, set, frozenset):
        items = [*value, *value.values()] if isinstance(value, dict) else [*value]
        if len(items) > _FEW or any(type(item) not in _PLAIN for item in items):
            return f"<{type(value).__name__} of {len(value)}>"
    elif type(value) not in _PLAIN:
        return f"<{type(value).__name__}>"
    if isinstance(value, str | bytes) and len(value) > _LONG:
        return f"<{type(value).__name__} of {len(value)}>"
    try:
        return repr(value)
    except (ValueError, RecursionError):  # more digits than allowed, or endless nesting
        return f"<{type(value).__name__}>"


_PLAIN = (type(None), bool, int, float, complex, str, bytes, list, tuple, dict, set, frozenset)
