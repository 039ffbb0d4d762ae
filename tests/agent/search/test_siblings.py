"""Patch variants are small, plausible variations of a repair."""

from __future__ import annotations

import pytest

from agent.search.variants.variants import MOST, patch_variants


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
