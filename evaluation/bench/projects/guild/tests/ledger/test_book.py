import datetime

import pytest

from guild.ledger import Book, Money, Unbalanced


def test_entries_are_in_order_of_day(book):
    assert [entry.text for entry in book.entries] == ["Fees", "Rent for the hall", "Candles", "Fees"]


def test_the_missing_amount(book, eur):
    assert book.entries[1].amounts == (("costs:hall", eur(120)), ("bank", eur(-120)))


def test_two_currencies_are_balanced_apart(book):
    assert book.entries[3].amounts[2:] == (("income:fees", Money(-4000)), ("income:fees", Money(-2000, "CHF")))


def test_pending_entries(book):
    assert [entry.pending for entry in book.entries] == [True, False, False, False]


def test_balance_of_an_account_and_those_below(book):
    assert book.balance("bank") == [Money(2000, "CHF"), Money(22000)]


def test_balance_without_pending(book, eur):
    assert book.balance("income", pending=False) == [Money(2000, "CHF"), eur(40)]


def test_balance_grows_on_its_side(book, eur):
    assert book.balance("income", until=datetime.date(2024, 6, 1)) == [eur(300)]
    assert book.balance("costs") == [eur(132.5)]


def test_balance_includes_the_day(book, eur):
    assert book.balance("cash", until=datetime.date(2024, 12, 31)) == [eur(-12.5)]


def test_a_name_that_begins_alike_is_another_account(eur):
    book = Book.read("2024-01-01 x\n  cash:box  1 EUR\n  cash:boxes  2 EUR\n  own")
    assert book.balance("cash:box") == [eur(1)]


def test_register(book, eur):
    assert [row[2:] for row in book.register("bank")] == [
        (eur(300), eur(300)),
        (eur(-120), eur(180)),
        (eur(40), eur(220)),
    ]


def test_the_lines_of_a_statement(book, eur):
    assert book.statement(2024) == {"": eur(-132.5), "costs:hall": eur(-120), "costs:small things": eur(-12.5)}


def test_statement_of_another_year(book, eur):
    assert book.statement(2025) == {"": eur(40), "income:fees": eur(40)}
    assert book.statement(1999) == {"": eur(0)}


def test_debts_grow_on_the_other_side(eur):
    book = Book.read("2024-01-01 loan\n  bank  50 EUR\n  debts:anna")
    assert book.balance("debts") == [eur(50)]


def test_claims(eur):
    book = Book.read("2024-01-01 sold\n  claims:ben  5 EUR\n  income:sales")
    assert book.balance("claims") == [eur(5)]


def test_an_account_with_an_ampersand(eur):
    book = Book.read("2024-01-01 x\n  costs:food & drink  7 EUR\n  cash")
    assert book.balance("costs:food & drink") == [eur(7)]


def test_an_entry_of_zero_needs_no_other():
    assert Book.read("2024-01-01 x\n  cash  1 EUR\n  bank  -1 EUR").entries[0].amounts[1][1] == Money(-100)


@pytest.mark.parametrize(
    "lines", ["  cash  1 EUR\n  bank  -2 EUR", "  cash  1 EUR\n  bank\n  own", "  cash  1 EUR\n  bank  -1 CHF"]
)
def test_unbalanced(lines):
    with pytest.raises(Unbalanced, match="2024-01-01 x"):
        Book.read("2024-01-01 x\n" + lines)


def test_unknown_accounts():
    with pytest.raises(ValueError, match="no such account: treasure:gold"):
        Book.read("2024-01-01 x\n  treasure:gold  1 EUR\n  bank")


def test_a_line_without_a_head():
    with pytest.raises(ValueError, match="cannot read 'cash  1 EUR'"):
        Book.read("  cash  1 EUR")


def test_cash_is_not_cashier(eur):
    book = Book.read("2024-01-01 x\n  costs:tea  1 EUR\n  costs:teapot  2 EUR\n  costs:tea:green  4 EUR\n  bank")
    assert book.balance("costs:tea") == [eur(5)]


def test_the_largest_and_least_amount(eur):
    assert eur(3) >= eur(3) and eur(2) <= eur(3)
    assert not eur(2) >= eur(3)
