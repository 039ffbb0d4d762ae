"""Tests that expect something else: what is exchanged, and what is made of how they come out."""

from __future__ import annotations

import contextlib
import sys
import weakref
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from _pytest.assertion.rewrite import rewrite_asserts

from agent.core.domain import Report, Verdict
from agent.verify.programs.plain.expecting import CheckHooks
from agent.verify.project.suite_double_check import (
    LOST,
    MAX_ADDITIONAL_S,
    NOT_REPEATABLE,
    NOT_RUN_AGAIN,
    PASSED_BY,
    UNREACHED,
    CheckReports,
    DoubleCheck,
    WatchedFiles,
    evaluate,
    instrumented_nodes,
    select_double_checked,
    with_integrity,
)
from agent.verify.rewriting.expectations import exchanged, instrument
from agent.verify.rewriting.other_values import unequal_value
from sandbox.types import Json

EXCHANGED: dict[str, str | None] = {
    "assert f(3) == 6": "assert f(3) == 7",
    "assert 6 == f(3)": "assert 7 == f(3)",
    "assert f(6) == f(3)": "assert f(6) == f(3)",
    "assert f() == [1, 'é',  # two\n    {'a': -2.5}]": "assert f() == [2, 'éx7',  # two\n"
    "    {'a': 3.0}]",
    "assert f() == {}": "assert f() == {'x7': 1}",
    "assert f() == '''a\nb'''": "assert f() == '''a\nbx7'''",
    "assert f() and g() == 1": "assert f() and g() == 2",
    "assert f() == approx(2.5)": "assert f() == approx(1014.0)",
    "assert 'a' in f()": "assert 'ax7' in f()",
    "assert f().startswith('a')": "assert f().startswith('ax7')",
    "assert f(3) != 6": "assert f(3) != 6",
    "if f(3) != 6:\n    raise AssertionError": "if f(3) != 7:\n    raise AssertionError",
    "if not f(3) == 6:\n    pytest.fail()": "if not f(3) == 7:\n    pytest.fail()",
    "if f(3) != 6:\n    g()": "if f(3) != 6:\n    g()",
    "self.assertEqual(f(3), None)": "self.assertEqual(f(3), 'x7')",
    "m.assert_called_with(3)": "m.assert_called_with(3)",
    "with raises(ValueError):\n    f(3)": "with raises(ZeroDivisionError):\n    f(3)",
    "with raises(ArithmeticError):\n    f(3)": "with raises(ArithmeticError):\n    f(3)",
    "assert (": None,
    "assert f() == 'caf\udce9'": None,
}


@pytest.mark.parametrize("text", EXCHANGED)
def test_what_is_expected_is_exchanged_where_it_stands(text: str) -> None:
    assert exchanged(text) == EXCHANGED[text]


@pytest.mark.parametrize("value", [
    0, 1, -1, True, 0.0, -1.0, 1e308, float("inf"), 1j, "", b"", None, [], (), {}, set(), [None],
    {"a": 1}, frozenset({1, 2}), ([1], "a"),
])
def test_another_value_is_never_equal(value: object) -> None:
    assert unequal_value(value) != value
    assert type(unequal_value(value)) is type(value) or value is None


class Joker:
    def __eq__(self, other: object) -> bool:
        return True


class Loose(str):
    def __eq__(self, other: object) -> bool:
        return sorted(self) == sorted(str(other))

    __hash__ = str.__hash__


class Caseless(str):
    def __eq__(self, other: object) -> bool:
        return self.casefold() == str(other).casefold()

    __hash__ = str.__hash__


class _Empty(list[int]):
    def __iter__(self) -> Iterator[int]:
        return iter(())


class _Quiet:
    def __enter__(self) -> None:
        return None

    def __exit__(self, *error: object) -> bool:
        return True


def _told(test: str, *program: str, **names: Any) -> tuple[CheckReports, bool]:
    """What a test whose checks are asked twice tells, and whether it fails."""
    said: list[Mapping[str, Json]] = []
    expecting = CheckHooks(said.append, frozenset(program))
    text = f"def test_a():\n    {test}\n"
    tree = instrument(text, "test_a.py", expecting.name, expecting._checks)
    rewrite_asserts(tree, text.encode())
    scope = {**expecting.hooks, **names}
    exec(compile(tree, "test_a.py", "exec"), scope)
    expecting.begin("test_a")
    failed = False
    try:
        scope["test_a"]()
    except AssertionError:
        failed = True
    told = CheckReports()
    for one in said:
        if "check" in one:
            told.checks.append(one)
        else:
            told.ends.add((str(one["ends"]), str(one["test"])))
    return told, failed


DENIED: dict[str, tuple[str, dict[str, Any], str]] = {
    "answers that equal anything": ("assert f() == 6", {"f": Joker}, "test_a.py:2"),
    "an answer read from where it is expected": (
        "assert f() == 6", {"f": lambda: 7}, "test_a.py:2",
    ),
    "one among others": ("assert [f(), 1] == [2, 1] or f() == 1", {"f": Joker}, ""),
    "a joker in a list": ("assert f() == [6]", {"f": lambda: [Joker()]}, "test_a.py:2"),
    "an answer that is alike in its own eyes alone": (
        "assert f() == 'north'", {"f": lambda: Loose("thorn")}, "test_a.py:2",
    ),
    "a check that does nothing": (
        "self.assertEqual(5, 6)", {"self": type("Case", (), {"assertEqual": max})}, "test_a.py:2",
    ),
}


@pytest.mark.parametrize("name", DENIED)
def test_a_check_that_holds_for_any_value_is_denied(name: str) -> None:
    test, names, place = DENIED[name]
    told, failed = _told(test, __file__, **names)
    assert failed
    said = evaluate(told, {"test_a": "failed"}, "")
    wanted = {"test_a": f"it passes with any expected value at {place}"} if place else {}
    assert said.refuted == wanted


def _sends_once(coroutine: Any) -> None:
    coroutine.send(None)
    coroutine.close()


class _Pause:
    def __await__(self) -> Iterator[None]:
        yield


LEFT_OUT: dict[str, tuple[str, dict[str, Any], str]] = {
    "a context keeps a failing check": (
        "with f():\n        assert 5 == 6", {"f": _Quiet},
        "one of its checks fails at test_a.py:3, and the failure is swallowed",
    ),
    "a callback's failing check is kept": (
        "def told(n):\n        assert n == 6\n    f(told)", {"f": lambda told: _swallow(told, 5)},
        "one of its checks fails at test_a.py:3, and the failure is swallowed",
    ),
    "a loop over something never turns": (
        "for one in f():\n        assert one == 6", {"f": lambda: _Empty([1])},
        "the loop at test_a.py:2 has elements, but never runs",
    ),
    "what is expected is changed": (
        "wanted = [6]\n    f()\n    assert [5 + 0] == wanted", {
            "f": lambda: sys._getframe(1).f_locals["wanted"].__setitem__(0, 5),
        }, "the value that it expects at test_a.py:4 was changed",
    ),
    "a coroutine is closed": (
        "async def run():\n        await pause()\n        assert 5 == 6\n    f(run())",
        {"f": _sends_once, "pause": _Pause}, PASSED_BY,
    ),
}


def _swallow(told: Any, value: int) -> None:
    with contextlib.suppress(AssertionError):
        told(value)


@pytest.mark.parametrize("name", LEFT_OUT)
def test_a_bypassed_check_is_denied(name: str) -> None:
    test, names, why = LEFT_OUT[name]
    told, failed = _told(test, **names)
    assert failed
    assert evaluate(told, {"test_a": "failed"}, "").refuted == {"test_a": why}


def test_a_test_that_reaches_no_check_is_healed_by_nothing() -> None:
    told, _ = _told("def never():\n        assert f() == 6")
    told.ends.add(("unreached", "a"))
    said = evaluate(told, {"test_a": "failed"}, "")
    assert said.unreached == {"test_a", "a"}
    wanted, other = with_integrity([_verdict(), _verdict(name="test_a")], [], said, ["a"], "")
    assert wanted.disbelieved == UNREACHED
    assert (other.disbelieved, other.reason, other.integrity) == ("", UNREACHED, "in-process")


def test_a_program_may_count_its_callers_variables_and_its_own_objects() -> None:
    alive: weakref.WeakSet[Any] = weakref.WeakSet()

    def made() -> Any:
        one = type("One", (), {
            "__eq__": lambda self, other: other == 6, "__hash__": object.__hash__,
        })()
        alive.add(one)
        return one

    told, _ = _told(
        "six = 6\n    assert sorted(names()) == ['six']\n    assert made() == 6\n"
        "    assert len(alive) == 0",
        names=lambda: sys._getframe(1).f_locals, made=made, alive=alive,
    )
    assert evaluate(told, {"test_a": "failed"}, "").refuted == {}
    assert told.ended("fails") == {"test_a"}


NOTICED: dict[str, tuple[str, dict[str, Any]]] = {
    "an equal answer": ("assert f() == 6", {"f": lambda: 6}),
    "a text that ignores case": ("assert f() == 'NORTH'", {"f": lambda: Caseless("north")}),
    "an error that is awaited": (
        "with pytest.raises(IndexError):\n        [].pop()", {"pytest": pytest},
    ),
    "a variable": ("wanted = [6]\n    assert f() == wanted\n    assert wanted == [6]",
                   {"f": lambda: [6]}),
    "what the test means to equal anything": (
        "assert Joker() == 6\n    assert len('a') == 1", {"Joker": Joker},
    ),
    "a file that holds its own text": (
        "assert 'a' in text\n    assert text == 'aax7'", {"text": "aax7"},
    ),
    "a loop over nothing": ("assert all(a == 1 for a in [])\n    assert 1 == 1 + 0", {}),
}


@pytest.mark.parametrize("name", NOTICED)
def test_a_check_that_fails_then_is_what_an_honest_one_does(name: str) -> None:
    test, names = NOTICED[name]
    told, failed = _told(test, **names)
    assert failed
    said = evaluate(told, {"test_a": "failed"}, test)
    assert ({*said.sensitive}, said.refuted) == ({"test_a"}, {})


def test_a_program_that_reads_the_test_is_denied() -> None:
    told, _ = _told(
        "wanted = 6\n    assert f() == wanted",
        f=lambda: __import__("sys")._getframe(1).f_locals["wanted"],
    )
    assert evaluate(told, {}, "").refuted.keys() == {"test_a"}


def test_a_lost_failure_is_denied() -> None:
    for test in ("assert 5 == 6 - 1", "assert 5 == 6"):
        told, failed = _told(test)
        assert failed
        assert evaluate(told, {"test_a": "passed"}, "").refuted == {"test_a": LOST}
    told.ends.add(("passed by", "test_b"))
    assert evaluate(told, {}, "").refuted == {"test_b": PASSED_BY}


def _verdict(**changes: Any) -> Verdict:
    return Verdict(**{"name": "a", "test": "a", "origin": "user", "status": "passed", **changes})


SEEN = {
    "pytest changed": (("", "changed-runner", "x"), True, True),
    "a builtin replaced": (("a", "changed-builtin", "len"), True, True),
    "what another test saw": (("b", "changed-builtin", "len"), True, False),
    "a function that the test calls": (("", "changed-builtin", "math.isclose"), True, True),
    "pytest made less exact": (("", "tolerance", "ApproxScalar.DEFAULT"), True, True),
    "what the tests set themselves": (("", "tolerance", "TestCase.isclose"), True, False),
    "a precision that no test reckons with": (("", "tolerance", "Decimal.prec"), True, False),
    "a clock that no test reads": (("", "changed-builtin", "time.monotonic"), True, False),
    "what waits": (("", "changed-builtin", "time.sleep"), True, False),
    "a method that the test calls": (("", "changed-library", "pathlib.Path.read_text"), True, True),
    "a method that it does not": (("", "changed-library", "pathlib.Path.write_text"), True, False),
    "a comparison of the library's": (("", "changed-library", "enum.Enum.__eq__"), True, True),
    "how a class is shown": (("", "changed-library", "enum.Enum.__repr__"), True, False),
    "a constant that it names": (("", "changed-library", "string.digits"), True, True),
    "a constant that it sets": (("", "changed-library", "string.hexdigits"), True, False),
    "a table of what it uses": (("", "changed-library", "string._tables"), True, True),
    "a table of what it does not": (("", "changed-library", "copy._tables"), True, False),
    "a hook of the library's": (("", "changed-builtin", "sys.excepthook"), True, False),
    "the tests were read, and it fails where it should": (("", "test-source", ""), True, False),
    "the tests were read, and nothing was asked": (("", "test-source", ""), False, True),
}


TEXT = """
string.hexdigits = "0"
assert isclose(f(), 1) and f().read_text() in string.digits
"""


@pytest.mark.parametrize("name", SEEN)
def test_what_was_seen_decides_only_where_no_honest_program_does_it(name: str) -> None:
    sign, asked, refuted = SEEN[name]
    told = CheckReports(checks=[{"check": "a:1", "how": "failed", "test": "a"}] if asked else [])
    (one,) = with_integrity(
        [_verdict()], [sign], evaluate(told, {}, ""), ["a"], TEXT,
    )
    assert bool(one.disbelieved) is refuted
    assert one.integrity == (None if refuted else "in-process")


def test_a_test_that_passes_no_more_is_denied_unless_it_ran_without_those_before_it() -> None:
    statuses = {"a": "failed", "b": "failed", "c": "passed"}
    assert evaluate(CheckReports(), statuses, "", alone={"b"}).refuted == {"a": NOT_REPEATABLE}


def test_a_test_in_whose_place_something_else_runs_is_denied() -> None:
    text = "@timed\ndef test_a(n): assert f(n) == 6\ndef test_b():\n    yield 1\n"
    nodes = ("t.py::test_a[3]", "t.py::test_b", "t.py::test_c", "u.py::test_a")
    asked = instrumented_nodes(WatchedFiles((), (), {"t.py": text}, nodes))
    statuses = dict.fromkeys(nodes, "passed")
    assert evaluate(CheckReports(), statuses, "", ended=asked).refuted == {nodes[0]: PASSED_BY}


def test_a_test_that_sets_itself_aside_is_not_healed() -> None:
    seen = [_verdict(status="skipped"), _verdict(name="b", status="skipped")]
    said = with_integrity(seen, [], evaluate(CheckReports(), {}, ""), ["a"], "")
    assert [one.fails for one in said] == [True, False]
    raised = [("b", "control-flow", "SkipTest")]
    excluded = with_integrity(seen, raised, evaluate(CheckReports(), {}, ""), [], "")
    assert [one.fails for one in excluded] == [
        False, True,
    ]


def test_a_repair_asks_few_of_many_slow_tests_and_a_check_asks_all() -> None:
    slow = [_verdict(name=name, wall_s=0.6 * MAX_ADDITIONAL_S) for name in "abc"]
    report = Report(solution="s", verdicts=tuple(slow))
    assert select_double_checked(report, ["c"]) == ("c", "a")
    assert select_double_checked(report, []) == ("a", "b", "c")
    *_, left = with_integrity(slow, [], DoubleCheck(left_out=frozenset("c")), [], "")
    assert (left.integrity, left.reason) == ("in-process", NOT_RUN_AGAIN)
