"""Inputs put together anew, and what everybody expects of the answers."""

from __future__ import annotations

import ast

from agent.repair.proof.expectations import Known, doubts, known
from agent.repair.proof.recombining import observing_calls, recombined_calls

MERGE = "def merged(a, b):\n    return a\n"


def calls(*given: tuple[str, object]) -> list[Known]:
    found = [known(call, answer) for call, answer in given]
    return [one for one in found if one is not None]


def test_inputs_are_made_longer_shorter_empty_swapped_and_repeated() -> None:
    found = recombined_calls(MERGE, ["merged"], [
        "assert merged([1, 3], [2]) == [1, 2, 3]", "assert merged([5], [6]) == [5, 6]",
    ])
    assert {"merged([1, 3, 5], [2])", "merged([2], [1, 3])", "merged([3, 1], [2])"} <= {*found}
    assert "merged([1, 3], [2])" not in found
    assert all(isinstance(ast.parse(call, mode="eval").body, ast.Call) for call in found)


def test_inputs_come_near_the_numbers_that_the_program_compares_with() -> None:
    text = "def fine(speed):\n    return 100 if speed > 50 else 0\n"
    found = recombined_calls(text, ["fine"], ["assert fine(70) == 100"])
    assert {"fine(49)", "fine(50)", "fine(51)"} <= {*found}


def test_texts_are_joined_with_a_space_too() -> None:
    found = recombined_calls("def t(s):\n    return s\n", ["t"], [
        "assert t('ann') == 'Ann'", "assert t('bob') == 'Bob'",
    ])
    assert "t('ann bob')" in found


def test_what_is_done_with_an_object_is_done_less_and_more_often() -> None:
    text = "class S:\n    def push(self, x):\n        pass\n    def top(self):\n        return 1\n"
    found = recombined_calls(text, ["S"], ["s = S()\ns.push(1)\ns.push(2)\nassert s.top() == 2"])
    assert "(lambda s: (s.push(1), s.push(2), s.push(2), s.top(),)[-1])(S())" in found
    assert "(lambda s: (s.push(1), s.top(),)[-1])(S())" in found


def test_arguments_are_looked_at_after_the_call_and_objects_beside_what_is_asked() -> None:
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


def test_a_relation_that_all_tests_show_is_a_doubt_where_it_breaks() -> None:
    tests = calls(
        ("merged([1, 3], [2])", [1, 2, 3]), ("merged([5], [6])", [5, 6]),
        ("merged([2], [1, 4])", [1, 2, 4]),
    )
    (doubt,) = doubts(tests, calls(("merged([], [7])", [])))
    assert doubt.startswith("`merged([], [7])` gives []: ")
    assert doubts(tests, calls(("merged([9], [7])", [7, 9]))) == ()


def test_a_relation_that_one_test_breaks_is_none() -> None:
    tests = calls(
        ("cut('ab')", "ab"), ("cut('abc')", "abc"), ("cut('x')", "x"), ("cut('abcdef')", "abc"),
    )
    assert doubts(tests, calls(("cut('abcdefg')", "abc"))) == ()


def test_two_tests_show_no_relation_yet() -> None:
    tests = calls(("twice('ab')", "ab"), ("twice('abc')", "abc"))
    assert doubts(tests, calls(("twice('x')", "xx"))) == ()


def test_what_the_tests_say_in_both_orders_is_expected_of_other_arguments() -> None:
    tests = calls(("gap(1, 4)", 3), ("gap(4, 1)", 3), ("gap(2, 2)", 0))
    (doubt,) = doubts(tests, calls(("gap(5, 2)", 3), ("gap(2, 5)", -3)))
    assert "the same in both orders" in doubt
