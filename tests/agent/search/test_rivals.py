"""Competing patches, the call that distinguishes them, and variants of a repair."""

from __future__ import annotations

from dataclasses import replace

import pytest

from agent.search.ranking.competing import (
    clusters,
    differs,
    distinguishing_call,
    is_readable,
    raised_exceptions,
)
from agent.search.values import Candidate
from agent.search.variants.variants import MOST, patch_variants


def candidate(text: str, cost: float, *answers: str) -> Candidate:
    return Candidate(text, cost, ("number",), answers=answers)


FIRST = candidate("a", 1.0, "0", "[]")
TWIN = candidate("b", 1.5, "0", "[]")
OTHER = candidate("c", 2.0, "1", "[]")
CALLS = ("f(3, [])", "f(0, [])")


def test_equal_answers_form_a_cluster() -> None:
    found = clusters([OTHER, FIRST, TWIN], chosen="b")
    assert [[one.text for one in cluster.candidates] for cluster in found] == [["b", "a"], ["c"]]

    found = clusters([candidate("x", 1.0), candidate("y", 1.1), OTHER], chosen="x")
    assert [cluster.best.text for cluster in found] == ["x", "y", "c"]
    assert distinguishing_call(CALLS, [(), OTHER.answers]) is None


def test_the_shortest_call_that_distinguishes_most_is_chosen() -> None:
    assert distinguishing_call(CALLS, [FIRST.answers, OTHER.answers]) == 0
    assert distinguishing_call(CALLS, [("0", "None"), ("1", "[]")]) in (0, 1)
    assert distinguishing_call(CALLS, [FIRST.answers, TWIN.answers]) is None
    assert distinguishing_call(CALLS, [("1", "2"), ("1.0", "3")]) == 1  # 1 equals 1.0
    assert distinguishing_call(CALLS, [("1", "2"), ("True", "2.0")]) == 0  # `is True` decides

    three = [("1", "1"), ("1", "2"), ("2", "3")]
    assert distinguishing_call(("f(1)", "f(1, 2)"), three) == 1

    assert not is_readable("<Node>") and not is_readable("~") and not is_readable("")
    assert not is_readable("1" * 201)
    assert is_readable("[1, 'a']") and is_readable("!ValueError")
    assert distinguishing_call(("f(1)",), [("<A>",), ("<B>",)]) is None


def test_only_answers_that_matter_differ() -> None:
    assert not differs(("0.30000000000000004",), ("0.3",), frozenset())
    assert differs(("0.31",), ("0.3",), frozenset())

    assert not differs(("1", "0"), ("True", "0.0"), frozenset())
    assert not differs(("1",), ("!IndexError",), frozenset())
    assert not differs(("1",), ("~",), frozenset())
    assert differs(("1",), ("!ValueError",), frozenset({"ValueError"}))
    assert differs(("1", "2"), ("1", "3"), frozenset())


def test_a_much_costlier_edit_by_another_operator_does_not_compete() -> None:
    own = replace(candidate("own", 1.0, "1"), operators=("comparison",))
    far = replace(candidate("far", 3.0, "2"), operators=("guard",))
    near = replace(candidate("near", 1.5, "3"), operators=("guard",))
    same = replace(candidate("same", 9.0, "4"), operators=("comparison",))
    found = clusters([own, far, near, same], chosen="own")
    assert [one.best.text for one in found] == ["own", "near", "same"]


def test_exceptions_of_raise_and_assert_are_found() -> None:
    text = "def f(n):\n    assert n\n    if n:\n        raise ValueError('n')\n    raise KeyError\n"
    assert raised_exceptions(text) == {"ValueError", "KeyError", "AssertionError"}


def of(before: str, after: str) -> tuple[str, ...]:
    return patch_variants(f"def f(a, b):\n    {before}\n", f"def f(a, b):\n    {after}\n").texts


def lines(before: str, after: str) -> set[str]:
    return {text.split("\n")[1].strip() for text in of(before, after)}


@pytest.mark.parametrize(("before", "after", "found"), [
    # other operators of the same kind
    ("return a + b", "return a * b", {"return a ** b", "return a - b", "return a // b"}),
    # swapped operands, neighbouring names, constants one off
    ("return a - b + 1", "return b - a + 2",
     {"return a - b + 2", "return b - b + 2", "return b - a + 3"}),
    # related methods and functions
    ("return a.upper()", "return a.capitalize()", {"return a.title()"}),
    ("return int(a * 10)", "return int(a * 100)", {"return round(a * 100)"}),
    # the ends of a sequence, and its extremes
    ("return max(a) - a[0]", "return max(a) - a[-1]", {"return max(a) - min(a)"}),
    # another text of the same kind; a call left out
    ("return a == '>'", "return a != '>'", {"return a == '<'"}),
    ("return a.upper()", "return a.lower()", {"return a"}),
    # another divisor; other bounds of a range
    ("return a > b", "return a > b or b % 6 == 0",
     {"return a > b or b % 12 == 0", "return a > b or b % 3 == 0"}),
    ("return [*range(a)]", "return [*range(a, b)]", {"return [*range(1, b)]"}),
])
def test_likely_alternatives_are_variants(before: str, after: str, found: set[str]) -> None:
    assert found <= lines(before, after)


def test_code_around_a_change_is_varied() -> None:
    before = "def f(a, b):\n    if b == 0:\n        return a\n    return a * f(a, b - 1)\n"
    texts = patch_variants(before, before.replace("== 0", "== 1")).texts
    assert before.replace("return a\n", "return 1\n") in texts

    before = "def f(a):\n    if a > 12:\n        return a\n    return a\n"
    texts = patch_variants(before, before.replace("return a\n", "return a - 12\n", 1)).texts
    assert any("if a >= 12" in text for text in texts)


def test_implausible_variants_are_left_out() -> None:
    assert not any("<" in line for line in lines("return a != b", "return a == b"))

    before, after = "def f(a):\n    return a + 1\n", "def f(a):\n    return a + 2\n"
    assert not {before, after} & {*patch_variants(before, after).texts}

    assert patch_variants("def f(:", "def f(").texts == ()


def test_variants_are_deterministic_and_limited() -> None:
    long = " + ".join(f"a * {n} - b" for n in range(30))
    short = " + ".join(f"b * {n} - a" for n in range(30))
    found = patch_variants(
        f"def f(a, b):\n    return {short}\n", f"def f(a, b):\n    return {long}\n"
    )
    assert (len(found.texts), found.cut > 0) == (MOST, True)
    assert found == patch_variants(
        f"def f(a, b):\n    return {short}\n", f"def f(a, b):\n    return {long}\n"
    )
