import pytest

from retain.sizes import age, human, parsed, table


@pytest.mark.parametrize(
    ("size", "text"),
    [(0, "0 B"), (1023, "1023 B"), (1024, "1.0 KiB"), (1536, "1.5 KiB"), (5 * 1024**3, "5.0 GiB"), (1024**5, "1024.0 TiB")],
)
def test_human(size, text):
    assert human(size) == text


def test_rounding_takes_the_next_unit():
    assert human(1024**2 - 1) == "1.0 MiB"


def test_more_decimals():
    assert human(1024**2 - 1, decimals=3) == "1023.999 KiB"


@pytest.mark.parametrize(
    ("text", "size"), [("10", 10), ("2 kB", 2000), ("1.5GiB", 1610612736), ("3m", 3_000_000), ("7 B", 7)]
)
def test_parsed(text, size):
    assert parsed(text) == size


def test_terabytes():
    assert parsed("2T") == 2 * 10**12
    assert parsed("1 TiB") == 1024**4


def test_no_size():
    with pytest.raises(ValueError, match="no size: 'big'"):
        parsed("big")


@pytest.mark.parametrize(("seconds", "text"), [(5, "now"), (60, "1 minute"), (7200, "2 hours"), (90000, "1 day")])
def test_age(seconds, text):
    assert age(seconds) == text


def test_table():
    assert table([("a", 1), ("bcd", 100)], right={1}) == "a      1\nbcd  100"


def test_an_empty_table():
    assert table([]) == ""


def test_rounding_to_a_gigabyte():
    assert human(1024**3 - 1000) == "1.0 GiB"


def test_a_small_t():
    assert parsed("1.5 tb") == 1_500_000_000_000
