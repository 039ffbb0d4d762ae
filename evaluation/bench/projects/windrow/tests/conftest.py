import pytest

from windrow import Reading


def pytest_configure(config):
    config.addinivalue_line("markers", "station(name): the station of the `at` fixture")


@pytest.fixture(scope="session")
def day():
    return 24 * 3600


@pytest.fixture
def at(request):
    """Make a reading: at(minute, value, quantity)."""
    mark = request.node.get_closest_marker("station")
    station = mark.args[0] if mark else "HILL"

    def make(minute, value, quantity="temperature", station=station):
        return Reading(minute * 60, station, quantity, value)

    return make
