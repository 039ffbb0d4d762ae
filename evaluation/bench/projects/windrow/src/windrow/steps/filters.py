"""Steps that look at one reading at a time, or at its neighbours."""

import collections

from ..core.reading import quantity_name
from ..core.registry import STEPS


@STEPS.register
def plausible():
    """Drop what cannot be true."""
    return lambda readings: (reading for reading in readings if reading.is_plausible)


@STEPS.register
def only(quantity: str = "", station: str = ""):
    """Keep one quantity, one station, or both; stations by their start."""
    wanted = quantity_name(quantity) if quantity else ""

    def step(readings):
        for reading in readings:
            if wanted and reading.quantity != wanted:
                continue
            if station and not reading.station.startswith(station):
                continue
            yield reading

    return step


@STEPS.register
def shift(quantity: str, by: float):
    """Correct an instrument that shows too much or too little."""
    wanted = quantity_name(quantity)

    def step(readings):
        for reading in readings:
            if reading.quantity == wanted:
                reading = reading.with_value(reading.value + by)
            yield reading

    return step


@STEPS.register
def smooth(width: int = 3):
    """Replace a value by the median of the last `width` of the same station and quantity."""
    if width < 1:
        raise ValueError("width must be at least one")

    def step(readings):
        windows = collections.defaultdict(lambda: collections.deque(maxlen=width))
        for reading in readings:
            window = windows[reading.station, reading.quantity]
            window.append(reading.value)
            yield reading.with_value(sorted(window)[len(window) // 2])

    return step


@STEPS.register
def unstick(times: int = 3):
    """Drop values that repeat: from the `times`-th same value of an instrument on."""

    def step(readings):
        last = {}
        for reading in readings:
            key = reading.station, reading.quantity
            value, count = last.get(key, (None, 0))
            count = count + 1 if value == reading.value else 1
            last[key] = reading.value, count
            if count < times:
                yield reading

    return step
