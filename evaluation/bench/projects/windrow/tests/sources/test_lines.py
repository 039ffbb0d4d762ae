import pytest

from windrow.core.errors import BadReading
from windrow.core.reading import Reading
from windrow.sources import read_lines


def test_lines():
    lines = ["# morning", "", "07:05 HILL temp=12.5 rh=80  # ok", "7:06:30 LAKE ws=3"]
    assert list(read_lines(lines)) == [
        Reading(25500, "HILL", "temperature", 12.5),
        Reading(25500, "HILL", "humidity", 80.0),
        Reading(25590, "LAKE", "wind", 3.0),
    ]


@pytest.mark.parametrize(("text", "value"), [("54F", 12.2), ("285.65K", 12.5), ("12,5", 12.5)])
def test_temperatures(text, value):
    (reading,) = read_lines([f"0:00 A t={text}"])
    assert reading.value == pytest.approx(value, abs=0.03)


def test_wind_in_knots():
    (reading,) = read_lines(["0:00 A ws=10kt"])
    assert reading.value == pytest.approx(5.144, abs=0.001)


def test_wind_in_kilometres():
    (reading,) = read_lines(["0:00 A ws=36km/h"])
    assert reading.value == pytest.approx(10)


def test_pressure():
    (reading,) = read_lines(["0:00 A baro=1013.2"])
    assert str(reading) == "00:00 A 1013.2 hPa"


@pytest.mark.parametrize("text", ["", "-", "NaN", "///"])
def test_missing_values(text):
    assert list(read_lines([f"0:00 A t={text} rh=5"])) == [Reading(0, "A", "humidity", 5.0)]


def test_missing_in_lower_case():
    assert list(read_lines(["0:00 A t=na"])) == []


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("24:00 A t=1", "line 1: no time: '24:00'"),
        ("12 A t=1", "line 1: no time: '12'"),
        ("0:00 A t", "line 1: expected name=value, got 't'"),
        ("0:00 A t=warm", "line 1: no number: 'warm'"),
        ("0:00 A mood=1", "line 1: unknown quantity 'mood'"),
    ],
)
def test_bad_lines(line, message):
    with pytest.raises(BadReading, match=message):
        list(read_lines([line]))


def test_a_minute_has_sixty_seconds():
    with pytest.raises(BadReading, match="line 1: no time"):
        list(read_lines(["0:00:60 A t=1"]))


def test_pressure_and_its_station():
    (reading,) = read_lines(["0:00 A Baro=900"])
    assert (reading.quantity, reading.value) == ("pressure", 900.0)


def test_a_storm_in_kilometres():
    (reading,) = read_lines(["0:00 A ws=118,8km/h"])
    assert reading.value == pytest.approx(33)
