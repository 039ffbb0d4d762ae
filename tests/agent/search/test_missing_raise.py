"""Exceptions that failing tests expect and the program does not raise."""

from __future__ import annotations

from typing import Any

import pytest

from agent.search.edits.forgotten.missing_raise import expected_exceptions
from agent.search.program import Program
from agent.search.values import Crash, ExpectedException, Snapshot
from tests.agent.search.test_edit_families import proposed


@pytest.mark.parametrize(("code", "expected"), [
    ("def test_a():\n    with pytest.raises(ValueError, match='too \\\\d+'):\n        f(1)\n",
     [("ValueError", "")]),
    ("def test_a():\n    with pytest.raises(ValueError, match=r'^too big\\.'):\n        f(1)\n",
     [("ValueError", "too big.")]),
    ("def test_a(self):\n    self.assertRaises((KeyError, errors.Missing), f, 1)\n",
     [("KeyError", ""), ("Missing", "")]),
    ("def test_a(self):\n    with self.assertRaisesRegex(KeyError, 'no such'):\n        f(1)\n",
     [("KeyError", "no such")]),
    ("try:\n    f(1)\nexcept ValueError as e:\n    assert str(e) == 'bad'\nelse:\n    fail()\n",
     [("ValueError", "bad")]),
    ("assert f(1) == 2", []),
    ("no code (", []),
])
def test_the_exceptions_of_a_test(code: str, expected: list[tuple[str, str]]) -> None:
    assert [*expected_exceptions([code])] == expected


def first(
    text: str, *, message: str = "", name: str = "ValueError",
    operator: str = "missing exception", **known: Any,
) -> str:
    program = Program(text, expected=(ExpectedException(name, message),), **known)
    return proposed(operator, program)[0]


def moments(line: int, failing: str, passing: str, name: str = "n") -> tuple[Snapshot, ...]:
    return tuple(
        Snapshot(line, passed, ((name, value),))
        for passed, value in ((False, failing), (True, passing))
    )


def test_a_negative_number_is_refused() -> None:
    text = "def f(n):\n    return n * 2\n"
    assert first(text, moments=moments(2, "-1", "0")) == text.replace(
        "    r", '    if n < 0:\n        raise ValueError("n must not be negative")\n    r'
    )


def test_a_bound_lies_between_the_values_of_failing_and_passing_runs() -> None:
    text = "def f(n):\n    return n * 2\n"
    assert "    if n > 100:\n" in first(text, moments=moments(2, "101", "100"))


def test_a_field_is_a_bound() -> None:
    text = (
        "class A:\n    def __init__(self):\n        self.left = 1\n"
        "    def take(self, n):\n        self.left -= n\n"
    )
    found = first(text, types={"n": frozenset({"int"})}, moments=moments(5, "11", "20"))
    assert "if n > self.left:\n            raise ValueError(\"n must not exceed left\")\n" in found


def test_an_unknown_key_is_refused_with_the_expected_message() -> None:
    text = "class Missing(Exception):\n    pass\n\nD = {}\n\ndef f(key):\n    return D.get(key)\n"
    known = {
        "types": {"key": frozenset({"str"}), "D": frozenset({"dict"})},
        "moments": moments(7, "'zed'", "'ann'", "key"),
    }
    assert '    if key not in D:\n        raise Missing(f"no {key}: {{}}")\n' in first(
        text, name="Missing", message="no zed: {}", **known
    )


def test_an_exit_becomes_the_exception() -> None:
    text = "def f(a):\n    if not a:\n        return None\n    return a[0]\n"
    found = first(text, moments=(Snapshot(3, False, (("a", "[]"),)),), name="IndexError")
    assert found == text.replace("return None", "raise IndexError()")
    text = text.replace("return None", "print('no a')")
    found = first(text, moments=(Snapshot(3, False, (("a", "[]"),)),), name="IndexError")
    assert found == text.replace("print('no a')", "raise IndexError(\"no a\")")


def test_another_exception_is_translated() -> None:
    text = "import json\n\ndef f(a):\n    return json.loads(a)\n"
    known = {"crash": Crash("JSONDecodeError", "", 4), "operator": "translated exception"}
    assert first(text, **known) == text.replace(
        "    return json.loads(a)\n", "    try:\n        return json.loads(a)\n"
        "    except json.JSONDecodeError as error:\n"
        "        raise ValueError(str(error)) from error\n"
    )


def test_a_translated_exception_has_the_arguments_of_another_raise() -> None:
    text = (
        "class Gone(Exception):\n    pass\n\n"
        "def g(a):\n    raise Gone(a.name())\n\n"
        "def f(a):\n    return D[a]\n"
    )
    found = first(
        text, name="Gone", crash=Crash("KeyError", "", 8), operator="translated exception"
    )
    assert "    except KeyError as error:\n        raise Gone(a.name()) from error\n" in found
    expected = (ExpectedException("KeyError"),)
    program = Program("x = int('a')\n", crash=Crash("ValueError", "", 1), expected=expected)
    assert proposed("translated exception", program) == []


def test_an_exception_that_the_module_does_not_know_is_never_raised() -> None:
    program = Program("def f(n):\n    return n\n", expected=(ExpectedException("Missing"),))
    assert proposed("missing exception", program) == []
    assert proposed("missing exception", Program("def f(n):\n    return n\n")) == []


def test_a_lenient_lookup_becomes_a_strict_one() -> None:
    text = "D = {}\n\ndef f(key):\n    return D.get(key, 0) + 1\n"
    known = {"types": {"key": frozenset({"str"})}}
    assert first(text, name="KeyError", **known) == text.replace("D.get(key, 0)", "D[key]")


def test_a_type_error_is_raised_by_the_type() -> None:
    text = "def f(n):\n    return n * 2\n"
    found = first(text, name="TypeError", moments=moments(2, "'3'", "3"))
    assert 'if not isinstance(n, int):\n        raise TypeError("n must be of type int")' in found


def test_a_condition_on_characters_is_made_for_other_kinds_of_them() -> None:
    text = (
        "def f(word):\n    if not any(c.isupper() for c in word):\n"
        "        raise ValueError('upper')\n    return word\n"
    )
    program = Program(text, expected=(ExpectedException("ValueError", "digit"),))
    assert any("if not any(c.isdigit() for c in word):\n        raise ValueError(\"digit\")" in one
               for one in proposed("missing exception", program))
