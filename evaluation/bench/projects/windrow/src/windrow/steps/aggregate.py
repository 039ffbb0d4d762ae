"""Steps that make one reading out of many."""

import math

from ..core.reading import QUANTITIES
from ..core.registry import STEPS

HOUR = 3600


def mean(quantity, values):
    """The mean of values; of directions the direction of the mean vector."""
    if QUANTITIES[quantity].circular:
        east = sum(math.sin(math.radians(value)) for value in values)
        north = sum(math.cos(math.radians(value)) for value in values)
        return math.degrees(math.atan2(east, north)) % 360
    return math.fsum(values) / len(values)


#: quantity -> how readings of an hour become one; mean where nothing else is said
SUMMARIES = {"rain": lambda quantity, values: math.fsum(values)}


@STEPS.register
def hourly(keep_start: bool = False):
    """One reading an hour, station and quantity, at the hour's end or at its start.

    Hours come out in order of time; readings need not come in so.
    """

    def step(readings):
        groups = {}
        for reading in readings:
            key = reading.time // HOUR, reading.station, reading.quantity
            groups.setdefault(key, []).append(reading)
        for (hour, _, quantity), group in sorted(groups.items()):
            value = SUMMARIES.get(quantity, mean)(quantity, [reading.value for reading in group])
            time = (hour if keep_start else hour + 1) * HOUR
            yield type(group[0])(time, group[0].station, quantity, value)

    return step


@STEPS.register
def gaps(longest: int):
    """Only readings that come more than `longest` seconds after the one before of its kind."""

    def step(readings):
        seen = {}
        for reading in readings:
            key = reading.station, reading.quantity
            if key in seen and reading.time - seen[key] > longest:
                yield reading
            seen[key] = reading.time

    return step


@STEPS.register
def dewpoint():
    """Add the dew point where a station's temperature and humidity have the same time."""

    def step(readings):
        waiting = {}
        for reading in readings:
            yield reading
            if reading.quantity not in ("temperature", "humidity"):
                continue
            pair = waiting.setdefault((reading.time, reading.station), {})
            pair[reading.quantity] = reading.value
            if len(pair) == 2:
                del waiting[reading.time, reading.station]
                if pair["humidity"] > 0:
                    value = dew(pair["temperature"], pair["humidity"])
                    yield type(reading)(reading.time, reading.station + "/dew", "temperature", value)

    return step


def dew(temperature, humidity):
    """The dew point in °C, by the Magnus formula over water."""
    a, b = 17.62, 243.12
    gamma = math.log(humidity / 100) + a * temperature / (b + temperature)
    return b * gamma / (a - gamma)
