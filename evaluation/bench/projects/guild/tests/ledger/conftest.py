import pytest

from guild.ledger import Book

TEXT = """\
; the book of the guild
2024-03-01 Rent for the hall   ; spring
    costs:hall     120.00 EUR
    bank
2024-01-15 ! Fees
    bank           300 EUR
    income:fees

2024-12-31 Candles
    costs:small things   € 12,50   ; beeswax
    cash               -12.50 EUR
2025-01-01 Fees
    bank    40.00 EUR
    bank:swiss   20 CHF
    income:fees
"""


@pytest.fixture(scope="module")
def book():
    return Book.read(TEXT)
