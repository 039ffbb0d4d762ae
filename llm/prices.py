"""Computes the cost of calls from a dated price table; unlisted models have no known price."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from functools import cache
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from llm.errors import LlmError
from llm.provider import MOCK, PROVIDERS
from llm.types import Usage

DEFAULT_TABLE = Path(__file__).with_name("prices.yaml")
_MILLION = 1_000_000

Dollars = Annotated[float, Field(ge=0, lt=_MILLION, allow_inf_nan=False)]


class BadPrices(LlmError):
    """A price table cannot be used; the message says where and why."""


class Rates(BaseModel):
    """Dollars per million tokens."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    input: Dollars
    output: Dollars
    cache_read: Dollars
    cache_write: Dollars

    def dollars(self, usage: Usage) -> float:
        """The cost of the tokens at these rates."""
        return (
            usage.input * self.input + usage.output * self.output
            + usage.read * self.cache_read + usage.written * self.cache_write
        ) / _MILLION

    @property
    def dearest_input(self) -> float:
        """The highest rate for a token of a request."""
        return max(self.input, self.cache_read, self.cache_write)


class LongRates(Rates):
    """The rates of a request that is longer than `tokens`."""

    tokens: int


class Price(Rates):
    """A model's rates from a date on."""

    since: date = Field(alias="from")
    above: LongRates | None = None

    def at(self, question: int) -> Rates:
        """The rates of a call whose request has this many tokens."""
        return self.above if self.above is not None and question > self.above.tokens else self


FREE_PRICE = Price.model_validate(
    {"from": date.min, "input": 0, "output": 0, "cache_read": 0, "cache_write": 0}
)


class Prices(BaseModel):
    """A price table in the form of its file."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    read: date | None = None
    """The date on which its figures were read."""
    models: Mapping[str, Mapping[str, tuple[Price, ...]]]
    """By provider and model."""
    free: frozenset[str] = frozenset()
    """Free providers, in addition to those marked free in `PROVIDERS`."""

    def price(self, provider: str, model: str, today: date) -> Price | None:
        """The price on a date; `None` is unknown, not free. A model's name may end in a date, such
        as `claude-haiku-4-5-20251001`."""
        row = PROVIDERS.get(provider)
        if provider in self.free or provider == MOCK or (row is not None and row.free):
            return FREE_PRICE
        stem = model
        head, _, tail = model.rpartition("-")
        if head and tail.isdecimal() and len(tail) == 8:
            stem = head
        listed = self.models.get(provider, {})
        known = [one for one in listed.get(model) or listed.get(stem) or () if one.since <= today]
        return max(known, key=lambda one: one.since, default=None)

    def cost(self, provider: str, model: str, usage: Usage, today: date) -> float | None:
        """The cost of a call in dollars; `None` if unknown."""
        price = self.price(provider, model, today)
        if price is None:
            return None
        return price.at(usage.input + usage.read + usage.written).dollars(usage)

    def most(
        self, provider: str, model: str, question: int, answer: int, today: date
    ) -> float | None:
        """The maximum cost of a call with these tokens in dollars; `None` if unknown."""
        price = self.price(provider, model, today)
        if price is None:
            return None
        rates = price.at(question)
        return (question * rates.dearest_input + answer * rates.output) / _MILLION

    def before(self, other: Prices) -> Prices:
        """This table, with the entries of `other` that it lacks."""
        models = {
            name: {**other.models.get(name, {}), **self.models.get(name, {})}
            for name in {**other.models, **self.models}
        }
        return self.model_copy(update={"models": models, "free": self.free | other.free})


@cache
def default_prices() -> Prices:
    """The project's table."""
    return read_prices(DEFAULT_TABLE)


def prices_with(path: Path | None) -> Prices:
    """The project's table, with a user's table taking precedence; raises `BadPrices`."""
    return default_prices() if path is None else read_prices(path).before(default_prices())


def read_prices(path: Path) -> Prices:
    """The table in a YAML file; raises `BadPrices`."""
    import yaml

    try:
        return Prices.model_validate(yaml.safe_load(path.read_text(encoding="utf-8")))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise BadPrices(f"The price table {path} cannot be read; correct it: {error}") from error
    except ValidationError as error:
        raise BadPrices(f"The price table {path} is not valid; correct it: {error}") from error
