"""Readings as text."""

from ..core.reading import QUANTITIES, clock
from ..core.registry import SINKS

COMPASS = ("N", "NE", "E", "SE", "S", "SW", "W", "NW")


@SINKS.register
def listing(limit: int = 0):
    """A line a reading; with a limit, then how many more there are."""

    def sink(readings):
        lines = [str(reading) for reading in readings]
        if limit and len(lines) > limit:
            lines[limit:] = [f"... {len(lines) - limit} more"]
        return "\n".join(lines)

    return sink


def compass(degrees):
    """The name of a direction, one of eight."""
    return COMPASS[round(degrees / 45) % 8]


@SINKS.register
def report(quantity: str = "temperature"):
    """A line a station: lowest, highest and latest value."""
    known = QUANTITIES[quantity]

    def shown(value):
        return compass(value) if known.circular else f"{value:.{known.decimals}f}"

    def sink(readings):
        stations = {}
        for reading in readings:
            if reading.quantity == quantity:
                stations.setdefault(reading.station, []).append(reading)
        lines = []
        for station, found in sorted(stations.items()):
            latest = max(found, key=lambda reading: reading.time)
            values = [reading.value for reading in found]
            line = f"{station}: {shown(latest.value)} at {clock(latest.time)}"
            if not known.circular:
                line += f" ({shown(min(values))} to {shown(max(values))})"
            lines.append(line)
        return "\n".join(lines) or f"no {quantity}"

    return sink
