"""Add the ingredients of several recipes up."""

import math
from fractions import Fraction

from larder.densities import density
from larder.errors import CannotConvert
from larder.units import COUNT, UNITS, convert, kind_of

#: what is never bought by the recipe
STAPLES = {"water", "salt", "pepper", "salt and pepper"}

#: name endings that mark a plural, and what stands in the singular
PLURALS = (("oes", "o"), ("ies", "y"), ("ves", "f"), ("s", ""))
KEEP_S = {"asparagus", "couscous", "hummus", "molasses"}


def item_name(name):
    """The name under which an ingredient is added up: lower case and singular."""
    name = " ".join(name.lower().split())
    if name in KEEP_S or name.endswith("ss"):
        return name
    for ending, singular in PLURALS:
        if name.endswith(ending):
            return name[: -len(ending)] + singular
    return name


def add(total, ingredient):
    """Add an ingredient to an (amount, unit), in the unit that is already there."""
    amount, unit = total
    more = convert(ingredient.amount, ingredient.unit, unit, density(item_name(ingredient.name)))
    return amount + more, unit


def shopping_list(recipes, keep_staples=False):
    """Item -> list of (amount, unit), in order of name; (None, "piece") means "some".

    Amounts that cannot be added up stay apart.
    """
    totals = {}
    for recipe in recipes:
        for ingredient in recipe.ingredients:
            name = item_name(ingredient.name)
            if name in STAPLES and not keep_staples:
                continue
            entries = totals.setdefault(name, [])
            if ingredient.amount is None:
                if not entries:
                    entries.append((None, "piece"))
                continue
            if entries and entries[0][0] is None:
                entries.clear()
            for position, entry in enumerate(entries):
                try:
                    entries[position] = add(entry, ingredient)
                    break
                except CannotConvert:
                    continue
            else:
                entries.append((ingredient.amount, ingredient.unit))
    return dict(sorted(totals.items()))


def readable(amount, unit):
    """An amount as people write it: "750 g", "1.5 kg", "2"."""
    if amount is None:
        return "some"
    kind = kind_of(unit)
    if kind == COUNT:
        count = math.ceil(amount)
        return f"{count}" if unit == "piece" else f"{count} {unit}"
    small, big = ("g", "kg") if kind == "weight" else ("ml", "l")
    base = amount * UNITS[unit][1]
    if base >= 1000:
        return f"{plain(base / 1000)} {big}"
    return f"{plain(base)} {small}"


def plain(value):
    """A number with at most two decimals and no trailing zeros."""
    return f"{float(round(Fraction(value), 2)):g}"
