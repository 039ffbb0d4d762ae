"""Runs tests as plain Python would, to compare what intake made with what the user wrote."""

from __future__ import annotations

import contextlib
import io
import sys
import types
from collections.abc import Callable, Iterator, Sequence

import pytest

from agent.core.domain import TestCase


@contextlib.contextmanager
def imported(program: str, stem: str) -> Iterator[dict[str, object]]:
    """The names of the program, importable as `stem` meanwhile."""
    module = types.ModuleType(stem)
    module.__dict__["__file__"] = f"{stem}.py"
    exec(compile(program, f"{stem}.py", "exec"), module.__dict__)  # our own texts
    before = sys.modules.get(stem)
    sys.modules[stem] = module
    try:
        yield dict(module.__dict__)
    finally:
        if before is None:
            del sys.modules[stem]
        else:
            sys.modules[stem] = before


def passes(program: str, code: str, stem: str = "solution") -> bool:
    """Whether assert code runs through over a fresh import of the program."""
    with contextlib.redirect_stdout(io.StringIO()), imported(program, stem) as names:
        try:
            exec(compile(code, "test", "exec"), names)  # our own texts
        except (Exception, pytest.fail.Exception):  # it did not pass
            return False
    return True


@pytest.fixture
def outcomes() -> Callable[[str, Sequence[TestCase]], list[bool]]:
    """Which of the tests pass over a program, each over a fresh import of it."""
    return lambda program, tests: [passes(program, test.code) for test in tests]
