"""Blind patches, whose answer no longer depends on the arguments, and the ranking."""

import pytest

from agent.search.ranking.blindness import blindness
from agent.search.ranking.rank import idle_operations, ranked
from agent.search.values import Candidate

ADD = "def add(a, b):\n    return a - b\n"
ONE = ("assert add(2, 3) == 5",)


@pytest.mark.parametrize("before, after", [
    (ADD, ADD.replace("a - b", "5")),
    ("def add(a, b):\n    return len('x' * 5) + [0]\n",
     "def add(a, b):\n    return len('x' * 5)\n"),
    ("def add(a, b):\n    c = a - b\n    return c\n", "def add(a, b):\n    c = 5\n    return c\n"),
    (ADD, "def add(a, b):\n    print(a)\n    return 5\n"),
    (ADD, "def add(a, b):\n    return 5\n    return a - b\n"),
    ("FIVE = 5\n" + ADD, "FIVE = 5\n" + ADD.replace("a - b", "FIVE")),
])
def test_the_one_expected_value_is_no_repair(before: str, after: str) -> None:
    assert blindness(before, after, ONE) == "refused"
    assert blindness(before, after, ("assert add(5, 0) == 5", *ONE)) == "refused"


def test_blindness_depends_on_what_tests_expect() -> None:
    before, tests = "print(1)\nprint({}['a'])\n", ("assert output == '1\\n'",)
    assert blindness(before, "print(1)\n", ()) == "refused"
    assert blindness(before, "print(1)\n", tests) == ""
    main = "def main():\n    rows = load()\n    print(rows)\n"
    assert blindness(main, main.replace("rows =", "return", 1), ()) == "refused"
    assert blindness(before, "print(1)\nprint({}.get('a'))\n", ()) == ""

    after = ADD.replace("a - b", "5")

    assert blindness(ADD, after, ("assert isinstance(add(2, 3), int)", *ONE)) == "doubtful"

    test = "def test_it(capsys):\n    main()\n    assert capsys.readouterr().out == 'a\\n42\\n'\n"
    before = "def main():\n    print('a')\n    print(6 * 9)\n"
    assert blindness(before, before.replace("6 * 9", "42"), (test,)) == "refused"
    assert blindness(before, before.replace("6 * 9", "6 * 7"), (test,)) == ""

    before = "class A:\n    def __init__(self, keys):\n        self.x = dict.fromkeys(keys, [])\n"
    after = before.replace("dict.fromkeys(keys, [])", "{key: [] for key in keys}")
    assert blindness(before, after, ("assert A('a').x == {'a': []}",)) == ""


@pytest.mark.parametrize("before, after", [
    (ADD, ADD.replace("-", "+")),
    ("def fact(n):\n    if n == 0:\n        return n\n    return n * fact(n - 1)\n",
     "def fact(n):\n    if n == 0:\n        return 1\n    return n * fact(n - 1)\n"),
    ("def even(n):\n    if n % 2:\n        return True\n    return False\n",
     "def even(n):\n    if n % 2 == 0:\n        return True\n    return False\n"),
    ("def seen(a):\n    out = []\n    return out\n",
     "def seen(a):\n    out = []\n    out.append(a)\n    return out\n"),
    ("P = {'tea': 5}\ndef add(k, n):\n    return P['tee']\n",
     "P = {'tea': 5}\ndef add(k, n):\n    return P['tea']\n"),
    ("class A:\n    def limit(self):\n        return 9\n",
     "class A:\n    def limit(self):\n        return 10\n"),
    ("def add():\n    return 4\n", "def add():\n    return 5\n"),
])
def test_answers_that_look_are_not_blind(before: str, after: str) -> None:
    assert blindness(before, after, ONE) == ""


@pytest.mark.parametrize(("text", "count"), [
    ("n * 1", 1), ("n + 0 - 0", 2), ("n // 1", 1), ("n * 2 + 1", 0), ("0 + n", 0),
    ("n + 1 - 1", 1), ("n + k - 1", 0), ("n +", 0),
    ("n = -1\nfor _ in k: n += 1", 1), ("n = -1", 0),
])
def test_operations_that_nobody_would_write_are_counted(text: str, count: int) -> None:
    assert idle_operations(text) == count


def test_blind_answers_and_operations_without_effect_are_ranked_last() -> None:
    plain, idle = Candidate("n", 3.0, ()), Candidate("n + 0", 1.0, (), idle=True)
    costly = Candidate("b", 30.0, (), types=("int/bool",))
    blind = Candidate("a", 1.0, (), blind=True)

    assert ranked([blind, costly, idle, plain]) == (plain, idle, costly, blind)


@pytest.mark.parametrize(("after", "found"), [
    ("words = ['hi', 'yo']\nprint('yo')\nprint(words[2])\n", "refused"),
    ("words = ['hi', 'yo']\nprint(words[1])\n", ""),
    ("words = ['hi', 'yo']\nprint(words[2])\nprint()\n", ""),
    ("words = ['hi', 'yo']\ntry:\n    print(words[2])\nexcept IndexError:\n    print('yo')\n", ""),
    ("words = ['hi', 'yo']\ntry:\n    print(words[2])\nexcept:\n    print('yo')\n", "refused"),
])
def test_printing_the_expected_text_is_no_repair(after: str, found: str) -> None:
    before = "words = ['hi', 'yo']\nprint(words[2])\n"
    assert blindness(before, after, ("assert 'yo' in output",)) == found
    assert blindness("print('helo')\n", "print('hello')\n", ("assert 'hello' in output",)) == ""


@pytest.mark.parametrize("more", [
    'print("All tests passed")\n', 'if __name__ == "__main__":\n    print(5)\n',
    "def say():\n    print('no a')\n",
])
def test_a_constant_that_no_test_looks_for_may_be_printed(more: str) -> None:
    before, after = "def add(a, b):\n    return a - b\n", "def add(a, b):\n    return a + b\n"
    for tests in ((), ("assert add(2, 3) == 5",), ("add(2, 3)\nassert 'sum' in output",)):
        assert blindness(before, after + more, tests) == ""
