import pytest

from waybill import CARRIERS, Parcel, carrier, quotes
from waybill.carriers import insurance, quote
from waybill.errors import Refused, ServiceDown, TooHeavy, TooLarge
from waybill.zones import needs_customs, read, zone_of

pytestmark = pytest.mark.rates


@pytest.fixture
def flaky(monkeypatch):
    monkeypatch.setattr("waybill.carriers.CARRIERS", CARRIERS)
    monkeypatch.setitem(CARRIERS, "flaky", None)

    @carrier("flaky", heaviest=1_000_000)
    def flaky(parcel, zone):
        raise ServiceDown("no answer")


def test_quotes_are_sorted_by_price(parcel, berlin):
    assert [(q.carrier, q.price) for q in quotes(parcel, berlin)] == [("bike", 490), ("post", 549), ("express", 1050)]


def test_a_carrier_that_is_down_is_left_out(parcel, berlin, flaky):
    assert "flaky" in CARRIERS
    assert len(quotes(parcel, berlin)) == 3


def test_nobody_takes_it(berlin):
    assert quotes(Parcel((30, 20, 10), 90_000), berlin) == []


@pytest.mark.parametrize(("weight", "price"), [(1, 549), (2_000, 549), (2_001, 769), (10_000, 1049), (31_500, 1999)])
def test_post_steps(berlin, weight, price):
    assert quote("post", Parcel((30, 20, 10), weight), berlin).price == price


def test_bulky_post(berlin):
    assert quote("post", Parcel((121, 20, 10), 500), berlin).price == 3049


def test_express_counts_started_kilograms(berlin):
    assert quote("express", Parcel((10, 10, 10), 2_000), berlin).price == 1050
    assert quote("express", Parcel((10, 10, 10), 2_001), berlin).price == 1110


def test_express_of_a_feather(berlin):
    assert quote("express", Parcel((5, 5, 5), 20), berlin).price == 990


def test_the_bike_stays_at_home(parcel, abroad):
    with pytest.raises(Refused, match="at home only"):
        quote("bike", parcel, abroad("AT", "1010"))


def test_too_heavy(berlin):
    with pytest.raises(TooHeavy, match="post takes 31.5 kg"):
        quote("post", Parcel((30, 20, 10), 31_501), berlin)


def test_too_large(berlin):
    with pytest.raises(TooLarge, match="bike takes 200 cm"):
        quote("bike", Parcel((90, 40, 20), 100), berlin)


def test_fragile_parcels_cost_more_but_not_by_bike(berlin):
    fragile = Parcel((30, 20, 10), 500, fragile=True)
    assert quote("post", fragile, berlin).price == 849
    assert quote("bike", fragile, berlin).price == 450


def test_insurance_is_of_what_is_not_covered():
    assert insurance(CARRIERS["post"], 150_000) == 1000


def test_insurance_has_a_least_price():
    assert insurance(CARRIERS["bike"], 1_000) == 200


def test_covered_worth_costs_nothing():
    assert insurance(CARRIERS["post"], 50_000) == 0
    assert insurance(CARRIERS["bike"], 0) == 0


def test_days(parcel, berlin, abroad):
    assert quote("post", parcel, berlin).days == 2
    assert quote("express", parcel, abroad("JP", "100")).days == 6
    assert quote("express", parcel, berlin).days == 1


def test_islands_are_farther(abroad, berlin):
    assert zone_of(abroad("ES", "35001")) == "world"
    assert zone_of(abroad("ES", "28001")) == "far"
    assert zone_of(berlin) == "home"


def test_palma_is_an_island_town(abroad):
    assert zone_of(abroad("ES", "07001")) == "world"


def test_parcels_to_palma_take_long(parcel, abroad):
    assert quote("post", parcel, abroad("ES", "07001")).days == 12


@pytest.mark.parametrize(("country", "worth", "needed"), [("CH", 4500, True), ("CH", 4499, False), ("AT", 9000, False)])
def test_customs(abroad, country, worth, needed):
    assert needs_customs(abroad(country, "1010"), worth) is needed


def test_the_file_of_countries_may_have_blank_lines():
    assert list(read(["# x", "", "  ", "AA;A;far;no\n"])) == ["AA"]


def test_the_exact_limits_of_the_post(berlin):
    prices = [quote("post", Parcel((9, 9, 9), weight), berlin).price for weight in (1_999, 5_000, 5_001)]
    assert prices == [549, 769, 1049]


def test_only_a_carrier_that_is_down(flaky, abroad):
    assert [one.carrier for one in quotes(Parcel((9, 9, 9), 40_000), abroad("NO", "0150"))] == ["express"]


def test_express_weighs_the_volume(berlin):
    assert quote("express", Parcel((50, 40, 30), 2_000), berlin).price == 990 + 11 * 60


def test_a_light_and_large_parcel_by_express(abroad):
    assert quote("express", Parcel((60, 50, 40), 100), abroad("NO", "0150")).price == 2490 + 23 * 240


def test_bulky_post_abroad(abroad):
    assert quote("post", Parcel((200, 10, 10), 500), abroad("NO", "0150")).price == 4199
    assert quote("post", Parcel((120, 10, 10), 500), abroad("NO", "0150")).price == 1699
