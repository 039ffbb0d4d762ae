"""A price table as it stands in a YAML file."""

from __future__ import annotations

from datetime import date
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from llm.prices import Price, Prices, Rates

Dollars = Annotated[float, Field(ge=0, lt=1_000_000, allow_inf_nan=False)]
"""Per million tokens."""


class _Rates(BaseModel):
    model_config = ConfigDict(extra="forbid")

    input: Dollars
    output: Dollars
    cache_read: Dollars
    cache_write: Dollars

    @property
    def rates(self) -> Rates:
        return Rates(self.input, self.output, self.cache_read, self.cache_write)


class _Above(_Rates):
    tokens: int


class _Row(_Rates):
    since: Annotated[date, Field(alias="from")]
    above: _Above | None = None

    @property
    def price(self) -> Price:
        if self.above is None:
            return Price(self.since, self.rates)
        return Price(self.since, self.rates, self.above.tokens, self.above.rates)


class Table(BaseModel):
    """The whole file."""

    model_config = ConfigDict(extra="forbid")

    read: date | None = None
    """The day on which the figures were read."""
    models: dict[str, dict[str, list[_Row]]]
    free: list[str] = []

    @property
    def prices(self) -> Prices:
        rows = {
            (provider, model): tuple(sorted((row.price for row in listed), key=lambda r: r.since))
            for provider, models in self.models.items() for model, listed in models.items()
        }
        return Prices(rows, frozenset(self.free))
