"""One measured value, and the quantities that stations measure."""

import dataclasses
import math

from .errors import BadReading


@dataclasses.dataclass(frozen=True)
class Quantity:
    """What is measured: its unit, the range that can be true, and decimals to print."""

    unit: str
    low: float
    high: float
    decimals: int = 1
    circular: bool = False


QUANTITIES = {
    "temperature": Quantity("°C", -90.0, 60.0),
    "humidity": Quantity("%", 0.0, 100.0, decimals=0),
    "pressure": Quantity("hPa", 850.0, 1090.0),
    "wind": Quantity("m/s", 0.0, 115.0),
    "direction": Quantity("°", 0.0, 360.0, decimals=0, circular=True),
    "rain": Quantity("mm", 0.0, 400.0),
}

#: what stations call it -> our quantity
ALIASES = {
    "temp": "temperature",
    "t": "temperature",
    "rh": "humidity",
    "hum": "humidity",
    "p": "pressure",
    "baro": "pressure",
    "ws": "wind",
    "wd": "direction",
    "precip": "rain",
}


@dataclasses.dataclass(frozen=True, order=True)
class Reading:
    """A value of a station at a time, in seconds since midnight."""

    time: int
    station: str
    quantity: str
    value: float

    @property
    def is_plausible(self):
        """Whether the value lies in its quantity's range."""
        known = QUANTITIES[self.quantity]
        return not math.isnan(self.value) and known.low <= self.value <= known.high

    def with_value(self, value):
        """The same reading with another value."""
        return dataclasses.replace(self, value=value)

    def __str__(self):
        known = QUANTITIES[self.quantity]
        return f"{clock(self.time)} {self.station} {self.value:.{known.decimals}f} {known.unit}"


def quantity_name(text, where="quantity"):
    """Our name of a quantity; raises BadReading."""
    name = text.strip().lower()
    name = ALIASES.get(name, name)
    if name not in QUANTITIES:
        raise BadReading(where, f"unknown quantity {text.strip()!r}")
    return name


def seconds(text):
    """Seconds since midnight of "7:05" or "07:05:30"; raises ValueError."""
    parts = [int(part) for part in text.split(":")]
    if len(parts) not in (2, 3):
        raise ValueError(f"no time: {text!r}")
    hours, minutes, rest = (*parts, 0)[:3]
    if not (0 <= hours < 24 and 0 <= minutes < 60 and 0 <= rest < 60):
        raise ValueError(f"no time: {text!r}")
    return hours * 3600 + minutes * 60 + rest


def clock(time):
    """Seconds since midnight as "07:05"; the time of the next day starts again."""
    minutes = time // 60 % 1440
    return f"{minutes // 60:02}:{minutes % 60:02}"
