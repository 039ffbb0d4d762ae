from fractions import Fraction

import pytest

from larder import densities, units
from larder.errors import CannotConvert, UnknownUnit


@pytest.mark.parametrize(
    ("text", "unit"),
    [("g", "g"), ("Grams", "g"), ("kilos", "kg"), ("pinches", "pinch"), ("Tbsp.", "tbsp"), ("cups", "cup")],
)
def test_spellings(text, unit):
    assert units.canonical(text) == unit


def test_a_capital_t_is_a_tablespoon():
    assert units.canonical("T") == "tbsp"


def test_fluid_measures_of_the_kitchen_drawer():
    assert units.convert(3, "dl", "ml") == 300
    assert units.convert(25, "cl", "dl") == Fraction(5, 2)


def test_every_spelling_leads_to_a_unit():
    assert set(units.SPELLINGS.values()) <= set(units.UNITS)


def test_an_unknown_unit():
    with pytest.raises(UnknownUnit, match="unknown unit 'furlong'"):
        units.canonical("furlong")


def test_same_kind():
    assert units.convert(2, "kg", "g") == 2000
    assert units.convert(3, "tsp", "tbsp") == 1


def test_volume_to_weight_needs_the_density():
    assert units.convert(100, "ml", "g", density=Fraction("0.5")) == 50
    with pytest.raises(CannotConvert):
        units.convert(100, "ml", "g")


def test_weight_to_volume_divides_by_the_density():
    assert units.convert(50, "g", "ml", density=Fraction("0.5")) == 100


def test_counted_things_stay_what_they_are():
    with pytest.raises(CannotConvert):
        units.convert(2, "piece", "clove")
    assert units.convert(2, "clove", "cloves") == 2


def test_density_of_the_longest_name():
    assert densities.density("dark Brown Sugar") == Fraction("0.93")
    assert densities.density("icing sugar") == Fraction("0.85")
    assert densities.density("gravel") is None


def test_the_density_table_is_read_once():
    assert densities.table() is densities.table()


def test_an_old_word_for_a_tablespoon():
    assert units.convert(2, "tbs", "tsp") == 6


def test_a_bottle_in_centilitres():
    assert units.to_base(75, "cl") == 750


def test_a_capital_t_with_a_point():
    assert units.to_base(2, " T.") == 30


def test_density_of_a_real_thing():
    assert units.convert(142, "g", "ml", densities.density("honey")) == 100
