"""Price parcels, choose a carrier and write the label."""

from .carriers import CARRIERS, carrier, quotes
from .errors import WaybillError
from .parcel import Address, Parcel

__all__ = ["CARRIERS", "Address", "Parcel", "WaybillError", "carrier", "quotes"]
