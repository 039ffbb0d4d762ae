"""Amounts of money in whole cents, never floats."""

import dataclasses
import functools
import re

SIGNS = {"€": "EUR", "$": "USD", "£": "GBP", "¥": "JPY", "Fr.": "CHF"}
#: decimals of currencies that do not have two
DECIMALS = {"JPY": 0, "ISK": 0, "KWD": 3}

AMOUNT = re.compile(r"^(?P<sign>[-+]?)\s*(?P<whole>\d{1,3}(?:[' ]\d{3})+|\d+)(?:[.,](?P<rest>\d+))?$")


class MoneyError(ValueError):
    """An amount cannot be read, or two cannot be put together."""


@functools.total_ordering
@dataclasses.dataclass(frozen=True)
class Money:
    """An amount in the smallest unit of a currency."""

    cents: int
    currency: str = "EUR"

    def _same(self, other):
        if self.currency != other.currency:
            raise MoneyError(f"{self.currency} and {other.currency} cannot be put together")
        return other

    def __add__(self, other):
        return Money(self.cents + self._same(other).cents, self.currency)

    def __sub__(self, other):
        return self + -other

    def __neg__(self):
        return Money(-self.cents, self.currency)

    def __mul__(self, number):
        return Money(self.cents * number, self.currency)

    def __lt__(self, other):
        return self.cents < self._same(other).cents

    def __bool__(self):
        return self.cents != 0

    def __radd__(self, other):
        """So that sum() works, which begins with 0."""
        return self if other == 0 else NotImplemented

    def share(self, parts):
        """Split by parts like [1, 2]; what does not come out even goes to the first ones.

        The shares always add up to the amount.
        """
        whole = sum(parts)
        if whole <= 0 or min(parts) < 0:
            raise MoneyError("parts must be positive")
        size = abs(self.cents)
        shares = [size * part // whole for part in parts]
        left = size - sum(shares)
        for position, part in enumerate(parts):
            if left and part:
                shares[position] += 1
                left -= 1
        sign = -1 if self.cents < 0 else 1
        return [Money(sign * share, self.currency) for share in shares]

    def __str__(self):
        decimals = DECIMALS.get(self.currency, 2)
        whole, rest = divmod(abs(self.cents), 10**decimals)
        sign = "-" if self.cents < 0 else ""
        text = f"{sign}{whole:,}".replace(",", " ")
        return f"{text}.{rest:0{decimals}} {self.currency}" if decimals else f"{text} {self.currency}"


def money(text):
    """Read "12.50 EUR", "€ 1 200", "-3,5 CHF"; raises MoneyError."""
    text = text.strip()
    currency = "EUR"
    for sign, code in SIGNS.items():
        if sign in text:
            currency, text = code, text.replace(sign, "").strip()
    found = re.search(r"\b[A-Z]{3}\b", text)
    if found:
        currency = found[0]
        text = text.replace(currency, "").strip()
    found = AMOUNT.match(text)
    if not found:
        raise MoneyError(f"no amount: {text!r}")
    decimals = DECIMALS.get(currency, 2)
    rest = found["rest"] or ""
    if len(rest) > decimals:
        raise MoneyError(f"{currency} has {decimals} decimals: {text!r}")
    whole = re.sub(r"\D", "", found["whole"])
    cents = int(whole) * 10**decimals + int(rest.ljust(decimals, "0") or 0)
    return Money(-cents if found["sign"] == "-" else cents, currency)
