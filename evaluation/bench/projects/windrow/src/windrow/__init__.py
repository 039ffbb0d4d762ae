"""Pipelines for the readings of weather stations."""

from .core.pipeline import Pipeline
from .core.reading import Reading
from . import sinks, sources, steps  # registers what they hold

__all__ = ["Pipeline", "Reading", "sinks", "sources", "steps"]
