"""Parcels and the addresses they go to."""

import dataclasses
import re

from .errors import BadAddress
from .zones import COUNTRIES

#: country -> pattern of its postal codes
POSTCODES = {
    "DE": re.compile(r"\d{5}"),
    "AT": re.compile(r"\d{4}"),
    "CH": re.compile(r"\d{4}"),
    "NL": re.compile(r"\d{4} ?[A-Z]{2}"),
    "PL": re.compile(r"\d{2}-\d{3}"),
    "GB": re.compile(r"[A-Z]{1,2}\d[A-Z\d]? ?\d[A-Z]{2}"),
}


@dataclasses.dataclass(frozen=True)
class Address:
    """Where a parcel goes."""

    name: str
    street: str
    postcode: str
    city: str
    country: str = "DE"

    def __post_init__(self):
        object.__setattr__(self, "country", self.country.strip().upper())
        object.__setattr__(self, "postcode", self.postcode.strip().upper())
        for field in ("name", "street", "city"):
            if not getattr(self, field).strip():
                raise BadAddress(field, "is empty")
        if self.country not in COUNTRIES:
            raise BadAddress("country", f"{self.country} is not served")
        pattern = POSTCODES.get(self.country)
        if pattern and not pattern.fullmatch(self.postcode):
            raise BadAddress("postcode", f"{self.postcode} is none of {self.country}")

    @property
    def lines(self):
        """The lines of the label; the country stands last and only on foreign ones."""
        place = f"{self.postcode} {self.city}"
        if self.country == "GB":
            place = f"{self.city}\n{self.postcode}"
        lines = [self.name, self.street, *place.split("\n")]
        if self.country != "DE":
            lines.append(COUNTRIES[self.country].name.upper())
        return lines


@dataclasses.dataclass(frozen=True)
class Parcel:
    """Something to send: sides in centimetres, weight in grams, worth in cents."""

    sides: tuple
    weight: int
    worth: int = 0
    fragile: bool = False

    def __post_init__(self):
        if len(self.sides) != 3 or min(self.sides) <= 0:
            raise ValueError("a parcel has three sides")
        if self.weight <= 0:
            raise ValueError("a parcel weighs something")
        object.__setattr__(self, "sides", tuple(sorted(self.sides, reverse=True)))

    @property
    def girth(self):
        """The longest side plus once around the other two."""
        longest, *others = self.sides
        return longest + 2 * sum(others)

    @property
    def volume(self):
        """In cubic centimetres."""
        length, width, height = self.sides
        return length * width * height

    def billed_weight(self, divisor=5000):
        """The greater of the real weight and that of the volume, in grams."""
        return max(self.weight, self.volume * 1000 // divisor)
