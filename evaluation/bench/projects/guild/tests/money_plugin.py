"""A pytest plugin: the fixture `eur`, and differences of money in words."""

import pytest

from guild.ledger import Money


@pytest.fixture(scope="session")
def eur():
    def make(amount):
        return Money(round(amount * 100))

    return make


def pytest_assertrepr_compare(op, left, right):
    if isinstance(left, Money) and isinstance(right, Money) and op == "==":
        return [f"{left} is not {right}", f"off by {left.cents - right.cents}"]
    return None
