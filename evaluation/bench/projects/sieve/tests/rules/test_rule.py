import types

import pytest

from sieve import Rule, UnknownName, compile_rule, pick
from sieve.errors import RuleError, Unfit
from sieve.functions import FUNCTIONS, function


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("1 + 2 * 3", 7),
        ("2 ** 3 ** 0", 2),
        ("-2 ** 2", -4),
        ("- age + 1", -30),
        ("10 - 2 - 3", 5),
        ("age % 10", 1),
        ("7 / 2", 3.5),
    ],
)
def test_arithmetic(value, text, result):
    assert value(text) == result


def test_a_power_of_a_negative_power(value):
    assert value("2 ** 2 ** 3") == 256


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("state == 'Open' and (age > 40 or owner.name in ['mia'])", True),
        ("not state == 'Open' or age > 30", True),
        ("'ink' in tags and 'OPE' in state", True),
        ("'x' not in tags", True),
        ("'x' in owner.mail", False),
        ("'x' not in owner.mail", True),
        ("owner.mail == null", True),
        ("since >= 2024-05-01", True),
        ("age between 30 and 31 and true", True),
    ],
)
def test_rules(record, text, result):
    assert Rule(text)(record) is result


def test_order_with_nothing_is_false(record):
    assert not Rule("missing > 3")(record)
    assert not Rule("missing <= 3")(record)


def test_between_of_nothing(record):
    assert Rule("missing between 1 and 3")(record) is False


def test_between_reaches_both_ends(value):
    assert value("age between 31 and 40") is True
    assert value("age between 32 and 40") is False


def test_matching_a_pattern(record):
    assert Rule("text matches '^a .*word'")(record)
    assert not Rule("state matches '^open'")(record)


def test_a_pattern_with_a_flag(record):
    assert Rule("state matches '/^open/i'")(record)


def test_a_pattern_on_nothing(record):
    assert not Rule("owner.mail matches 'none'")(record)


@pytest.mark.parametrize(
    ("path", "result"),
    [("owner.name", "mia"), ("tags.1", "ink"), ("tags.7", None), ("tags.last", None), ("owner.mail.host", None)],
)
def test_paths(value, path, result):
    assert value(path) == result


def test_paths_into_objects():
    assert Rule("owner.age == 5")(types.SimpleNamespace(owner=types.SimpleNamespace(age=5)))


def test_lists_of_records():
    assert Rule("items.0.price < 3")({"items": [{"price": 2}]})


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("len(tags) + length(owner.mail)", 2),
        ("lower(state)", "open"),
        ("first(words('a, b', ','))", "a"),
        ("first(missing, 3)", 3),
        ("days(since, 2024-05-11)", 10),
        ("round(2.5)", 3),
        ("round(-2.345, 1)", -2.3),
    ],
)
def test_functions(value, text, result):
    assert value(text) == result


def test_words_without_their_blanks(value):
    assert value("words('a , b', ',')") == ["a", "b"]


def test_round_half_away_from_zero(value):
    assert value("round(-2.5)") == -3


def test_an_unknown_function(value):
    with pytest.raises(UnknownName, match="no function lenght, but len, length"):
        value("lenght(tags)")


def test_the_number_of_arguments(value):
    with pytest.raises(Unfit, match="days takes 1 to 2 values, got 3"):
        value("days(1, 2, 3)")


def test_some_of_many(value):
    assert value("any(missing, false, age)") is True
    assert value("some(missing, false)") is False


def test_misfits(value):
    with pytest.raises(Unfit, match="'Open' - 1"):
        value("state - 1")


def test_a_division_by_zero(value):
    with pytest.raises(RuleError):
        value("age / 0")


def test_a_function_of_ones_own(monkeypatch, value):
    monkeypatch.setattr("sieve.functions.FUNCTIONS", FUNCTIONS)
    monkeypatch.setitem(FUNCTIONS, "double", None)
    function("double")(lambda number: 2 * number)
    assert value("double(age)") == 62


def test_fields():
    assert Rule("a.b > 1 and lower(c) in [d, 'e'] or not a.b").fields == ["a.b", "c", "d"]


def test_joining_rules(record):
    joined = Rule("age > 30 or age > 40") & Rule("state == 'Shut'")
    assert not joined(record)
    assert (joined | Rule("true"))(record)


def test_joined_rules_keep_their_brackets():
    assert (Rule("c") & Rule("a or b")).tree[0] == "and"


def test_rules_are_made_once():
    assert compile_rule("a") is compile_rule("a")


def test_pick():
    records = [{"n": number} for number in range(5)]
    assert [one["n"] for one in pick(records, "n > 1")] == [2, 3, 4]
    assert [one["n"] for one in pick(records, "n > 1", limit=2)] == [2, 3]


def test_pick_stops_reading():
    source = iter([{"n": 1}, {"n": 2}])
    assert list(pick(source, "true", limit=0)) == []
    assert list(source) == [{"n": 2}]


def test_either_of_two_rules(record):
    joined = (Rule("age > 30") | Rule("age > 40")) & (Rule("false") | Rule("false"))
    assert not joined(record)


def test_a_pattern_with_a_flag_on_a_list_field():
    assert Rule("tags.0 matches '/INK/i' and not (tags.0 matches '/INK/')")({"tags": ["ink"]})


def test_order_with_nothing_on_the_right(record):
    assert not Rule("3 > owner.mail")(record)


def test_the_rest_of_a_division_by_zero(value):
    with pytest.raises(Unfit, match="31 % 0"):
        value("age % 0")
