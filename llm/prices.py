"""What a call costs, by a dated table; what is not in the table has no known price."""

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

OURS = Path(__file__).with_name("prices.yaml")
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
        """What the tokens cost at these rates."""
        return (
            usage.input * self.input + usage.output * self.output
            + usage.read * self.cache_read + usage.written * self.cache_write
        ) / _MILLION

    @property
    def dearest_input(self) -> float:
        """The highest rate that a token of a question can be charged at."""
        return max(self.input, self.cache_read, self.cache_write)


class LongRates(Rates):
    """The rates of a question that is longer than so many tokens."""

    tokens: int


class Price(Rates):
    """A model's rates from a day on."""

    since: date = Field(alias="from")
    above: LongRates | None = None

    def at(self, question: int) -> Rates:
        """The rates for a question of so many tokens, which hold for all of its call."""
        return self.above if self.above is not None and question > self.above.tokens else self


NOTHING = Price.model_validate(
    {"from": date.min, "input": 0, "output": 0, "cache_read": 0, "cache_write": 0}
)


class Prices(BaseModel):
    """A price table, as it stands in a file."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    read: date | None = None
    """The day on which its figures were read."""
    models: Mapping[str, Mapping[str, tuple[Price, ...]]]
    """By provider and model."""
    free: frozenset[str] = frozenset()
    """Providers that cost nothing, beside those whose rows say so."""

    def price(self, provider: str, model: str, today: date) -> Price | None:
        """What holds today; `None` is unknown, which is not free. A model's name may end in its
        date, as `claude-haiku-4-5-20251001` does."""
        row = PROVIDERS.get(provider)
        if provider in self.free or provider == MOCK or (row is not None and row.free):
            return NOTHING
        stem = model
        head, _, tail = model.rpartition("-")
        if head and tail.isdecimal() and len(tail) == 8:
            stem = head
        listed = self.models.get(provider, {})
        known = [one for one in listed.get(model) or listed.get(stem) or () if one.since <= today]
        return max(known, key=lambda one: one.since, default=None)

    def cost(self, provider: str, model: str, usage: Usage, today: date) -> float | None:
        """Dollars of a call; `None` is unknown."""
        price = self.price(provider, model, today)
        if price is None:
            return None
        return price.at(usage.input + usage.read + usage.written).dollars(usage)

    def most(
        self, provider: str, model: str, question: int, answer: int, today: date
    ) -> float | None:
        """The most that a call with so many tokens can cost; `None` is unknown."""
        price = self.price(provider, model, today)
        if price is None:
            return None
        rates = price.at(question)
        return (question * rates.dearest_input + answer * rates.output) / _MILLION

    def before(self, other: Prices) -> Prices:
        """This table, and the other for what it does not list."""
        models = {
            name: {**other.models.get(name, {}), **self.models.get(name, {})}
            for name in {**other.models, **self.models}
        }
        return self.model_copy(update={"models": models, "free": self.free | other.free})


@cache
def our_prices() -> Prices:
    """The table that comes with the project."""
    return read_prices(OURS)


def prices_with(path: Path | None) -> Prices:
    """Our table, behind a user's own where one is named; raises `BadPrices`."""
    return our_prices() if path is None else read_prices(path).before(our_prices())


def read_prices(path: Path) -> Prices:
    """The table in a YAML file; raises `BadPrices`."""
    import yaml

    try:
        return Prices.model_validate(yaml.safe_load(path.read_text(encoding="utf-8")))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise BadPrices(f"The price table {path} cannot be read: {error}") from error
    except ValidationError as error:
        raise BadPrices(f"The price table {path} cannot be used: {error}") from error
