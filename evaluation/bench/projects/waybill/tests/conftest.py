import pytest

from waybill import Address, Parcel


@pytest.fixture(scope="module")
def berlin():
    return Address("Ada Winter", "Torstr. 1", "10119", "Berlin")


@pytest.fixture(scope="module")
def parcel():
    return Parcel((30, 20, 10), weight=1_800)


@pytest.fixture
def abroad():
    def make(country, postcode, city="Anywhere"):
        return Address("Bo Frost", "Main 2", postcode, city, country)

    return make
