"""Generated calls have the types and the scale of those of the tests, and are deterministic."""

from __future__ import annotations

import ast

import pytest

from agent.search.variants.inputs import PROBES, probes, sequences
from agent.search.variants.recombining import observing_calls, recombined_calls

TESTS = (
    "assert longest(['pear', 'fig'], 3) == 'pear'",
    "assert longest(['kiwi'], 2) == 'kiwi'",
    "assert longest([], 0) is None",
)


def arguments(call: str) -> list[object]:
    node = ast.parse(call, mode="eval").body
    assert isinstance(node, ast.Call)
    return [ast.literal_eval(one) for one in node.args]


def test_calls_of_tests_are_varied() -> None:
    found = probes(["longest"], TESTS)
    assert len(found) == len(set(found)) == 128
    assert not set(found) & {"longest(['pear', 'fig'], 3)", "longest([], 0)"}
    assert found == probes(["longest"], TESTS)

    for words, count in map(arguments, probes(["longest"], TESTS)):
        assert isinstance(words, list) and all(isinstance(word, str) for word in words)
        assert isinstance(count, int) and count >= 0

    found = probes(["longest"], TESTS)
    assert "longest([], 3)" in found
    assert [len(call) for call in found] == sorted(len(call) for call in found)


def test_values_made_of_literals_are_changed_but_no_year() -> None:
    found = probes(["days"], ["assert days(date(2024, 1, 1), by=Decimal('2')) == 5"])
    assert len(found) > 10 and all(one.startswith("days(date(2024, ") for one in found)
    assert len({one.partition("by=")[2] for one in found}) > 1
    assert probes(["days"], ["assert days(today(2024, 1, 1)) == 5"]) == ()


def test_chains_are_varied_whole_and_variables_not_at_all() -> None:
    found = probes(["Stack"], ["assert Stack([1, 2]).pushed(3).items() == [1, 2, 3]"])
    assert found and all(call.startswith("Stack([") for call in found)
    assert all(call.endswith(".items()") for call in found)

    assert probes(["f"], ["x = 3\nassert f(x) == 1", "assert g(2) == 1", "not python"]) == ()


def test_distant_numbers_fill_up_missing_calls() -> None:
    few = probes(["f"], ["assert f(3) == 1"])
    many = probes(["f"], ["assert f(3) == 1"], stateful=True)
    assert len(few) < PROBES == len(many)
    assert set(few) < set(many)
    assert "f(3)" not in many and "f(-1)" not in many
    assert len(probes(["f"], ["assert f(True) == 1"], stateful=True)) == 1


ACCOUNT = (
    "acc = Account(10)\nacc.deposit(5)\nassert acc.balance == 15\nacc.draw(3, fee=1)\n"
    "assert acc.total('all') == 11\n"
)


def test_a_recreated_object_begins_a_new_sequence() -> None:
    test = "q = Q()\nq.push(1)\nq.pop()\nq = Q()\nq.push(2)\nassert q.pop() == 2"
    (found,) = sequences(ast.parse(test), frozenset({"Q"}))
    assert ast.unparse(found.call) == "(lambda q: (q.push(2), q.pop())[-1])(Q())"

    long = "q = Q()\n" + "q.push(1)\n" * 20 + "assert q.pop() == 1"
    assert [*sequences(ast.parse(long), frozenset({"Q"}))] == []


def test_a_sequence_of_calls_is_varied_as_one_call() -> None:
    first, second = sequences(ast.parse(ACCOUNT), frozenset({"Account"}))
    assert ast.unparse(first.call) == (
        "(lambda acc: (acc.deposit(5), acc.balance)[-1])(Account(10))"
    )
    assert [ast.literal_eval(one) for one in second.literals] == [10, 5, 3, 1, "all"]
    assert ast.literal_eval(second.expected) == 11

    found = probes(["Account"], [ACCOUNT], stateful=True)
    used = [call for call in found if call.startswith("(lambda acc: (acc.deposit(")]
    assert len(found) == PROBES
    assert len(used) > PROBES / 2
    assert any(".deposit(5)" not in call and call.endswith("(Account(10))") for call in used)
    assert not {ast.unparse(first.call), ast.unparse(second.call)} & {*found}
    assert not [call for call in probes(["Account"], [ACCOUNT]) if "lambda" in call]


@pytest.mark.parametrize("test", [
    "acc = Account(10)\nfor n in [1]:\n    acc.deposit(n)\nassert acc.balance == 15",
    "acc = Account(10)\nacc.deposit(five)\nassert acc.balance == 15",
    "acc = Account(10)\nassert acc.balance > 15",
    "acc = Account(10)\nassert acc.other(acc) == 15",
    "Account = Account(10)\nassert Account.balance == 15",
    "acc = Account(10)\nassert Account.made == 1",
    "def test_it():\n    acc = Account(10)\n    assert acc.balance == 10",
])
def test_what_is_no_straight_line_of_calls_is_no_sequence(test: str) -> None:
    assert [*sequences(ast.parse(test), frozenset({"Account"}))] == []


MERGE = "def merged(a, b):\n    return a\n"


def test_recombined_calls_vary_arguments_and_steps() -> None:
    found = recombined_calls(MERGE, ["merged"], [
        "assert merged([1, 3], [2]) == [1, 2, 3]", "assert merged([5], [6]) == [5, 6]",
    ])
    assert {"merged([1, 3, 5], [2])", "merged([2], [1, 3])", "merged([3, 1], [2])"} <= {*found}
    assert "merged([1, 3], [2])" not in found
    assert all(isinstance(ast.parse(call, mode="eval").body, ast.Call) for call in found)

    text = "def fine(speed):\n    return 100 if speed > 50 else 0\n"
    found = recombined_calls(text, ["fine"], ["assert fine(70) == 100"])
    assert {"fine(49)", "fine(50)", "fine(51)"} <= {*found}

    found = recombined_calls("def t(s):\n    return s\n", ["t"], [
        "assert t('ann') == 'Ann'", "assert t('bob') == 'Bob'",
    ])
    assert "t('ann bob')" in found

    text = "class S:\n    def push(self, x):\n        pass\n    def top(self):\n        return 1\n"
    found = recombined_calls(text, ["S"], ["s = S()\ns.push(1)\ns.push(2)\nassert s.top() == 2"])
    assert "(lambda s: (s.push(1), s.push(2), s.push(2), s.top(),)[-1])(S())" in found
    assert "(lambda s: (s.push(1), s.top(),)[-1])(S())" in found


def test_arguments_after_calls_and_other_attributes_are_observed() -> None:
    assert observing_calls("def f(a):\n    return a\n", ["f"], ["assert f([2, 1]) == [1, 2]"]) == (
        "(lambda f: (lambda given_0: (f(given_0), given_0))([2, 1]))(f)",
    )
    text = (
        "class R:\n    def __init__(self, w):\n        self.w = w\n\n    def area(self):\n"
        "        return self.w\n\n    def edge(self):\n        return 4 * self.w\n"
    )
    assert observing_calls(text, ["R"], ["assert R(2).area() == 2"]) == (
        "R(2).area()", "R(2).edge()", "R(2).w",
    )
