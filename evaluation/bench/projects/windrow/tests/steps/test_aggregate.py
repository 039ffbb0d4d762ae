import pytest

from windrow import Pipeline, Reading
from windrow.steps.aggregate import dew


def test_hourly_means(at, values):
    assert values("hourly", [at(5, 1.0), at(50, 3.0), at(61, 8.0)]) == [2.0, 8.0]


def test_hourly_sums_of_rain(at, values):
    assert values("hourly", [at(5, 1.5, "rain"), at(50, 0.5, "rain")]) == [2.0]


def test_hours_come_in_order(at):
    out = list(Pipeline.parse("hourly")([at(70, 1.0), at(10, 2.0)]))
    assert out == [Reading(3600, "HILL", "temperature", 2.0), Reading(7200, "HILL", "temperature", 1.0)]


def test_hourly_at_the_start(at):
    out = list(Pipeline.parse("hourly keep-start=yes")([at(70, 1.0)]))
    assert out[0].time == 3600


def test_the_mean_of_north_winds_is_north(at, values):
    assert values("hourly", [at(1, 350, "direction"), at(2, 20, "direction")]) == [pytest.approx(5)]


def test_the_mean_of_west_winds_is_positive(at, values):
    assert values("hourly", [at(1, 260, "direction"), at(2, 280, "direction")]) == [pytest.approx(270)]


def test_the_mean_of_east_winds(at, values):
    assert values("hourly", [at(1, 80, "direction"), at(2, 100, "direction")]) == [pytest.approx(90)]


@pytest.mark.station("LAKE")
def test_gaps(at):
    out = list(Pipeline.parse("gaps longest=600")([at(0, 1.0), at(10, 1.0), at(21, 2.0)]))
    assert [str(reading) for reading in out] == ["00:21 LAKE 2.0 °C"]


def test_gaps_of_other_stations_do_not_count(at, values):
    readings = [at(0, 1.0), at(15, 2.0, station="LAKE"), at(20, 3.0, station="LAKE")]
    assert values("gaps longest=600", readings) == []


def test_dewpoint(at):
    out = list(Pipeline.parse("dewpoint")([at(0, 20.0), at(0, 50, "humidity"), at(1, 60, "humidity")]))
    assert len(out) == 4
    assert str(out[2]) == "00:00 HILL/dew 9.3 °C"


def test_no_dew_in_dry_air(at, values):
    assert values("dewpoint", [at(0, 20.0), at(0, 0, "humidity")]) == [20.0, 0]


def test_dry_air_between_others(at, values):
    readings = [at(0, 0, "humidity"), at(0, 5.0), at(1, 7.0)]
    assert values("dewpoint | only quantity=t", readings) == [5.0, 7.0]


def test_saturated_air():
    assert dew(10.0, 100) == pytest.approx(10.0)


def test_the_mean_of_south_west_winds(at, values):
    assert values("hourly", [at(1, 200, "direction"), at(2, 250, "direction")]) == [pytest.approx(225)]


def test_rain_of_two_hours(at, values):
    readings = [at(1, 1.0, "rain"), at(2, 1.0, "rain"), at(3, 4.0, "rain"), at(61, 0.5, "rain")]
    assert values("hourly", readings) == [6.0, 0.5]
