"""How heavy ingredients are: a table in the package, read once."""

import csv
import functools
from fractions import Fraction
from importlib import resources


@functools.cache
def table():
    """Ingredient -> grams per millilitre."""
    text = resources.files("larder").joinpath("tables/densities.csv").read_text("utf-8")
    rows = csv.reader(line for line in text.splitlines() if line and not line.startswith("#"))
    return {name.strip(): Fraction(value.strip()) for name, value in rows}


def density(ingredient):
    """Grams per millilitre, or None where the table has no entry.

    The longest entry that ends the ingredient's name counts, so that "brown sugar" is looked up
    before "sugar".
    """
    words = ingredient.lower().split()
    for start in range(len(words)):
        found = table().get(" ".join(words[start:]))
        if found is not None:
            return found
    return None
