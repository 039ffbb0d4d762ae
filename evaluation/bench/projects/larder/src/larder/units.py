"""Units of weight and volume, and how to get from one to another.

Weights are held in grams and volumes in millilitres. Going from a volume to a weight needs the
ingredient's density, which `larder.densities` reads from a table.
"""

from fractions import Fraction

from larder.errors import CannotConvert, UnknownUnit

WEIGHT, VOLUME, COUNT = "weight", "volume", "count"

#: unit -> (kind, size in the base unit of its kind)
UNITS = {
    "mg": (WEIGHT, Fraction(1, 1000)),
    "g": (WEIGHT, Fraction(1)),
    "dag": (WEIGHT, Fraction(10)),
    "kg": (WEIGHT, Fraction(1000)),
    "oz": (WEIGHT, Fraction("28.35")),
    "lb": (WEIGHT, Fraction("453.6")),
    "ml": (VOLUME, Fraction(1)),
    "cl": (VOLUME, Fraction(10)),
    "dl": (VOLUME, Fraction(100)),
    "l": (VOLUME, Fraction(1000)),
    "tsp": (VOLUME, Fraction(5)),
    "tbsp": (VOLUME, Fraction(15)),
    "cup": (VOLUME, Fraction(240)),
    "piece": (COUNT, Fraction(1)),
    "clove": (COUNT, Fraction(1)),
    "pinch": (COUNT, Fraction(1)),
}

#: what people write -> the unit's name above
SPELLINGS = {
    "gram": "g",
    "gramme": "g",
    "kilo": "kg",
    "kilogram": "kg",
    "ounce": "oz",
    "pound": "lb",
    "millilitre": "ml",
    "milliliter": "ml",
    "litre": "l",
    "liter": "l",
    "teaspoon": "tsp",
    "tablespoon": "tbsp",
    "tbs": "tbsp",
    "pc": "piece",
}


def canonical(text):
    """The name of the unit that `text` spells; raises UnknownUnit."""
    word = text.strip().rstrip(".")
    if word == "T":
        return "tbsp"
    word = word.lower()
    for candidate in (word, word.removesuffix("es"), word.removesuffix("s")):
        if candidate in UNITS:
            return candidate
        if candidate in SPELLINGS:
            return SPELLINGS[candidate]
    raise UnknownUnit(text)


def kind_of(unit):
    """Whether a unit measures weight, volume or count."""
    return UNITS[canonical(unit)][0]


def to_base(amount, unit):
    """An amount in the base unit of its kind."""
    return amount * UNITS[canonical(unit)][1]


def convert(amount, source, target, density=None):
    """Convert an amount from one unit to another.

    `density` is in grams per millilitre and is needed only between weight and volume. Raises
    CannotConvert where it is missing, and for counted things.
    """
    source, target = canonical(source), canonical(target)
    if source == target:
        return amount
    source_kind, source_size = UNITS[source]
    target_kind, target_size = UNITS[target]
    if source_kind == target_kind and source_kind != COUNT:
        return amount * source_size / target_size
    if density is None or COUNT in (source_kind, target_kind):
        raise CannotConvert(f"cannot turn {source} into {target}")
    if source_kind == VOLUME:
        return amount * source_size * density / target_size
    return amount * source_size / density / target_size
