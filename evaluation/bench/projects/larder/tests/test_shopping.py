from fractions import Fraction

import pytest

from larder import load, shopping_list
from larder.shopping import item_name, readable


def recipe(*lines):
    return load("Dish\n\n" + "\n".join(lines))


@pytest.mark.parametrize(
    ("name", "item"),
    [("Eggs", "egg"), ("cherries", "cherry"), ("potatoes", "potato"), ("couscous", "couscous"), ("cress", "cress")],
)
def test_item_names(name, item):
    assert item_name(name) == item


def test_bread_by_the_loaf():
    assert item_name("Loaves") == "loaf"
    assert item_name("bay  leaves") == "bay leaf"


def test_a_latin_s_stays():
    assert item_name("asparagus") == "asparagus"


def test_adding_up_over_recipes():
    assert shopping_list([recipe("200 g flour"), recipe("1 kg flour", "1 egg")]) == {
        "egg": [(1, "piece")],
        "flour": [(1200, "g")],
    }


def test_volume_joins_weight_by_density():
    assert shopping_list([recipe("100 g sugar", "100 ml sugar")]) == {"sugar": [(185, "g")]}


def test_what_cannot_be_added_stays_apart():
    assert shopping_list([recipe("2 onions", "100 g onions", "1 onion")]) == {
        "onion": [(3, "piece"), (100, "g")]
    }


def test_some_gives_way_to_an_amount():
    assert shopping_list([recipe("parsley", "20 g parsley", "parsley")]) == {"parsley": [(20, "g")]}


def test_some_of_it():
    assert shopping_list([recipe("basil")]) == {"basil": [(None, "piece")]}


def test_staples_are_left_out():
    assert shopping_list([recipe("1 l water", "Salt and  pepper")]) == {}
    assert list(shopping_list([recipe("1 l water")], keep_staples=True)) == ["water"]


@pytest.mark.parametrize(
    ("amount", "unit", "text"),
    [
        (750, "g", "750 g"),
        (Fraction(3, 2), "kg", "1.5 kg"),
        (Fraction(1, 3), "cup", "80 ml"),
        (Fraction(5, 2), "piece", "3"),
        (2, "clove", "2 clove"),
        (None, "piece", "some"),
    ],
)
def test_readable(amount, unit, text):
    assert readable(amount, unit) == text


def test_a_full_litre_is_a_litre():
    assert readable(1000, "ml") == "1 l"


def test_loaves_are_added_to_a_loaf():
    assert shopping_list([recipe("1 loaf", "2 loaves")]) == {"loaf": [(3, "piece")]}


def test_a_full_kilogram_is_a_kilogram():
    assert readable(2 * 500, "g") == "1 kg"
