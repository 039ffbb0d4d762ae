"""What the checks of tests tell, each asked twice (`texts.expectations`).

What is truly expected and what is not are made in the same way and compared in the same place;
which comes when, nobody knows. The comparison of the test itself comes last, where it always was.
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

from agent.verify.programs.plain.contents import differ
from agent.verify.rewriting.expectations import Check, instrument
from agent.verify.rewriting.other_values import TEXT, other

MOST = 1_000
"""Parts of a value that are looked through for objects of the program."""
_PLAIN = (
    type(None), bool, int, float, complex, str, bytes, bytearray, list, tuple, dict, set, frozenset,
    range, Decimal, Fraction, datetime, date, timedelta,
)
_COMPARED: dict[str, Callable[[Any, Any], Any]] = {
    "==": operator.eq, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
    "all": lambda left, right: (left == right).all(),
}

_HEARD = (
    "subject", "expected", "swap", "back", "asking", "called", "within", "kind", "raising",
    "calling", "reached", "passed", "over", "turn", "closed", "end",
)


_HERE = sys._getframe().f_code.co_filename


class Never(Exception):
    """Is raised by nothing."""


class Stranger:
    """Is of no kind that a program knows."""


class _Raising:
    """A context, and a callback that gets its exception first."""

    def __init__(self, context: Any, notify: Callable[[BaseException], None]) -> None:
        self._context, self._notify = context, notify

    def __enter__(self) -> Any:
        return self._context.__enter__()

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> Any:
        if error is not None:
            self._notify(error)
        return self._context.__exit__(kind, error, trace)


class Expecting:
    """Stands among the builtins while such tests run."""

    def __init__(self, say: Callable[[dict[str, Any]], None], program: frozenset[str]) -> None:
        self._say = say
        self._program = program
        self.name = f"_{secrets.token_hex(8)}"
        """How all begins that tests call here."""
        self.heard: dict[str, Any] = {f"{self.name}_{one}": getattr(self, one) for one in _HEARD}
        """What the text of tests names."""
        self._checks: list[Check] = []
        self.begin("")

    def install(self, folder: str, files: dict[str, str]) -> None:
        """Has pytest compile these test files, given their original texts, so that their
        checks are heard of."""
        vars(builtins).update(self.heard)
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
        """A test begins."""
        self.test = test
        self._subjects: dict[tuple[int, int], Any] = {}
        self._pairs: dict[tuple[int, int], tuple[Any, list[Any]]] = {}
        self._before: dict[tuple[int, int], Any] = {}
        self._met: set[int] = set()
        self._held: set[tuple[int, ...]] = set()
        self._failed: set[tuple[int, ...]] = set()
        """Checks, each with what the function that makes it was called with."""
        self._exchanged: dict[int, tuple[Any, Any]] = {}
        """What a variable holds while it is compared, by its address, and what it held before."""
        self._noticed: set[int] = set()
        self._waiting: set[int] = set()
        """Loops over what has a length, that did not turn yet."""

    # ------------------------------------------------------------------ what a check is made of

    def subject(self, value: Any, number: int) -> Any:
        """The side of a comparison that stays as it is. It comes first: pytest puts each argument
        among the test's variables."""
        self._met.add(number)
        key = _key(number)
        if key in self._pairs:
            self._compare(number, value, *self._pairs.pop(key))
        else:
            self._subjects[key] = value
        return value

    def expected(self, number: int, build: Callable[..., Any] | None, *shown: Any) -> Any:
        """What is truly expected, for what the test shows in its place."""
        self._met.add(number)
        key, check = _key(number), self._checks[number]
        truly = [
            marshal.loads(literal) if literal is not None else self._before.get(key, value)
            for literal, value in zip(check.literals, shown, strict=True)
        ]
        if check.bound is not None and differ(truly[0], marshal.loads(check.bound)):
            self._tell(number, "changed")
        expected = truly[0] if build is None else build(*truly)
        pair = expected, self._others(check, build, truly)
        if key in self._subjects:
            self._compare(number, self._subjects.pop(key), *pair)
        else:
            self._pairs[key] = pair
        return expected

    def _others(
        self, check: Check, build: Callable[..., Any] | None, truly: list[Any]
    ) -> list[Any]:
        """Two other expectations, or one, or none where none can be made."""
        if check.asks.startswith(("<", ">")):
            return [float("nan")] * 2
        found = []
        for more in (0, 11):
            values = [
                self._other(one, check.place + at + more) for at, one in enumerate(truly)
            ]
            if any(type(one) in (set, frozenset) and one == made
                   for one, made in zip(truly, values, strict=True)):
                continue
            try:
                found.append(values[0] if build is None else build(*values))
            except Exception:  # noqa: BLE001 - a class of the program
                continue  # a class that refuses such values
        return found

    def _other(self, value: Any, place: int) -> Any:
        kinds = (Decimal, Fraction, timedelta, datetime, date)
        try:
            if type(value) in kinds:
                return value + (timedelta(days=place) if type(value) in kinds[2:] else place)
            literal = other(value, place, strange=lambda part: object())
            return marshal.loads(marshal.dumps(literal, 0))
        except (ValueError, OverflowError, RecursionError):
            return _other_of(value, place)

    def swap(self, number: int, value: Any) -> Any:
        """What a variable holds while its value is compared."""
        self._before[_key(number)] = value
        found = self._other(value, self._checks[number].place)
        self._exchanged[id(found)] = found, value
        return found

    def back(self, number: int) -> Any:
        """What a variable held before it was exchanged."""
        return self._before.pop(_key(number))

    # ------------------------------------------------------------------ what asks

    def _compare(self, number: int, subject: Any, expected: Any, others: list[Any]) -> None:
        check = self._checks[number]
        compared = _COMPARED[check.asks]

        def holds(value: Any) -> Any:
            return compared(value, subject) if check.expected_first else compared(subject, value)

        asked = [*others[1:], expected]
        if secrets.randbits(1):
            asked.reverse()
        # What learns from the first that it is compared with has learnt something else.
        self._ask(number, holds, [*others[:1], *asked], expected, subject)

    def _ask(
        self, number: int, holds: Callable[[Any], Any], asked: list[Any], expected: Any,
        subject: Any = None,
    ) -> None:
        """Asks whether a check holds with what is expected, and with nothing else."""
        how = "failed"
        for value in asked:
            try:
                held = bool(holds(value))
            except Exception:  # noqa: BLE001 - a check of the tests
                held = False  # the check refuses it
            if value is expected:
                (self._held if held else self._failed).add(self._made(number))
            if held and value is not expected:
                how = "held"
            elif held and how == "failed" and self._lies(number, subject, expected):
                how = "lies"
        if how != "failed":
            self._tell(number, how, subject, expected)
        elif len(asked) > 1:
            self._notice(number)

    def _lies(self, number: int, subject: Any, expected: Any) -> bool:
        """Whether an object of the program equals what its contents differ from."""
        return self._checks[number].asks == "==" and differ(subject, expected) and bool(
            self._objects(subject)[0] or self._objects(expected)[0]
        )

    def asking(self, number: int, function: Callable[..., Any]) -> Callable[..., Any]:
        """A function that makes a check, which makes it twice."""
        self._met.add(number)
        check = self._checks[number]
        at = 0 if check.expected_first else 1

        def asked(*args: Any, **named: Any) -> Any:
            expected, others = self._pairs.pop(_key(number))
            if check.asks == "elements":
                args = tuple(list(one) if hasattr(one, "__next__") else one for one in args)

            def holds(value: Any) -> Any:
                found = function(*args[:at], value, *args[at + 1 :], **named)
                return found if check.asks == "truth" else True

            subject = args[1 - at] if len(args) > 1 else getattr(function, "__self__", None)
            self._ask(number, holds, [*others[:1], expected], expected, subject)
            return function(*args, **named)

        return asked

    def called(self, number: int, function: Callable[..., Any]) -> Callable[..., Any]:
        """A function that says how a mock was called."""
        self._met.add(number)
        # One that the program has put in the place of a mock's own is asked as that would be.
        is_mocks = type(getattr(function, "__self__", None)).__module__.startswith(
            "unittest.mock"
        ) or self._is_programs(function)

        def asked(*args: Any, **named: Any) -> Any:
            others = [(*args, TEXT)] if is_mocks else []
            # What the program handed over equals no other thing in the place of one argument.
            others += [
                (*args[:at], object(), *args[at + 1 :]) for at in range(len(args)) if is_mocks
            ]
            self._ask(
                number, lambda given: (function(*given, **named), True), [*others, args], args
            )
            return function(*args, **named)

        return asked

    def within(self, number: int, value: Any) -> Any:
        """What may hold a text. Only of an object of the program it is no wonder if it does: other
        texts may well have both in them."""
        self._met.add(number)
        expected, others = self._pairs.pop(_key(number))
        if self._is_programs(type(value)) and not hasattr(value, "__next__"):
            self._ask(number, lambda text: text in value, [*others, expected], expected, value)
        else:
            self._notice(number)
            self._held.add(self._made(number))
        return value

    def kind(self, number: int, kind: Any) -> Any:
        """A class that something must be of, and a stranger not."""
        self._met.add(number)
        self._held.add(self._made(number))
        own = [
            one for one in (kind if isinstance(kind, tuple) else (kind,))
            if self._is_programs(type(one)) or self._is_programs(one)
        ]
        stranger = Stranger()
        self._ask(
            number, lambda one: any(isinstance(stranger, one) for one in own), [stranger, None],
            None,
        )
        return kind

    def raising(
        self, number: int, is_named: bool, function: Callable[..., Any], kind: Any, *args: Any,
        **named: Any,
    ) -> Any:
        """A context that awaits an exception, and another that does not come."""
        return _Raising(
            function(self._awaited(number, is_named, kind), *args, **named),
            lambda error: self._raised(number, error, lambda: function(Never, *args, **named)),
        )

    def calling(
        self, number: int, is_named: bool, function: Callable[..., Any], kind: Any,
        called: Callable[..., Any], *args: Any, **named: Any,
    ) -> Any:
        """The same of a function that is called."""
        def heard(*args: Any, **named: Any) -> Any:
            try:
                return called(*args, **named)
            except BaseException as error:
                self._raised(number, error, lambda: function(Never))
                raise

        return function(self._awaited(number, is_named, kind), heard, *args, **named)

    def _awaited(self, number: int, is_named: bool, kind: Any) -> Any:
        self._met.add(number)
        self._held.add(self._made(number))
        raises = self._checks[number].raises
        if is_named and isinstance(kind, type) and (
            issubclass(Never, kind) or issubclass(AssertionError, kind)
        ):
            self._tell(number, "held")
        return getattr(builtins, raises) if raises else kind

    def _raised(
        self, number: int, error: BaseException, awaiting: Callable[[], Any]
    ) -> None:
        """An exception comes out, which another context must let pass."""
        other_context = awaiting()
        other_context.__enter__()
        try:
            kept = other_context.__exit__(type(error), error, error.__traceback__)
        except BaseException:  # noqa: BLE001 - what awaits may raise anything
            kept = False  # it says that something else was awaited
        if kept:
            self._tell(number, "held")
        else:
            self._notice(number)

    def reached(self, number: int) -> None:
        """A check in which nothing is exchanged begins."""
        self._met.add(number)
        self._failed.add(self._made(number))

    def passed(self, number: int) -> None:
        """It has held."""
        self._held.add(self._made(number))

    def over(self, number: int, value: Any) -> Any:
        """What a loop goes over, which turns where that has a length."""
        self._met.add(number)
        if hasattr(type(value), "__len__") and len(value):
            self._waiting.add(number)
        return value

    def turn(self, number: int, value: Any = None) -> Any:
        """A loop turns."""
        self._held.add(self._made(number))
        return value

    def closed(self, sure: tuple[int, ...]) -> None:
        """The end of a coroutine of a test, which may be closed before its checks."""
        if sys.exc_info()[0] is GeneratorExit and not self._met.issuperset(sure):
            self._end("passed by")

    def end(self, sure: tuple[int, ...], count: int) -> None:
        """The end of a test, which is made to fail where it does not by itself."""
        if sys.exc_info()[1] is not None:
            self._end("raises")
            return
        if not self._met.issuperset(sure):
            self._end("passed by")
        if count and all(self._checks[one].asks == "loop" for one in self._met):
            self._end("unreached")
        for number in sorted(self._waiting - {one for one, *_ in self._held}):
            self._tell(number, "empty")
        for number in sorted({one for one, *_ in self._failed - self._held}):
            if not self._checks[number].may_fail:
                self._tell(number, "lost")
        self._end("fails")
        raise AssertionError("a test that was asked twice")

    def _made(self, number: int) -> tuple[int, ...]:
        """A check, and what its function was called with where the program calls that: it may try
        the same once more, and nothing else."""
        frame = sys._getframe(1)
        while frame.f_code.co_filename == _HERE and frame.f_back is not None:
            frame = frame.f_back
        around = frame.f_back
        while around is not None and around.f_code.co_filename not in self._program:
            around = around.f_back
        if around is None:
            return (number,)
        code, names = frame.f_code, frame.f_locals  # which keeps what it has read alive
        given = [
            names.get(one) for one in code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
        ]
        return number, *(id(self._exchanged.get(id(one), (one, one))[1]) for one in given)

    # ------------------------------------------------------------------ reports

    def _notice(self, number: int) -> None:
        """A check has failed where it should."""
        if number not in self._noticed:
            self._noticed.add(number)
            self._tell(number, "failed")

    def _end(self, how: str) -> None:
        """How the test comes to its end."""
        self._say({"ends": how, "test": self.test})

    def _tell(
        self, number: int, how: str, value: Any = None, expected: Any = None
    ) -> None:
        own, others = self._objects(value)
        self._say({
            "check": f"{self._checks[number].file}:{self._checks[number].line}", "how": how,
            "test": self.test, "own": [
                [type(one).__name__, self._names(one), not isinstance(expected, type(one))]
                for one in own
            ], "others": others,
        })

    def _objects(self, value: Any) -> tuple[list[Any], list[str]]:
        """Objects of the program within a value, one of each class; and by what names a test means
        the classes of others that are not plain."""
        own: dict[type, Any] = {}
        others: set[str] = set()
        waiting, count = [value], 0
        while waiting and count < MOST:
            one = waiting.pop()
            count += 1
            kind = type(one)
            if self._is_programs(kind):
                own.setdefault(kind, one)
            elif kind not in _PLAIN and not hasattr(kind, "__array__"):
                # What holds values, as arrays do, is no placeholder for others.
                others.add(kind.__name__.lstrip("_"))
                library = kind.__module__.partition(".")[0]
                if library not in sys.stdlib_module_names:
                    others.add(library)
            if kind in (list, tuple, set, frozenset):
                waiting += one
            elif kind is dict:
                waiting += one.values()
        return [*own.values()], sorted(others)

    def _is_programs(self, kind: Any) -> bool:
        module = sys.modules.get(str(getattr(kind, "__module__", "")))
        return getattr(module, "__file__", None) in self._program

    def _names(self, value: Any) -> list[str]:
        """What the program calls an object, or its class."""
        names = {type(value).__name__}
        for module in [*sys.modules.values()]:
            if getattr(module, "__file__", None) in self._program:
                names |= {name for name, one in [*vars(module).items()] if one is value}
        return sorted(names)


def _key(number: int) -> tuple[int, int]:
    """A check as it is made in this thread."""
    return threading.get_ident(), number


def _other_of(value: Any, place: int) -> Any:
    """Something else than what cannot be marshalled."""
    try:
        return other(value, place, strange=lambda part: object())
    except (ValueError, OverflowError, RecursionError):
        return object()
