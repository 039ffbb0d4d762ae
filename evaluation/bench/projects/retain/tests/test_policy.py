import pytest

from retain import Catalog, Policy, Snapshot
from retain.policy import freed, kept


@pytest.fixture(scope="module")
def days(catalog):
    return catalog(*(f"05-{day:02}" for day in range(1, 31)))


def stays(text, catalog):
    return [verdict.snapshot.day.day for verdict in Policy.parse(text).verdicts(catalog) if verdict.stays]


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("last=2", [29, 30]),
        ("last=1, daily=3", [28, 29, 30]),
        ("weekly=2", [26, 30]),
        ("last=0 monthly=5", [30]),
        ("last=0", []),
        ("yearly=1; daily=2", [29, 30]),
    ],
)
def test_rules(days, text, result):
    assert stays(text, days) == result


def test_all_of_a_kind(days):
    assert stays("last=0 weekly=all", days) == [5, 12, 19, 26, 30]


def test_all_of_them(days):
    assert len(stays("last=all", days)) == 30


def test_the_newest_of_a_period(catalog):
    assert [v.snapshot.time.hour for v in Policy.parse("last=0 daily=1").verdicts(catalog("05-01T0700", "05-01T2100")) if v.stays] == [21]


def test_quarters(catalog):
    assert stays("last=0 quarterly=all", catalog("01-01", "03-02", "04-03", "12-04")) == [2, 3, 4]


def test_the_last_quarter(catalog):
    assert stays("last=0 quarterly=1", catalog("09-30", "10-01", "12-31")) == [31]


def test_hours(catalog):
    assert len(kept(Policy.parse("hourly=2").verdicts(catalog("05-01T0700", "05-01T0730", "05-01T0600")))) == 2


def test_a_week_belongs_to_its_year():
    names = ("a-2024-12-30.tar", "a-2024-01-01.tar")
    catalog = Catalog(map(Snapshot.from_name, names))
    assert stays("last=0 weekly=2", catalog) == [1, 30]


def test_sources_are_judged_apart(catalog):
    both = Catalog([*catalog("05-01", "05-02"), *catalog("04-01", source="etc")])
    assert len(kept(Policy.parse("last=1").verdicts(both))) == 2


def test_reasons(days):
    verdicts = Policy.parse("last=1 daily=1 weekly=2").verdicts(days)
    assert verdicts[-1].reasons == ("last", "daily", "weekly")
    assert verdicts[0].reasons == ()


def test_what_is_needed_stays(catalog):
    verdicts = Policy.parse("last=1").verdicts(catalog("05-01", "05-02-incr", "05-03-incr"))
    assert [verdict.reasons for verdict in verdicts] == [("needed",), ("needed",), ("last",)]


def test_what_is_needed_by_something_that_goes(catalog):
    assert stays("last=1", catalog("05-01", "05-02-incr", "05-03")) == [3]


def test_a_broken_chain_needs_nothing(catalog):
    assert stays("last=1", catalog("05-01-incr", "05-02-incr")) == [2]


def test_protected(catalog):
    policy = Policy(last=1, protected=frozenset({"home-2024-05-01.tar"}))
    verdicts = policy.verdicts(catalog("05-01", "05-02", "05-03"))
    assert [verdict.reasons for verdict in verdicts] == [("protected",), (), ("last",)]


def test_policies_share_no_rules():
    Policy.parse("daily=3")
    assert Policy.parse("last=2").rules == {}


@pytest.mark.parametrize(("text", "reason"), [("dayly=3", "unknown rule 'dayly'"), ("daily=x", "cannot read 'daily=x'")])
def test_bad_policies(text, reason):
    with pytest.raises(ValueError, match=reason):
        Policy.parse(text)


def test_blanks_around_the_sign():
    assert Policy.parse("last = 2  daily = 3").rules == {"daily": 3}


def test_freed():
    one, other = (Snapshot.from_name(f"a-2024-05-0{day}.tar", 100 * day) for day in (1, 2))
    assert freed(Policy().verdicts(Catalog([one, other]))) == 100


def test_every_month_has_its_quarter(catalog):
    months = catalog(*(f"{month:02}-01" for month in range(1, 13)))
    verdicts = Policy.parse("last=0 quarterly=all").verdicts(months)
    assert [one.snapshot.time.month for one in verdicts if one.stays] == [3, 6, 9, 12]


def test_the_same_week_of_two_years():
    catalog = Catalog(map(Snapshot.from_name, ("a-2023-05-03.tar", "a-2024-05-01.tar")))
    assert stays("last=0 weekly=5", catalog) == [3, 1]


def test_a_diff_that_goes_needs_nothing(catalog):
    assert stays("last=0 monthly=1", catalog("05-01", "05-02-diff", "05-03-diff", "05-04-full")) == [4]
