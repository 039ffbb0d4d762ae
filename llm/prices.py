"""What a call costs, by a dated table; what is not in the table has no known price."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from functools import cache
from pathlib import Path

from llm.errors import LlmError
from llm.provider import MOCK, PROVIDERS
from llm.types import Usage

OURS = Path(__file__).with_name("prices.yaml")
_MILLION = 1_000_000


class BadPrices(LlmError):
    """A price table cannot be used; the message says where and why."""


@dataclass(frozen=True)
class Rates:
    """Dollars per million tokens."""

    input: float
    output: float
    cache_read: float
    cache_write: float

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


NOTHING = Rates(0.0, 0.0, 0.0, 0.0)


@dataclass(frozen=True)
class Price:
    """A model's rates from a day on, and those of questions longer than a limit."""

    since: date
    rates: Rates
    long_above: int | None = None
    """Tokens of a question above which `long` holds for all of the call."""
    long: Rates = NOTHING

    def at(self, question: int) -> Rates:
        """The rates for a question of so many tokens."""
        if self.long_above is not None and question > self.long_above:
            return self.long
        return self.rates


@dataclass(frozen=True)
class Prices:
    """A price table."""

    rows: Mapping[tuple[str, str], tuple[Price, ...]]
    """By provider (or preset) and model, the oldest first."""
    free: frozenset[str]

    def price(self, provider: str, model: str, today: date) -> Price | None:
        """What holds today; `None` is unknown, which is not free. A model's name may end in its
        date, as `claude-haiku-4-5-20251001` does."""
        row = PROVIDERS.get(provider)
        if provider in self.free or provider == MOCK or (row is not None and row.free):
            return Price(date.min, NOTHING)
        stem = model
        head, _, tail = model.rpartition("-")
        if head and tail.isdecimal() and len(tail) == 8:
            stem = head
        known = self.rows.get((provider, model)) or self.rows.get((provider, stem)) or ()
        return next((row for row in reversed(known) if row.since <= today), None)

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
        return Prices({**other.rows, **self.rows}, self.free | other.free)


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

    from llm.price_file import Table

    try:
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
        return Table.model_validate(content).prices
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise BadPrices(f"The price table {path} cannot be read: {error}") from error
    except ValueError as error:
        raise BadPrices(f"The price table {path} cannot be used: {error}") from error
