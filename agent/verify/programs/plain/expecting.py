"""Runs the checks of instrumented tests, each with the true and with other expected values.

The true expectation and the other ones are built and compared in the same way, in random order. The
comparison of the test itself comes last, in its usual place.
"""

from __future__ import annotations

import ast
import builtins
import marshal
import operator
import os
import secrets
import sys
import threading
from collections.abc import Callable
from datetime import date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from typing import Any

from _pytest.assertion import rewrite

from agent.verify.programs.plain.contents import contents_differ
from agent.verify.rewriting.expectations import Check, instrument
from agent.verify.rewriting.other_values import OTHER_TEXT, unequal_value

MOST = 1_000
"""Maximum number of parts of a value that are searched for objects of the program."""
SECOND_OFFSET = 11
"""Added to the offset of the second wrong value, so that it differs from neighbours' first ones."""
_PLAIN = (
    type(None), bool, int, float, complex, str, bytes, bytearray, list, tuple, dict, set, frozenset,
    range, Decimal, Fraction, datetime, date, timedelta,
)
_COMPARED: dict[str, Callable[[Any, Any], Any]] = {
    "==": operator.eq, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
    "all": lambda left, right: (left == right).all(),
}

_HOOKS = (
    "actual_value", "expected", "exchange_variable", "restore_variable", "wrap_check", "called",
    "container", "kind", "raising", "calling", "reached", "passed", "loop_iterable",
    "loop_iteration", "coroutine_closed", "test_finished",
)
_HERE = sys._getframe().f_code.co_filename


class Unraised(Exception):
    """An exception that is never raised."""


class ForeignClass:
    """A class that no program knows."""


class _Raising:
    """Wraps a context manager, and reports an exception before passing it on."""

    def __init__(self, context: Any, report: Callable[[BaseException], None]) -> None:
        self._context, self._report = context, report

    def __enter__(self) -> Any:
        return self._context.__enter__()

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> Any:
        if error is not None:
            self._report(error)
        return self._context.__exit__(kind, error, trace)


class CheckHooks:
    """Receives the checks of instrumented tests, through hooks among the builtins."""

    def __init__(self, send: Callable[[dict[str, Any]], None], program: frozenset[str]) -> None:
        self._send = send
        self._program = program
        self.name = f"_{secrets.token_hex(8)}"
        self.hooks: dict[str, Any] = {f"{self.name}_{one}": getattr(self, one) for one in _HOOKS}
        self._checks: list[Check] = []
        self.begin("")

    def install(self, folder: str, files: dict[str, str]) -> None:
        """Makes pytest instrument these test files; `files` are paths to the original texts."""
        vars(builtins).update(self.hooks)
        names: Any = vars(rewrite)
        before = names["rewrite_asserts"]

        def rewritten(tree: ast.Module, source: bytes, path: Any = None, *more: Any) -> None:
            text = None if path is None else files.get(os.path.abspath(path))
            if text is not None:
                shown = os.path.relpath(path, folder)
                tree.body[:] = instrument(text, shown, self.name, self._checks).body
            before(tree, source, path, *more)

        names["rewrite_asserts"] = rewritten

    def begin(self, test: str) -> None:
        self.test = test
        self._actual_values: dict[tuple[int, int], Any] = {}
        self._expectations: dict[tuple[int, int], tuple[Any, list[Any]]] = {}
        self._original_values: dict[tuple[int, int], Any] = {}
        self._reached: set[int] = set()
        self._held: set[tuple[int, ...]] = set()
        self._failed: set[tuple[int, ...]] = set()
        """Checks, each with the arguments of the function that contains it."""
        self._exchanged: dict[int, tuple[Any, Any]] = {}
        """Other and original values of exchanged variables, by the address of the other value."""
        self._reported_failed: set[int] = set()
        self._unrun_loops: set[int] = set()

    def actual_value(self, value: Any, number: int) -> Any:
        """Receives the side of a comparison that is not exchanged.

        The value is the first argument, since pytest stores each argument as a variable.
        """
        self._reached.add(number)
        key = _key(number)
        if key in self._expectations:
            self._compare(number, value, *self._expectations.pop(key))
        else:
            self._actual_values[key] = value
        return value

    def expected(self, number: int, build: Callable[..., Any] | None, *shown: Any) -> Any:
        """The true expectation, for the values `shown` in the text of the test."""
        self._reached.add(number)
        key, check = _key(number), self._checks[number]
        true = [
            marshal.loads(literal) if literal is not None else self._original_values.get(key, value)
            for literal, value in zip(check.literals, shown, strict=True)
        ]
        known = check.expected_value
        if known is not None and contents_differ(true[0], marshal.loads(known)):
            self._report(number, "changed")
        expected = true[0] if build is None else build(*true)
        pair = expected, self._others(check, build, true)
        if key in self._actual_values:
            self._compare(number, self._actual_values.pop(key), *pair)
        else:
            self._expectations[key] = pair
        return expected

    def _others(self, check: Check, build: Callable[..., Any] | None, true: list[Any]) -> list[Any]:
        if check.comparison.startswith(("<", ">")):
            return [float("nan")] * 2
        found = []
        for more in (0, SECOND_OFFSET):
            values = [self._other(one, check.offset + at + more) for at, one in enumerate(true)]
            if any(type(one) in (set, frozenset) and one == other_value
                   for one, other_value in zip(true, values, strict=True)):
                continue
            try:
                found.append(values[0] if build is None else build(*values))
            except Exception:  # noqa: BLE001 - a class may refuse such values
                continue
        return found

    def _other(self, value: Any, offset: int) -> Any:
        kinds = (Decimal, Fraction, timedelta, datetime, date)
        try:
            if type(value) in kinds:
                return value + (timedelta(days=offset) if type(value) in kinds[2:] else offset)
            literal = unequal_value(value, offset, default=lambda part: object())
            return marshal.loads(marshal.dumps(literal, 0))
        except (ValueError, OverflowError, RecursionError):
            return _other_of(value, offset)

    def exchange_variable(self, number: int, value: Any) -> Any:
        """The other value of a variable while its true value is compared."""
        self._original_values[_key(number)] = value
        found = self._other(value, self._checks[number].offset)
        self._exchanged[id(found)] = found, value
        return found

    def restore_variable(self, number: int) -> Any:
        return self._original_values.pop(_key(number))

    def _compare(self, number: int, subject: Any, expected: Any, others: list[Any]) -> None:
        check = self._checks[number]
        compared = _COMPARED[check.comparison]

        def holds(value: Any) -> Any:
            return compared(value, subject) if check.expected_first else compared(subject, value)

        values = [*others[1:], expected]
        if secrets.randbits(1):
            values.reverse()
        # A wrong value comes first: an object that copies it does not equal the expected one.
        self._evaluate(number, holds, [*others[:1], *values], expected, subject)

    def _evaluate(
        self, number: int, holds: Callable[[Any], Any], values: list[Any], expected: Any,
        subject: Any = None,
    ) -> None:
        """Reports whether a check holds with the expected value, and with no other of `values`."""
        how = "failed"
        for value in values:
            try:
                held = bool(holds(value))
            except Exception:  # noqa: BLE001 - a check may raise anything
                held = False
            if value is expected:
                (self._held if held else self._failed).add(self._occurrence(number))
            if held and value is not expected:
                how = "held"
            elif held and how == "failed" and self._equals_other(number, subject, expected):
                how = "lies"
        if how != "failed":
            self._report(number, how, subject, expected)
        elif len(values) > 1:
            self._report_failed_once(number)

    def _equals_other(self, number: int, subject: Any, expected: Any) -> bool:
        """Whether an object of the program equals a value with different contents."""
        compares = self._checks[number].comparison == "=="
        return compares and contents_differ(subject, expected) and bool(
            self._objects(subject)[0] or self._objects(expected)[0]
        )

    def wrap_check(self, number: int, function: Callable[..., Any]) -> Callable[..., Any]:
        """Wraps a function that checks its arguments, for the true and another value."""
        self._reached.add(number)
        check = self._checks[number]
        at = 0 if check.expected_first else 1

        def double_checked(*args: Any, **named: Any) -> Any:
            expected, others = self._expectations.pop(_key(number))
            if check.comparison == "elements":
                args = tuple(list(one) if hasattr(one, "__next__") else one for one in args)

            def holds(value: Any) -> Any:
                found = function(*args[:at], value, *args[at + 1 :], **named)
                return found if check.comparison == "truth" else True

            subject = args[1 - at] if len(args) > 1 else getattr(function, "__self__", None)
            self._evaluate(number, holds, [*others[:1], expected], expected, subject)
            return function(*args, **named)

        return double_checked

    def called(self, number: int, function: Callable[..., Any]) -> Callable[..., Any]:
        """Wraps a method that checks how a mock was called."""
        self._reached.add(number)
        # A function of the program in place of a mock's method is checked like that method.
        is_mocks = type(getattr(function, "__self__", None)).__module__.startswith(
            "unittest.mock"
        ) or self._is_from_program(function)

        def double_checked(*args: Any, **named: Any) -> Any:
            others = [(*args, OTHER_TEXT)] if is_mocks else []
            others += [
                (*args[:at], object(), *args[at + 1 :]) for at in range(len(args)) if is_mocks
            ]
            self._evaluate(
                number, lambda values: (function(*values, **named), True), [*others, args], args
            )
            return function(*args, **named)

        return double_checked

    def container(self, number: int, value: Any) -> Any:
        """Receives the container in a check like `"a" in value`.

        Only objects of the program are double-checked: honest texts may contain both values.
        """
        self._reached.add(number)
        expected, others = self._expectations.pop(_key(number))
        if self._is_from_program(type(value)) and not hasattr(value, "__next__"):
            self._evaluate(number, lambda text: text in value, [*others, expected], expected, value)
        else:
            self._report_failed_once(number)
            self._held.add(self._occurrence(number))
        return value

    def kind(self, number: int, kind: Any) -> Any:
        """Receives the class of a type check, of which a `ForeignClass` must be no instance."""
        self._reached.add(number)
        self._held.add(self._occurrence(number))
        program_kinds = [
            one for one in (kind if isinstance(kind, tuple) else (kind,))
            if self._is_from_program(type(one)) or self._is_from_program(one)
        ]
        stranger = ForeignClass()
        self._evaluate(
            number, lambda one: any(isinstance(stranger, one) for one in program_kinds),
            [stranger, None], None,
        )
        return kind

    def raising(
        self, number: int, is_imported_class: bool, function: Callable[..., Any], kind: Any,
        *args: Any, **named: Any,
    ) -> Any:
        """Wraps a context such as `pytest.raises`, which must not accept other exceptions."""
        return _Raising(
            function(self._true_class(number, is_imported_class, kind), *args, **named),
            lambda error: self._raised(number, error, lambda: function(Unraised, *args, **named)),
        )

    def calling(
        self, number: int, is_imported_class: bool, function: Callable[..., Any], kind: Any,
        called: Callable[..., Any], *args: Any, **named: Any,
    ) -> Any:
        """Like `raising`, for the form that receives the function to call."""
        def watched(*args: Any, **named: Any) -> Any:
            try:
                return called(*args, **named)
            except BaseException as error:
                self._raised(number, error, lambda: function(Unraised))
                raise

        return function(self._true_class(number, is_imported_class, kind), watched, *args, **named)

    def _true_class(self, number: int, is_imported_class: bool, kind: Any) -> Any:
        self._reached.add(number)
        self._held.add(self._occurrence(number))
        raises = self._checks[number].raises
        if is_imported_class and isinstance(kind, type) and (
            issubclass(Unraised, kind) or issubclass(AssertionError, kind)
        ):
            self._report(number, "held")
        return getattr(builtins, raises) if raises else kind

    def _raised(self, number: int, error: BaseException, make_context: Callable[[], Any]) -> None:
        """Reports a raised exception; a context that expects `Unraised` must not swallow it."""
        other_context = make_context()
        other_context.__enter__()
        try:
            swallowed = other_context.__exit__(type(error), error, error.__traceback__)
        except BaseException:  # noqa: BLE001 - the context may raise anything
            swallowed = False
        if swallowed:
            self._report(number, "held")
        else:
            self._report_failed_once(number)

    def reached(self, number: int) -> None:
        """Marks a check without exchanged values as failing, until it has `passed`."""
        self._reached.add(number)
        self._failed.add(self._occurrence(number))

    def passed(self, number: int) -> None:
        self._held.add(self._occurrence(number))

    def loop_iterable(self, number: int, value: Any) -> Any:
        """Receives the iterable of a loop; if it is not empty, the loop must run."""
        self._reached.add(number)
        if hasattr(type(value), "__len__") and len(value):
            self._unrun_loops.add(number)
        return value

    def loop_iteration(self, number: int, value: Any = None) -> Any:
        self._held.add(self._occurrence(number))
        return value

    def coroutine_closed(self, unconditional: tuple[int, ...]) -> None:
        """Ends a coroutine of a test, which may be closed before its `unconditional` checks."""
        if sys.exc_info()[0] is GeneratorExit and not self._reached.issuperset(unconditional):
            self._end("passed by")

    def test_finished(self, unconditional: tuple[int, ...], required_checks: int) -> None:
        """Ends a test, and makes it fail if it has not failed already."""
        if sys.exc_info()[1] is not None:
            self._end("raises")
            return
        if not self._reached.issuperset(unconditional):
            self._end("passed by")
        comparisons = {self._checks[one].comparison for one in self._reached}
        if required_checks and comparisons <= {"loop"}:
            self._end("unreached")
        for number in sorted(self._unrun_loops - {one for one, *_ in self._held}):
            self._report(number, "empty")
        for number in sorted({one for one, *_ in self._failed - self._held}):
            if not self._checks[number].may_fail:
                self._report(number, "lost")
        self._end("fails")
        raise AssertionError("the end of a double-checked test")

    def _occurrence(self, number: int) -> tuple[int, ...]:
        """A check, with the arguments of its function where the program calls that.

        A program may retry a failed check with the same arguments, and with no others.
        """
        frame = sys._getframe(1)
        while frame.f_code.co_filename == _HERE and frame.f_back is not None:
            frame = frame.f_back
        around = frame.f_back
        while around is not None and around.f_code.co_filename not in self._program:
            around = around.f_back
        if around is None:
            return (number,)
        code, names = frame.f_code, frame.f_locals  # keeps the values alive
        arguments = [
            names.get(one) for one in code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
        ]
        return number, *(id(self._exchanged.get(id(one), (one, one))[1]) for one in arguments)

    def _report_failed_once(self, number: int) -> None:
        """Reports once that a check fails with other values, as it should."""
        if number not in self._reported_failed:
            self._reported_failed.add(number)
            self._report(number, "failed")

    def _end(self, how: str) -> None:
        self._send({"ends": how, "test": self.test})

    def _report(self, number: int, how: str, value: Any = None, expected: Any = None) -> None:
        own, others = self._objects(value)
        self._send({
            "check": f"{self._checks[number].file}:{self._checks[number].line}", "how": how,
            "test": self.test, "own": [
                [type(one).__name__, self._names(one), not isinstance(expected, type(one))]
                for one in own
            ], "others": others,
        })

    def _objects(self, value: Any) -> tuple[list[Any], list[str]]:
        """Objects of the program within a value, one of each class, and the names of other classes
        that are not plain."""
        own: dict[type, Any] = {}
        others: set[str] = set()
        pending, count = [value], 0
        while pending and count < MOST:
            one = pending.pop()
            count += 1
            kind = type(one)
            if self._is_from_program(kind):
                own.setdefault(kind, one)
            elif kind not in _PLAIN and not hasattr(kind, "__array__"):
                # Arrays are excluded, since they hold values and are no placeholders.
                others.add(kind.__name__.lstrip("_"))
                library = kind.__module__.partition(".")[0]
                if library not in sys.stdlib_module_names:
                    others.add(library)
            if kind in (list, tuple, set, frozenset):
                pending += one
            elif kind is dict:
                pending += one.values()
        return [*own.values()], sorted(others)

    def _is_from_program(self, kind: Any) -> bool:
        module = sys.modules.get(str(getattr(kind, "__module__", "")))
        return getattr(module, "__file__", None) in self._program

    def _names(self, value: Any) -> list[str]:
        names = {type(value).__name__}
        for module in [*sys.modules.values()]:
            if getattr(module, "__file__", None) in self._program:
                names |= {name for name, one in [*vars(module).items()] if one is value}
        return sorted(names)


def _key(number: int) -> tuple[int, int]:
    return threading.get_ident(), number


def _other_of(value: Any, offset: int) -> Any:
    """An unequal value for a value that cannot be marshalled."""
    try:
        return unequal_value(value, offset, default=lambda part: object())
    except (ValueError, OverflowError, RecursionError):
        return object()
