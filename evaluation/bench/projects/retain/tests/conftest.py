import pytest

from retain import Catalog, Snapshot


@pytest.fixture(scope="session")
def catalog():
    """Make a catalog: "05-01" for a day of 2024, "05-01T0730-incr" for more."""

    def make(*tails, source="home"):
        return Catalog(Snapshot.from_name(f"{source}-2024-{tail}.tar") for tail in tails)

    return make
