"""What might as well have been written in place of a repair."""

from __future__ import annotations

import pytest

from agent.repair.proof.siblings import MOST, siblings


def of(before: str, after: str) -> tuple[str, ...]:
    return siblings(f"def f(a, b):\n    {before}\n", f"def f(a, b):\n    {after}\n").texts


def lines(before: str, after: str) -> set[str]:
    return {text.split("\n")[1].strip() for text in of(before, after)}


@pytest.mark.parametrize(("before", "after", "found"), [
    # operators of the same kind
    ("return a + b", "return a * b", {"return a ** b", "return a - b", "return a // b"}),
    # swapped operands, neighbouring names, constants one off
    ("return a - b + 1", "return b - a + 2",
     {"return a - b + 2", "return b - b + 2", "return b - a + 3"}),
    # sibling methods and functions
    ("return a.upper()", "return a.capitalize()", {"return a.title()"}),
    ("return int(a * 10)", "return int(a * 100)", {"return round(a * 100)"}),
    # other forms of an expression
    ("return a[b:]", "return a[:-b]", {"return a[:len(a) - b]"}),
    ("return a - b", "return b - a", {"return abs(b - a)"}),
    ("return a.replace(b, '*')", "return a.replace(b, '***')",
     {"return a.replace(b, '*' * len(b))"}),
    ("return b in 'aeio'", "return b in 'aeiou'", {"return b.lower() in 'aeiou'"}),
    # a division that rounds the other way
    ("return a[len(a) // 2 + 1]", "return a[len(a) // 2]",
     {"return a[(len(a) - 1) // 2]", "return a[-(-len(a) // 2)]"}),
    # the ends of a sequence, and its extremes
    ("return max(a) - a[0]", "return max(a) - a[-1]", {"return max(a) - min(a)"}),
    ("return min(a)", "return max(a)", {"return a[-1]"}),
    # another text of the same kind; a call left out
    ("return a == '>'", "return a != '>'", {"return a == '<'"}),
    ("return a.upper()", "return a.lower()", {"return a"}),
    # another divisor, which tells the same few numbers apart; the same asked of other names
    ("return a > b", "return a > b or b % 6 == 0",
     {"return a > b or b % 12 == 0", "return a > b or b % 3 == 0", "return a > b or (b > a)"}),
    # an element taken from an object, where one is looked at
    ("return a.items[0]", "return a.items[-1]", {"return a.items.pop(0)"}),
])
def test_what_might_as_well_have_been_written_is_a_sibling(
    before: str, after: str, found: set[str]
) -> None:
    assert found <= lines(before, after)


def test_no_element_is_taken_from_what_is_no_object() -> None:
    assert not any("pop" in line for line in lines("return a[0]", "return a[-1]"))


def test_what_begins_anew_after_its_last_is_a_sibling() -> None:
    def months(name: str, given: str) -> tuple[str, ...]:
        before = f"def {name}({given}):\n    return {given} + 2\n"
        return siblings(before, before.replace("2", "1")).texts

    for name, given in (("later", "month"), ("next_month", "given")):
        around = f"    return ({given} + 1 - 1) % 12 + 1\n"
        assert f"def {name}({given}):\n{around}" in months(name, given)
    assert not any("% 12" in text for text in months("months", "count"))


def test_a_century_is_a_sibling_where_a_year_is_asked() -> None:
    def found(name: str) -> bool:
        before = f"def f({name}):\n    return {name} % 4 != 0\n"
        return any("% 400" in text for text in siblings(before, before.replace("!=", "==")).texts)

    assert (found("year"), found("count")) == (True, False)


def test_what_is_returned_behind_a_changed_condition_may_have_been_the_fault() -> None:
    before = "def f(a, b):\n    if b == 0:\n        return a\n    return a * f(a, b - 1)\n"
    texts = siblings(before, before.replace("== 0", "== 1")).texts
    assert before.replace("return a\n", "return 1\n") in texts


def test_what_python_has_by_the_name_of_a_function_is_a_sibling() -> None:
    def called(signature: str) -> set[str]:
        before = f"def {signature}:\n    return 1\n"
        texts = siblings(before, before.replace("1", "2")).texts
        return {line.strip() for text in texts for line in text.split("\n") if "(" in line[4:]}

    assert "return __import__('statistics').median(xs)" in called("median(xs)")
    assert "return __import__('math').factorial(n)" in called("fact(n)")
    assert "return __import__('calendar').isleap(y)" in called("is_leap(y)")
    assert "return name.title()" in called("as_title(name)")
    assert not any("return" in line for line in called("area(a, b)") | called("median(*xs)"))


def test_what_changes_an_argument_in_place_has_a_sibling_that_does_not() -> None:
    before = "def f(a):\n    a.sort(reverse=True)\n    return a\n"
    texts = siblings(before, before.replace("True", "False")).texts
    assert "def f(a):\n    a = sorted(a, reverse=False)\n    return a\n" in texts


def test_the_bound_of_the_condition_in_front_of_what_was_changed_is_moved() -> None:
    before = "def f(a):\n    if a > 12:\n        return a\n    return a\n"
    texts = siblings(before, before.replace("return a\n", "return a - 12\n", 1)).texts
    assert any("if a >= 12" in text for text in texts)


def test_an_equality_has_no_order_for_a_sibling() -> None:
    assert not any("<" in line for line in lines("return a != b", "return a == b"))


def test_no_sibling_is_the_repair_or_the_program_as_it_came() -> None:
    before, after = "def f(a):\n    return a + 1\n", "def f(a):\n    return a + 2\n"
    assert not {before, after} & {*siblings(before, after).texts}


def test_siblings_are_the_same_each_time_and_bounded() -> None:
    long = " + ".join(f"a * {n} - b" for n in range(30))
    short = " + ".join(f"b * {n} - a" for n in range(30))
    found = siblings(f"def f(a, b):\n    return {short}\n", f"def f(a, b):\n    return {long}\n")
    assert (len(found.texts), found.cut > 0) == (MOST, True)
    assert found == siblings(
        f"def f(a, b):\n    return {short}\n", f"def f(a, b):\n    return {long}\n"
    )


def test_what_does_not_parse_has_no_siblings() -> None:
    assert siblings("def f(:", "def f(").texts == ()
