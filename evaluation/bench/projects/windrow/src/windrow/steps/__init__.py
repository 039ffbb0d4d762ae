"""Steps of a pipeline."""

from . import aggregate, filters
from .filters import only, plausible, shift

__all__ = ["aggregate", "filters", "only", "plausible", "shift"]
