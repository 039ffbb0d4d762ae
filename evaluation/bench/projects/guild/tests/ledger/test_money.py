import pytest

from guild.ledger.money import Money, MoneyError, money


@pytest.mark.parametrize(
    ("text", "cents", "currency"),
    [
        ("12.50 EUR", 1250, "EUR"),
        ("12,5", 1250, "EUR"),
        ("- 3 CHF", -300, "CHF"),
        ("$1 200.05", 120005, "USD"),
        ("1'200 CHF", 120000, "CHF"),
        ("500 JPY", 500, "JPY"),
        ("1.005 KWD", 1005, "KWD"),
    ],
)
def test_reading(text, cents, currency):
    assert money(text) == Money(cents, currency)


def test_krona_have_no_cents():
    assert money("950 ISK") == Money(950, "ISK")


def test_krona_are_written_without_a_point():
    assert str(Money(1500, "ISK")) == "1 500 ISK"


@pytest.mark.parametrize(("text", "reason"), [("", "no amount"), ("12.345", "EUR has 2 decimals"), ("1 20", "no amount")])
def test_bad_amounts(text, reason):
    with pytest.raises(MoneyError, match=reason):
        money(text)


def test_half_yen():
    with pytest.raises(MoneyError, match="JPY has 0 decimals"):
        money("1.5 JPY")


@pytest.mark.parametrize(
    ("amount", "text"),
    [
        (Money(5), "0.05 EUR"),
        (Money(-123456789), "-1 234 567.89 EUR"),
        (Money(1234, "JPY"), "1 234 JPY"),
        (Money(1005, "KWD"), "1.005 KWD"),
    ],
)
def test_writing(amount, text):
    assert str(amount) == text


def test_small_debts_keep_their_sign():
    assert str(Money(-5)) == "-0.05 EUR"


def test_sums(eur):
    assert sum([eur(1.5), eur(2)]) == eur(3.5)
    assert eur(1) - eur(3) == eur(-2)
    assert eur(1.25) * 4 == eur(5)


def test_order(eur):
    assert sorted([eur(2), eur(-1)])[0] == eur(-1)
    assert max(eur(2), eur(3)) >= eur(3)


def test_zero_is_false(eur):
    assert not eur(0)
    assert eur(-0.01)


def test_currencies_do_not_mix():
    with pytest.raises(MoneyError, match="EUR and CHF"):
        Money(1) + Money(1, "CHF")
    with pytest.raises(MoneyError):
        Money(1) < Money(1, "CHF")


def test_shares(eur):
    assert eur(10).share([1, 1, 1]) == [eur(3.34), eur(3.33), eur(3.33)]


def test_shares_by_parts(eur):
    assert eur(1).share([2, 0, 1]) == [eur(0.67), eur(0), eur(0.33)]


def test_who_has_no_part_gets_no_cent(eur):
    assert eur(0.01).share([0, 1, 1]) == [eur(0), eur(0.01), eur(0)]


def test_shares_of_a_debt(eur):
    assert eur(-10).share([1, 2]) == [eur(-3.34), eur(-6.66)]


def test_shares_of_a_small_debt(eur):
    assert eur(-0.01).share([1, 1]) == [eur(-0.01), eur(0)]


def test_no_parts(eur):
    with pytest.raises(MoneyError):
        eur(1).share([0, 0])


def test_thousands_with_an_apostrophe_and_cents():
    assert money("-1'234'567.05 CHF") == Money(-123456705, "CHF")


def test_small_debts_in_another_currency():
    assert str(Money(-999, "KWD")) == "-0.999 KWD"


def test_the_last_one_has_a_part(eur):
    assert eur(0.05).share([0, 0, 2, 2]) == [eur(0), eur(0), eur(0.03), eur(0.02)]
