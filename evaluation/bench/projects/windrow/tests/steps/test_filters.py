import pytest

from windrow import steps
from windrow.core.errors import BadReading


def test_plausible(at, values):
    readings = [at(0, -95.0), at(1, 60.0), at(2, float("nan")), at(3, 101, "humidity"), at(4, 4.0)]
    assert values("plausible", readings) == [60.0, 4.0]


def test_only_a_quantity(at, values):
    assert values("only quantity=RH", [at(0, 1.0), at(0, 80, "humidity")]) == [80]


def test_only_a_station(at, values):
    readings = [at(0, 1.0), at(0, 2.0, station="LAKE1"), at(0, 3.0, station="LAKE2")]
    assert values("only station=LAKE", readings) == [2.0, 3.0]


def test_only_both(at, values):
    readings = [at(0, 1.0), at(0, 9, "wind"), at(0, 3.0, station="LAKE")]
    assert values("only station=HILL quantity=wind", readings) == [9]


def test_only_an_unknown_quantity():
    with pytest.raises(BadReading, match="unknown quantity 'mood'"):
        steps.only("mood")


def test_shift(at, values):
    assert values("shift quantity=t by=-0.5", [at(0, 1.0), at(0, 9, "wind")]) == [0.5, 9]


def test_smooth(at, values):
    assert values("smooth", [at(0, 1.0), at(1, 50.0), at(2, 2.0), at(3, 3.0)]) == [1.0, 50.0, 2.0, 3.0]


def test_smooth_keeps_stations_apart(at, values):
    readings = [at(0, 1.0), at(0, 9.0, station="LAKE"), at(1, 1.0), at(1, 9.0, station="LAKE")]
    assert values("smooth width=3", readings) == [1.0, 9.0, 1.0, 9.0]


def test_smooth_keeps_quantities_apart(at, values):
    readings = [at(0, 10.0), at(0, 80, "humidity"), at(1, 80, "humidity"), at(2, 10.0)]
    assert values("smooth width=5", readings) == [10.0, 80, 80, 10.0]


def test_unstick(at, values):
    readings = [at(minute, value) for minute, value in enumerate([5.0, 5.0, 5.0, 5.0, 6.0, 5.0])]
    assert values("unstick times=3", readings) == [5.0, 5.0, 6.0, 5.0]


def test_unstick_from_the_second_on(at, values):
    assert values("unstick times=2", [at(0, 1.0), at(1, 1.0), at(2, 2.0)]) == [1.0, 2.0]


def test_smooth_beside_rain(at, values):
    hour = (("wind", 9.0), ("rain", 1.0), ("rain", 1.0))
    readings = [at(minute, value, quantity) for minute in range(3) for quantity, value in hour]
    assert values("smooth width=9 | only quantity=wind", readings) == [9.0, 9.0, 9.0]
