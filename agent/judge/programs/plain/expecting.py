"""What the checks of tests tell whose expectations were exchanged (`texts.expectations`)."""

from __future__ import annotations

import ast
import builtins
import os
import secrets
import sys
from collections.abc import Callable
from datetime import date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest
from _pytest.assertion import rewrite

from agent.judge.texts.expectations import Check, instrument, other

MOST = 1_000
"""Parts of a value that are looked through for objects of the program."""
_PLAIN = (
    type(None), bool, int, float, complex, str, bytes, bytearray, list, tuple, dict, set, frozenset,
    range, Decimal, Fraction, datetime, date, timedelta,
)


class Never(Exception):
    """Is raised by nothing."""


class NeverWarning(Warning):
    """Is warned of by nothing."""


class Left(AssertionError):
    """Comes out of a context, unless that keeps it."""


class Expecting:
    """Stands among the builtins while such tests run."""

    Never, NeverWarning, nan = Never, NeverWarning, float("nan")

    def __init__(self, say: Callable[[dict[str, Any]], None], program: frozenset[str]) -> None:
        self._say = say
        self._program = program
        self.name = f"_{secrets.token_hex(8)}"
        """What tests call this."""
        self.test = ""
        """The test that runs now."""
        self._checks: list[Check] = []
        self._seen: dict[int, Any] = {}
        self._before: dict[int, Any] = {}
        self._met: set[int] = set()
        self._noticed: set[int] = set()

    def install(self, folder: str, files: set[str]) -> None:
        """Has pytest compile these test files so that their checks are heard of."""
        setattr(builtins, self.name, self)
        names: Any = vars(rewrite)
        before = names["rewrite_asserts"]

        def rewritten(tree: ast.Module, source: bytes, path: Any = None, *more: Any) -> None:
            if path is not None and os.path.abspath(path) in files:
                shown = os.path.relpath(path, folder)
                instrument(tree, shown, self.name, self._checks)
            before(tree, source, path, *more)

        names["rewrite_asserts"] = rewritten

    def begin(self, test: str) -> None:
        """A test begins."""
        self.test = test
        self._seen, self._before, self._met, self._noticed = {}, {}, set(), set()

    def seen(self, number: int, value: Any) -> Any:
        """The side of a comparison that stays as it is."""
        self._met.add(number)
        self._seen[number] = value
        return value

    def asked(self, number: int, value: Any) -> Any:
        """What makes a check that compares nothing."""
        self.seen(number, None)
        return value

    def mocked(self, number: int, value: Any) -> Any:
        """What is asked how it was called."""
        if type(value).__module__.startswith("unittest.mock"):
            return self.asked(number, value)
        return self.seen(number, value)

    def whole(self, number: int, value: Any) -> Any:
        """What may hold a text. Only of an object of the program it is no wonder if it does: other
        texts may well have both in them."""
        self._met.add(number)
        if self._is_programs(type(value)):
            self._seen[number] = value
        return value

    def other(self, number: int, value: Any, place: int = 1) -> Any:
        """Something else than an expected value, by so much where it is a number."""
        self._before[number] = value
        kinds = (Decimal, Fraction, timedelta, datetime, date)
        if type(value) in kinds:
            return value + (timedelta(days=place) if type(value) in kinds[2:] else place)
        try:
            return other(value, place, strange=lambda part: object())
        except (ValueError, OverflowError, RecursionError):
            return object()

    def foreign(self, number: int, value: Any) -> Any:
        """An expected object that was made of other values."""
        self._before[number] = value
        return value

    swap = other

    def back(self, number: int) -> Any:
        """What a variable held before it was exchanged."""
        return self._before[number]

    def leave(self, number: int) -> None:
        """The end of a context's body."""
        self.seen(number, None)
        raise Left

    def noticed(self, number: int) -> None:
        """A check has failed, as it should."""
        self._met.add(number)
        error = sys.exc_info()[1]
        if isinstance(error, pytest.skip.Exception | pytest.exit.Exception | KeyboardInterrupt):
            raise error
        if number not in self._noticed:
            self._noticed.add(number)
            self._say({"check": self._where(number), "held": False, "test": self.test})

    def held(self, number: int) -> None:
        """A check has held, whatever it expects."""
        if number not in self._seen and self._checks[number].may_be_empty:
            return
        value, before = self._seen.get(number), self._before.get(number)
        own, others = self._objects(value)
        self._say({
            "check": self._where(number), "held": True, "test": self.test, "own": [
                [type(one).__name__, self._names(one), not isinstance(before, type(one))]
                for one in own
            ], "others": others,
        })

    def _where(self, number: int) -> str:
        return f"{self._checks[number].file}:{self._checks[number].line}"

    def end(self, sure: tuple[int, ...]) -> None:
        """The end of a test, which is made to fail."""
        if sure and sys.exc_info()[1] is None and not self._met & {*sure}:
            self._say({"passed by": self.test})
        self._say({"fails": self.test})
        raise AssertionError("a test of other expectations")

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
            elif kind not in _PLAIN:
                others.add(kind.__name__.lstrip("_"))
                library = kind.__module__.partition(".")[0]
                if library not in sys.stdlib_module_names:
                    others.add(library)
            if kind in (list, tuple, set, frozenset):
                waiting += one
            elif kind is dict:
                waiting += one.values()
        return [*own.values()], sorted(others)

    def _is_programs(self, kind: type) -> bool:
        module = sys.modules.get(kind.__module__)
        return getattr(module, "__file__", None) in self._program

    def _names(self, value: Any) -> list[str]:
        """What the program calls an object, or its class."""
        names = {type(value).__name__}
        for module in [*sys.modules.values()]:
            if getattr(module, "__file__", None) in self._program:
                names |= {name for name, one in [*vars(module).items()] if one is value}
        return sorted(names)
