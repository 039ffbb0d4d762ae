import pytest

from sieve.errors import SyntaxProblem, excerpt
from sieve.tokens import tokens


def values(text):
    return [token.value for token in tokens(text)][:-1]


def kinds(text):
    return [token.kind for token in tokens(text)]


def test_kinds():
    assert kinds("age >= 3 AND x") == ["name", "sign", "number", "word", "name", "end"]


def test_a_path_is_one_name():
    assert values("owner.name tags.0") == ["owner.name", "tags.0"]


@pytest.mark.parametrize(("text", "value"), [("12", 12), ("1.5", 1.5), ("1_000", 1000), ("3k", 3000), ("1.5M", 1_500_000)])
def test_numbers(text, value):
    assert values(text) == [value]


def test_a_date_is_no_subtraction():
    assert values("2024-05-01") == ["2024-05-01"]


@pytest.mark.parametrize(("text", "value"), [("'a b'", "a b"), ('"it\'s"', "it's"), (r"'a\tb\\'", "a\tb\\")])
def test_texts(text, value):
    assert values(text) == [value]


def test_a_quote_inside_quotes():
    assert values(r'"say \"hi\" now" x') == ['say "hi" now', "x"]


def test_a_single_quote_inside_single_quotes():
    assert values(r"'it\'s'") == ["it's"]


def test_comments():
    assert values("a # b 'c\n+ d") == ["a", "+", "d"]


def test_what_is_no_token():
    with pytest.raises(SyntaxProblem, match="no token at 2: a >>; b"):
        values("a ; b")


def test_excerpt():
    assert excerpt("0123456789abcdefghijklmnop", 12) == "23456789ab>>cdefghijkl"


def test_excerpt_at_the_beginning():
    assert excerpt("abcdefghijklmnop", 3) == "abc>>defghijklm"


def test_a_text_of_one_quote():
    assert values(r'"\"" + "x"') == ['"', "+", "x"]
