"""What each sign is called, and what of a program's text is one."""

from __future__ import annotations

import ast

import pytest

from agent.verify.tamper_indicators import (
    RUNTIME_INDICATORS,
    TEXT_INDICATORS,
    introduced_indicator,
    message_of,
    reaching_code,
    text_indicator,
)

IMPORTS = "from program import f\n\ndef test_f():\n    assert abs(f(1)) == 2\n"
STAR = "from program import *\n\ndef test_f():\n    assert abs(f(1)) == 2\n"
APPROX = "from pytest import approx\nfrom program import *\nassert f(1) == approx(2)\n"
OWN_ABS = "def f(n):\n    return 2\n\ndef abs(n):\n    return 2\n"
OWN_APPROX = "def f(n):\n    return 2\n\nclass approx:\n    pass\n"


def test_every_indicator_has_its_own_words() -> None:
    said = {**RUNTIME_INDICATORS, **TEXT_INDICATORS}

    assert len({*said.values()}) == len(RUNTIME_INDICATORS) + len(TEXT_INDICATORS)
    assert {message_of(sign) for sign in said} == {*said.values()}


def test_a_detail_stands_behind_the_words() -> None:
    assert message_of("changed-builtin", "len") == f"{RUNTIME_INDICATORS['changed-builtin']} (len)"
    assert message_of("what nobody promised") == "what nobody promised"


@pytest.mark.parametrize("text", [
    "class E:\n    pass\n\nE.__module__ = 'math'\n",
    "def f(n):\n    return n\n\nf.__module__: str = 'operator'\n",
    "def make(answer):\n    answer.__class__ = int\n    return answer\n",
])
def test_code_that_claims_to_be_a_librarys_is_a_sign(text: str) -> None:
    assert text_indicator(text, IMPORTS, False) == TEXT_INDICATORS["foreign-module"]


@pytest.mark.parametrize("text", [
    "import functools\n\ndef logged(f):\n    return functools.wraps(f)(lambda *a: f(*a))\n",
    "class E:\n    def name(self):\n        return self.__class__.__name__, self.__module__\n",
])
def test_code_that_only_reads_where_it_is_from_is_none(text: str) -> None:
    assert text_indicator(text, IMPORTS, False) == ""


@pytest.mark.parametrize(("text", "test", "beside", "name"), [
    (OWN_ABS, STAR, False, "abs"),
    (OWN_ABS, "assert abs(f(1)) == 2", True, "abs"),
    ("abs = round\n\ndef f(n):\n    return n\n", STAR, False, "abs"),
    (OWN_APPROX, APPROX, False, "approx"),
])
def test_a_shadowed_builtin_is_an_indicator(text: str, test: str, beside: bool, name: str) -> None:
    assert text_indicator(text, test, beside) == f"{TEXT_INDICATORS['shadowed-name']} ({name})"


@pytest.mark.parametrize(("text", "test", "beside"), [
    (OWN_ABS, IMPORTS, False),
    (OWN_ABS, "assert abs(-2) == 2", True),
    ("def f(n):\n    return n\n", STAR, False),
    ("def f(", STAR, False),
    (OWN_ABS, "assert (", True),
])
def test_a_name_that_the_test_imports_is_no_indicator(text: str, test: str, beside: bool) -> None:
    assert text_indicator(text, test, beside) == ""


PLAIN = "def f(n):\n    return n + 1\n"
READS_FRAMES = "import sys\ndef f(n):\n    return sys._getframe(1).f_locals['want']\n"


def test_only_new_indicators_of_a_repair_are_reported() -> None:
    assert introduced_indicator(PLAIN, READS_FRAMES, [IMPORTS]) == reaching_code(READS_FRAMES) != ""
    assert introduced_indicator(PLAIN, OWN_ABS, ["assert abs(f(1)) == 2"]).startswith(
        TEXT_INDICATORS["shadowed-name"]
    )

    assert introduced_indicator(READS_FRAMES, READS_FRAMES + "\nX = 1\n", [IMPORTS]) == ""
    assert introduced_indicator(OWN_ABS, OWN_ABS + "\nX = 1\n", ["assert abs(f(1)) == 2"]) == ""
    assert introduced_indicator(PLAIN, PLAIN.replace("1", "2"), [IMPORTS, STAR]) == ""


@pytest.mark.parametrize(("text", "reaches"), [
    ("import warnings\nwarnings.warn('old', stacklevel=2)\n", False),
    ("import warnings\nwarnings.warn('old', stacklevel=3)\nn = seen[0].lineno\n", True),
    ("import logging\nlogging.info('a', stack_info=True)\n", False),
    ("import logging\nlogging.info('a', stack_info=True)\nn = record.stack_info\n", True),
    ("def on(f):\n    f.__self__.count = 2\n", True),
    ("import weakref\ndef on(f):\n    return weakref.ref(f.__self__)\n", False),
])
def test_a_callers_line_or_object_reaches_into_tests(text: str, reaches: bool) -> None:
    assert bool(reaching_code(text)) is reaches


def test_a_program_may_ask_who_calls_it() -> None:
    assert reaching_code("import sys\nname = sys._getframe(1).f_globals.get('__name__')\n") == ""
    assert reaching_code("import sys\nname = sys._getframe(1).f_globals.get('want')\n") != ""


def test_a_program_is_parsed_once_for_all_of_its_tests(monkeypatch: pytest.MonkeyPatch) -> None:
    parsed: list[str] = []
    parse = ast.parse
    program = "TABLE = [1, 2, 3]\n\ndef f(n):\n    return TABLE[n]\n"

    with monkeypatch.context() as patched:
        patched.setattr(ast, "parse", lambda text: parsed.append(text) or parse(text))
        found = [
            text_indicator(program, f"assert f({number}) == 1", True) + reaching_code(program)
            for number in range(20)
        ]

    assert (found, parsed.count(program)) == ([""] * 20, 1)
