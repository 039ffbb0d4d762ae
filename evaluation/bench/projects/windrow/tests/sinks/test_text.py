import pytest

from windrow import sinks
from windrow.sinks.text import compass


def test_listing(at):
    assert sinks.listing()([at(65, 1.25), at(66, 80.4, "humidity")]) == "01:05 HILL 1.2 °C\n01:06 HILL 80 %"


def test_a_limit(at):
    text = sinks.listing(limit=1)([at(0, 1.0), at(1, 1.0), at(2, 1.0)])
    assert text.splitlines() == ["00:00 HILL 1.0 °C", "... 2 more"]


def test_a_limit_that_is_met(at):
    assert sinks.listing(limit=2)([at(0, 1.0), at(1, 1.0)]).count("\n") == 1


@pytest.mark.parametrize(("degrees", "name"), [(0, "N"), (22, "N"), (23, "NE"), (180, "S"), (270, "W")])
def test_compass(degrees, name):
    assert compass(degrees) == name


def test_just_west_of_north():
    assert compass(350) == "N"


def test_the_full_circle_is_north():
    assert compass(360) == "N"


def test_report(at):
    readings = [at(30, 4.0), at(10, 2.5), at(20, 9.0), at(5, 1.0, station="DALE"), at(6, 9, "wind")]
    assert sinks.report()(readings).splitlines() == [
        "DALE: 1.0 at 00:05 (1.0 to 1.0)",
        "HILL: 4.0 at 00:30 (2.5 to 9.0)",
    ]


def test_report_of_directions(at):
    assert sinks.report("direction")([at(0, 95, "direction")]) == "HILL: E at 00:00"


def test_report_of_nothing():
    assert sinks.report("rain")([]) == "no rain"


def test_all_the_way_round():
    assert [compass(degrees) for degrees in (337, 338, 359)] == ["NW", "N", "N"]


def test_the_latest_value_is_not_the_highest(at):
    readings = [at(9, 1.0, "wind"), at(3, 7.5, "wind")]
    assert sinks.report("wind")(readings) == "HILL: 1.0 at 00:09 (1.0 to 7.5)"
