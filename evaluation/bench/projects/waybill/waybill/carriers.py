"""Carriers: each registers a function that prices a parcel for a zone.

Prices are in cents. A carrier that does not take the parcel raises Refused.
"""

import bisect
from typing import NamedTuple

from .errors import Refused, ServiceDown, TooHeavy, TooLarge
from .zones import zone_of

CARRIERS = {}

#: what a parcel may weigh at most (grams) -> price by zone
POST_RATES = [
    (2_000, {"home": 549, "near": 1399, "far": 1699, "world": 2949}),
    (5_000, {"home": 769, "near": 1649, "far": 1999, "world": 4399}),
    (10_000, {"home": 1049, "near": 2149, "far": 2599, "world": 6399}),
    (31_500, {"home": 1999, "near": 4299, "far": 4999, "world": 10999}),
]

#: zone -> (price of the first kilogram, price of each further one)
EXPRESS_RATES = {"home": (990, 60), "near": (1890, 150), "far": (2490, 240), "world": (4900, 780)}


class Carrier(NamedTuple):
    """A registered carrier."""

    name: str
    price: object
    heaviest: int
    girth: int
    insured: int


class Quote(NamedTuple):
    """What a carrier asks for a parcel."""

    price: int
    carrier: str
    days: int


DAYS = {"home": 2, "near": 4, "far": 6, "world": 12}


def carrier(name, *, heaviest, girth=300, insured=0):
    """Register a pricing function (parcel, zone) -> cents."""

    def register(function):
        CARRIERS[name] = Carrier(name, function, heaviest, girth, insured)
        return function

    return register


@carrier("post", heaviest=31_500, girth=360, insured=50_000)
def post(parcel, zone):
    """By steps of weight; bulky ones cost more."""
    limits = [limit for limit, _ in POST_RATES]
    price = POST_RATES[bisect.bisect_left(limits, parcel.weight)][1][zone]
    return price + (2500 if parcel.sides[0] > 120 else 0)


@carrier("express", heaviest=70_000, insured=100_000)
def express(parcel, zone):
    """By started kilograms of the billed weight."""
    first, further = EXPRESS_RATES[zone]
    kilograms = -(-parcel.billed_weight() // 1000)
    return first + further * (kilograms - 1)


@carrier("bike", heaviest=8_000, girth=200)
def bike(parcel, zone):
    """At home only; fragile things cost nothing more."""
    if zone != "home":
        raise Refused("bike rides at home only")
    return 450 + parcel.weight // 1000 * 40


def insurance(carrier, worth):
    """The price of insuring what is worth more than the carrier covers: 1 %, at least 200."""
    if worth <= carrier.insured:
        return 0
    return max(200, (worth - carrier.insured) // 100)


def quote(name, parcel, address):
    """A carrier's price for a parcel; raises Refused."""
    chosen = CARRIERS[name]
    if parcel.weight > chosen.heaviest:
        raise TooHeavy(f"{name} takes {chosen.heaviest / 1000:g} kg")
    if parcel.girth > chosen.girth:
        raise TooLarge(f"{name} takes {chosen.girth} cm")
    zone = zone_of(address)
    price = chosen.price(parcel, zone) + insurance(chosen, parcel.worth)
    if parcel.fragile and name != "bike":
        price += 300
    days = DAYS[zone] if name != "express" else max(1, DAYS[zone] // 2)
    return Quote(price, name, days)


def quotes(parcel, address):
    """All quotes, the cheapest first; carriers that refuse or do not answer are left out."""
    found = []
    for name in CARRIERS:
        try:
            found.append(quote(name, parcel, address))
        except (Refused, ServiceDown):
            continue
    return sorted(found)
