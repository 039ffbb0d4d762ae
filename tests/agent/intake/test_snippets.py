"""Assert code becomes one test for each check, with what ran before it."""

from __future__ import annotations

import pytest

from agent import intake
from agent.domain import Example, Raises, Script
from agent.intake import NotFixable

ACCOUNT = """
class Account:
    def __init__(self):
        self.balance = 0
    def deposit(self, amount):
        self.balance += amount
        return self.balance
"""


def test_independent_asserts_become_calls_with_a_literal_answer():
    tests = intake.tests_from_snippet("assert add(1, 2) == 3\nassert [4] == add([], b=[4])\n")

    assert tests == (
        Example(name="assert add(1, 2) == 3", origin="user", call="add(1, 2)", expected="3"),
        Example(name="assert [4] == add([], b=[4])", origin="user", call="add([], b=[4])",
                expected="[4]"),
    )


def test_an_assert_on_state_carries_the_statements_before_it():
    (test,) = intake.tests_from_snippet("acc = Account(); acc.deposit(5); assert acc.balance == 5")

    assert test == Script(
        name="assert acc.balance == 5", origin="user",
        code="acc = Account()\nacc.deposit(5)\nassert acc.balance == 5",
    )


def test_an_assert_message_is_kept():
    (test,) = intake.tests_from_snippet("assert f(1) == 2, 'one more'")

    assert test.code == "assert f(1) == 2, 'one more'"


def test_setup_that_a_check_does_not_need_is_left_out():
    tests = intake.tests_from_snippet(
        "import math\nlimit = 3\nassert f(limit) == 1\nassert g(2) == 4"
    )

    assert [test.code for test in tests] == ["limit = 3\nassert f(limit) == 1", "assert g(2) == 4"]


def test_with_raises_becomes_a_raising_call():
    (test,) = intake.tests_from_snippet(
        "import pytest\nwith pytest.raises(ValueError):\n    root(-1)\n"
    )

    assert test == Raises(name="with pytest.raises(ValueError): root(-1)", origin="user",
                          call="root(-1)", exception="ValueError")


def test_a_raises_with_a_match_stays_as_it_is_written():
    code = "import pytest\nwith pytest.raises(ValueError, match='neg'):\n    root(-1)"
    (test,) = intake.tests_from_snippet(code)

    assert test.kind == "script" and test.code == code


def test_a_bare_comparison_is_read_as_an_assert():
    (test,) = intake.tests_from_snippet("double(2) == 4")

    assert test == Example(name="assert double(2) == 4", origin="user", call="double(2)",
                           expected="4")


def test_a_renamed_import_is_kept_with_the_call():
    (test,) = intake.tests_from_snippet(
        "from solution import add as plus\nassert plus(1, 2) == 3", program="def add(a, b): ..."
    )

    assert test.code == "from solution import add as plus\nassert plus(1, 2) == 3"


def test_a_program_function_behind_an_import_is_called_by_its_name():
    (test,) = intake.tests_from_snippet(
        "from solution import add\nassert add(1, 2) == 3", program="def add(a, b): ..."
    )

    assert test.code == "assert add(1, 2) == 3"


def test_a_library_function_keeps_its_import():
    tests = intake.tests_from_snippet("from math import isqrt\nassert isqrt(f(4)) == 2\n")

    assert tests[0].code == "from math import isqrt\nassert isqrt(f(4)) == 2"


def test_reading_output_is_marked_unless_the_name_is_the_test_s_or_the_program_s():
    def marked(code: str, program: str = "") -> bool:
        (test,) = intake.tests_from_snippet(code, program=program)
        assert test.kind == "script"
        return test.uses_output

    assert marked("assert '5' in output")
    assert not marked("output = f(1)\nassert '5' in output")
    assert not marked("assert output == 5 or f()", program="output = 3\ndef f(): ...")


def test_names_are_short_and_unique():
    long = f"assert f({list(range(100))}) is None"
    tests = intake.tests_from_snippet(f"{long}\n{long}\nassert f(2) is None")

    names = [test.name for test in tests]
    assert len(set(names)) == 3
    assert all(len(name) <= 64 for name in names)
    assert names[1].endswith("(2)")


def test_a_syntax_error_names_its_line():
    with pytest.raises(NotFixable) as refused:
        intake.tests_from_snippet("assert f(1) == 1\nassert f(2 == 2")

    assert refused.value.category == "invalid_tests"
    assert "line 2" in str(refused.value)


def test_asserts_under_a_main_guard_are_always_run():
    tests = intake.tests_from_snippet(
        "if __name__ == '__main__':\n    x = f(1)\n    assert x == 1\n"
    )

    assert [test.code for test in tests] == ["x = f(1)\nassert x == 1"]


def test_a_lone_surrogate_escape_is_no_trouble():
    (test,) = intake.tests_from_snippet("assert f('\\ud800') == '\\udfff'")

    assert test.model_dump_json() and test.code == "assert f('\\ud800') == '\\udfff'"


# Each row: a program that is right, a mutation of it, a snippet, and which checks the mutated
# program fails. Judged apart, every test must agree with the snippet run as one.
AGREEMENT = {
    "a stack popped by its asserts": (
        "class S(list):\n    def take(self):\n        return self.pop()\n",
        "class S(list):\n    def take(self):\n        return self.pop(0)\n",
        "s = S([1, 2, 3])\nassert s.take() == 3\nassert s.take() == 2\nassert len(s) == 1\n",
        [False, True, True],
    ),
    "a mutable default shared by calls": (
        "def add(x, seen=None):\n    seen = seen or []\n    seen.append(x)\n    return seen\n",
        "def add(x, seen=[]):\n    seen.append(x)\n    return seen\n",
        "assert add(1) == [1]\nassert add(2) == [2]\n",
        [True, False],
    ),
    "a global counter": (
        "n = 0\ndef tick():\n    global n\n    n += 1\n    return n\n",
        "n = 0\ndef tick():\n    global n\n    n += 2\n    return n - 1\n",
        "assert tick() == 1\nassert tick() == 2\nassert tick() == 3\n",
        [True, False, False],
    ),
    "a memo that ignores its argument": (
        "memo = {}\ndef sq(x):\n    if x not in memo:\n        memo[x] = x * x\n"
        "    return memo[x]\n",
        "memo = {}\ndef sq(x):\n    if 0 not in memo:\n        memo[0] = x * x\n"
        "    return memo[0]\n",
        "assert sq(2) == 4\nassert sq(3) == 9\n",
        [True, False],
    ),
    "a generator consumed step by step": (
        "def up():\n    yield 1\n    yield 2\n",
        "def up():\n    yield 1\n    yield 3\n",
        "g = up()\nassert next(g) == 1\nassert next(g) == 2\n",
        [True, False],
    ),
    "a list changed in place by the function under test": (
        "def swap(x):\n    x[0], x[1] = x[1], x[0]\n    return x[0]\n",
        "def swap(x):\n    x[0] = x[1]\n    return x[0]\n",
        "x = [1, 2]\nassert swap(x) == 2\nassert x == [2, 1]\n",
        [True, False],
    ),
    "loops, helpers and raises": (
        "def half(x):\n    if x % 2:\n        raise ValueError(x)\n    return x // 2\n",
        "def half(x):\n    return x // 2 + (x > 6)\n",
        "import pytest\n"
        "def check(a, b):\n    assert half(a) == b\n"
        "check(4, 2)\n"
        "for a, b in [(2, 1), (8, 4)]:\n    assert half(a) == b\n"
        "with pytest.raises(ValueError):\n    half(3)\n"
        "try:\n    half(5)\nexcept ValueError as e:\n    assert e.args == (5,)\n"
        "else:\n    assert False\n",
        [True, False, False, False],
    ),
    "state set between asserts": (
        ACCOUNT, ACCOUNT.replace("+=", "="),
        "a = Account()\na.deposit(2)\nassert a.balance == 2\na.deposit(3)\n"
        "assert a.balance == 5\nb = a\nb.deposit(1)\nassert a.balance == 6\n",
        [True, False, False],
    ),
    "an assert that binds with a walrus": (
        "def pair(x):\n    return [x, x + 1]\n",
        "def pair(x):\n    return [x, x + 2]\n",
        "assert (p := pair(1))[0] == 1\nassert p[1] == 2\n",
        [True, False],
    ),
}


@pytest.mark.parametrize("right, wrong, snippet, kept", AGREEMENT.values(), ids=AGREEMENT)
def test_tests_judged_apart_agree_with_the_snippet_as_a_whole(
    right, wrong, snippet, kept, outcomes
):
    tests = intake.tests_from_snippet(snippet, program=wrong)

    assert outcomes(right, tests) == [True] * len(kept)
    assert outcomes(wrong, tests) == kept


def test_a_long_snippet_over_a_stateful_program_stays_one_test(outcomes):
    program = "n = 0\ndef tick():\n    global n\n    n += 1\n    return n\n"
    snippet = "\n".join(f"assert tick() == {number}" for number in range(1, 60))
    tests = intake.tests_from_snippet(snippet, program=program)

    assert len(tests) == 1
    assert outcomes(program, tests) == [True]
    assert outcomes(program.replace("+= 1", "+= 2"), tests) == [False]
