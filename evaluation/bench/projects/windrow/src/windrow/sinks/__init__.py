"""Where readings go."""

from .text import listing, report

__all__ = ["listing", "report"]
