import pytest

from sieve.errors import SyntaxProblem
from sieve.parser import parse


def test_products_before_sums():
    assert parse("a + b * 2") == ("+", ("field", "a"), ("*", ("field", "b"), ("value", 2)))


def test_differences_group_to_the_left():
    assert parse("a - b - c") == ("-", ("-", ("field", "a"), ("field", "b")), ("field", "c"))


def test_powers_group_to_the_right():
    assert parse("a ** b ** c") == ("**", ("field", "a"), ("**", ("field", "b"), ("field", "c")))


def test_not_takes_a_comparison():
    assert parse("not a == b") == ("not", ("==", ("field", "a"), ("field", "b")))


def test_not_leaves_and_alone():
    assert parse("not a and b") == ("and", ("not", ("field", "a")), ("field", "b"))


def test_not_in():
    assert parse("a not in [b]") == ("not in", ("field", "a"), ("list", (("field", "b"),)))


def test_a_synonym():
    assert parse("a =~ 'x'")[0] == "matches"


def test_a_last_comma():
    assert parse("[1, 2,]") == ("list", (("value", 1), ("value", 2)))
    assert parse("[]") == ("list", ())


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "the rule is empty at 0"),
        ("a +", "expected a value at 3"),
        ("(a", r"expected '\)' at 2"),
        ("a b", "expected the end at 2"),
        ("f(1 2)", r"expected '\)' at 4"),
        ("a between 1 or 2", "expected 'and' at 12"),
        ("x > 2024-02-31", "no such date at 4: x > >>2024-02-31"),
        ("'and' == and", "expected a value at 9"),
    ],
)
def test_problems(text, message):
    with pytest.raises(SyntaxProblem, match=message):
        parse(text)


def test_a_text_is_no_bracket():
    with pytest.raises(SyntaxProblem):
        parse("(a ')'")


def test_a_problem_near_the_beginning_shows_it():
    with pytest.raises(SyntaxProblem, match="expected a value at 5: a == >>and b"):
        parse("a == and b")


def test_a_text_is_no_closing_bracket_of_a_call():
    with pytest.raises(SyntaxProblem, match="expected"):
        parse("f(a ')'")


def test_between_in_a_tree():
    assert parse("a between 1 and 2") == ("between", ("field", "a"), ("value", 1), ("value", 2))
