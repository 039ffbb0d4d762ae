from fractions import Fraction

import pytest

from larder.errors import BadRecipe
from larder.parsing import number, parse_line


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("2", 2),
        ("1/2", Fraction(1, 2)),
        ("1 1/2", Fraction(3, 2)),
        ("1½", Fraction(3, 2)),
        ("¾", Fraction(3, 4)),
        ("0,5", Fraction(1, 2)),
        ("2.25", Fraction(9, 4)),
    ],
)
def test_numbers(text, value):
    assert number(text) == value


def test_eighths():
    assert number("2⅛") == Fraction(17, 8)


def test_a_zero_denominator_is_a_bad_recipe():
    with pytest.raises(BadRecipe, match="not a number: '1/0'"):
        number("1/0")


def test_a_plain_line():
    assert parse_line("200 g flour") == (200, "g", "flour", "")


def test_no_unit_means_pieces():
    assert parse_line("3 eggs") == (3, "piece", "eggs", "")


def test_of_is_left_out():
    assert parse_line("2 cups of sugar") == (2, "cup", "sugar", "")


def test_of_stays_inside_a_name():
    assert parse_line("1 cream of tartar") == (1, "piece", "cream of tartar", "")


def test_a_note_after_a_comma():
    assert parse_line("1 onion, finely chopped") == (1, "piece", "onion", "finely chopped")


def test_a_note_in_brackets():
    assert parse_line("400 g tomatoes (tinned)") == (400, "g", "tomatoes", "tinned")


def test_the_higher_end_of_a_range():
    assert parse_line("2-3 cloves garlic") == (3, "clove", "garlic", "")


def test_a_range_with_a_dash_and_spaces():
    assert parse_line("1 – 1½ l stock") == (Fraction(3, 2), "l", "stock", "")


def test_bullets():
    assert parse_line("- 20 ml oil") == (20, "ml", "oil", "")
    assert parse_line("• parsley") == (None, "piece", "parsley", "")


def test_a_unit_that_is_the_whole_name():
    assert parse_line("4 cloves") == (4, "piece", "cloves", "")


def test_a_decimal_comma():
    assert parse_line("0,5 l milk") == (Fraction(1, 2), "l", "milk", "")


def test_a_number_glued_to_its_unit():
    assert parse_line("250ml milk") == (250, "ml", "milk", "")


def test_a_decimal_comma_in_a_range():
    assert parse_line("0,5-1,5 kg plums") == (Fraction(3, 2), "kg", "plums", "")
