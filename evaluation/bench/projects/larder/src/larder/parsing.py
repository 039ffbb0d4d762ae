"""Read one line of an ingredient list."""

import re
from fractions import Fraction

from larder.errors import BadRecipe, UnknownUnit
from larder.units import canonical

VULGAR = {
    "½": Fraction(1, 2),
    "⅓": Fraction(1, 3),
    "⅔": Fraction(2, 3),
    "¼": Fraction(1, 4),
    "¾": Fraction(3, 4),
    "⅛": Fraction(1, 8),
}

NUMBER = r"(?:\d+\s+\d+/\d+|\d+/\d+|\d+[.,]\d+|\d+\s*[%s]|\d+|[%s])" % (
    "".join(VULGAR),
    "".join(VULGAR),
)
LINE = re.compile(rf"^\s*[-*•]?\s*(?P<low>{NUMBER})(?:\s*[-–]\s*(?P<high>{NUMBER}))?\s*(?P<rest>.*)$")
NOTE = re.compile(r"\s*(?:\((?P<inner>[^)]*)\)|,\s*(?P<after>.*))$")


def number(text):
    """The value of a written number: 2, 1/2, 1 1/2, 1½, 0,5."""
    text = text.strip().replace(",", ".")
    for sign, value in VULGAR.items():
        if text.endswith(sign):
            whole = text[: -len(sign)].strip()
            return value + int(whole) if whole else value
    try:
        return sum((Fraction(part) for part in text.split()), Fraction(0))
    except (ValueError, ZeroDivisionError):
        raise BadRecipe(f"not a number: {text!r}") from None


def parse_line(line):
    """One ingredient line as (amount, unit, name, note).

    Of a range like "2-3 cloves" the higher end counts, because a list that is too long harms
    less than one that is too short. A line without a number gives None for the amount.
    """
    found = LINE.match(line)
    if found is None:
        name, note = split_note(line.strip().lstrip("-*• "))
        return None, "piece", name, note
    amount = number(found["high"] or found["low"])
    first, _, rest = found["rest"].partition(" ")
    try:
        unit = canonical(first)
        name = rest
    except UnknownUnit:
        unit, name = "piece", found["rest"]
    name = name.removeprefix("of ")
    name, note = split_note(name)
    if not name:
        name = first
        unit = "piece"
    return amount, unit, name, note


def split_note(name):
    """Split "onion, chopped" or "onion (chopped)" into the name and the note."""
    found = NOTE.search(name)
    if found is None:
        return name.strip(), ""
    return name[: found.start()].strip(), (found["inner"] or found["after"] or "").strip()
