"""Lines as stations send them: "07:05 HILL temp=12.5 rh=80"."""

from ..core.errors import BadReading
from ..core.reading import Reading, quantity_name, seconds

MISSING = {"", "-", "na", "nan", "///"}
UNITS = {"K": (1.0, -273.15), "F": (5 / 9, -160 / 9), "kt": (0.514444, 0.0), "km/h": (1 / 3.6, 0.0)}


def read_lines(lines):
    """Yield readings; raises BadReading with the number of the line."""
    for number, line in enumerate(lines, start=1):
        line = line.partition("#")[0].strip()
        if not line:
            continue
        time, station, *pairs = line.split()
        where = f"line {number}"
        try:
            moment = seconds(time)
        except ValueError as error:
            raise BadReading(where, str(error)) from None
        for pair in pairs:
            name, sign, text = pair.partition("=")
            if not sign:
                raise BadReading(where, f"expected name=value, got {pair!r}")
            if text.lower() in MISSING:
                continue
            yield Reading(moment, station, quantity_name(name, where), measured(text, where))


def measured(text, where):
    """The value of a written measurement in our unit: "12.5", "54F", "10kt"."""
    factor, offset = 1.0, 0.0
    for unit, conversion in UNITS.items():
        if text.endswith(unit):
            text = text.removesuffix(unit)
            factor, offset = conversion
            break
    try:
        return float(text.replace(",", ".")) * factor + offset
    except ValueError:
        raise BadReading(where, f"no number: {text!r}") from None
