"""Countries and the zones carriers put them in; read from a file at import."""

import pathlib
from typing import NamedTuple

FILE = pathlib.Path(__file__).with_name("countries.txt")
ZONES = ("home", "near", "far", "world")

#: regions of a served country that carriers count to another zone, by the start of the postcode
ISLANDS = {
    ("ES", "07"): "world",
    ("ES", "35"): "world",
    ("ES", "38"): "world",
    ("DE", "27498"): "near",
}


class Country(NamedTuple):
    """A country that is served."""

    name: str
    zone: str
    customs: bool


def read(lines):
    """Country code -> Country."""
    countries = {}
    for line in lines:
        line = line.strip()
        if not line or line.startswith("#"):
            continue
        code, name, zone, customs = line.split(";")
        countries[code] = Country(name, zone, customs == "yes")
    return countries


COUNTRIES = read(FILE.read_text("utf-8").splitlines())


def zone_of(address):
    """The zone of an address; islands may be farther away than their country."""
    for (country, start), zone in ISLANDS.items():
        if address.country == country and address.postcode.startswith(start):
            return zone
    return COUNTRIES[address.country].zone


def needs_customs(address, worth):
    """Whether a customs form is needed; gifts below 45 euros go without."""
    return COUNTRIES[address.country].customs and worth >= 4500
