"""Errors of the package.

WaybillError
├── BadAddress        an address that no carrier would take
├── Refused           a carrier does not take this parcel
│   ├── TooHeavy
│   └── TooLarge
└── ServiceDown       a carrier does not answer
"""


class WaybillError(Exception):
    """Anything this package raises on purpose."""


class BadAddress(WaybillError, ValueError):
    """An address that no carrier would take; `field` says where."""

    def __init__(self, field, reason):
        super().__init__(f"{field}: {reason}")
        self.field = field


class Refused(WaybillError):
    """A carrier does not take this parcel."""


class TooHeavy(Refused):
    """Over the carrier's greatest weight."""


class TooLarge(Refused):
    """Over the carrier's greatest girth."""


class ServiceDown(WaybillError, ConnectionError):
    """A carrier does not answer."""
