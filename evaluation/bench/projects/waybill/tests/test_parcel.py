import pytest

from waybill import Address, Parcel
from waybill.errors import BadAddress


def test_girth_of_the_longest_side():
    assert Parcel((10, 40, 20), 100).girth == 100


def test_billed_weight():
    assert Parcel((50, 40, 30), 2_000).billed_weight() == 12_000
    assert Parcel((10, 10, 10), 2_000).billed_weight() == 2_000


@pytest.mark.parametrize(("sides", "weight"), [((1, 2), 1), ((1, 2, 0), 1), ((1, 1, 1), 0)])
def test_impossible_parcels(sides, weight):
    with pytest.raises(ValueError, match="a parcel"):
        Parcel(sides, weight)


def test_home_labels_have_no_country(berlin):
    assert berlin.lines == ["Ada Winter", "Torstr. 1", "10119 Berlin"]


def test_foreign_labels(abroad):
    assert abroad("at", "1010", "Wien").lines[-2:] == ["1010 Wien", "AUSTRIA"]


def test_british_labels_put_the_postcode_below(abroad):
    assert abroad("GB", "sw1a 1aa", "London").lines == ["Bo Frost", "Main 2", "London", "SW1A 1AA", "UNITED KINGDOM"]


def test_no_place_has_two_lines_elsewhere(abroad):
    assert len(abroad("NO", "0150").lines) == 4


@pytest.mark.parametrize("field", ["name", "street", "city"])
def test_empty_fields(field):
    fields = {"name": "a", "street": "b", "postcode": "10119", "city": "c", field: " "}
    with pytest.raises(BadAddress, match=f"{field}: is empty") as caught:
        Address(**fields)
    assert caught.value.field == field


@pytest.mark.parametrize(
    ("country", "postcode"), [("NL", "1012 ab"), ("NL", "1012AB"), ("PL", "00-950"), ("GB", "M1 1AE"), ("US", "x")]
)
def test_good_postcodes(abroad, country, postcode):
    assert abroad(country, postcode).country == country


@pytest.mark.parametrize(("country", "postcode"), [("DE", "1011"), ("AT", "10110"), ("PL", "00950")])
def test_bad_postcodes(abroad, country, postcode):
    with pytest.raises(BadAddress, match="postcode"):
        abroad(country, postcode)


def test_london_districts_with_a_letter(abroad):
    assert abroad("GB", "EC1A 1BB").postcode == "EC1A 1BB"


def test_a_postcode_is_all_of_it(abroad):
    with pytest.raises(BadAddress, match="100000 is none of CH"):
        abroad("CH", "100000")


def test_a_country_that_is_not_served(abroad):
    with pytest.raises(BadAddress, match="country: XX is not served"):
        abroad("xx", "1")


def test_a_label_for_york(abroad):
    assert abroad("gb", "YO1 7HH", "York").lines[-3:] == ["York", "YO1 7HH", "UNITED KINGDOM"]


def test_sides_in_order():
    assert Parcel((10, 40, 20), 100).sides == (40, 20, 10)
