import datetime

import pytest

from retain import BadName, Catalog, Snapshot


@pytest.fixture(scope="class")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("backups")
    for name in ("home-2024-05-02.tar.gz", "home-2024-05-01T2200.zip", "etc-2024-05-01.tar", "notes.txt"):
        (folder / name).write_bytes(b"x" * len(name))
    (folder / "home-2024-05-03.tar").mkdir()
    return folder


class TestScan:
    def test_what_is_found(self, folder):
        assert [one.name for one in Catalog.scan(folder)] == [
            "etc-2024-05-01.tar", "home-2024-05-01T2200.zip", "home-2024-05-02.tar.gz",
        ]

    def test_sizes(self, folder):
        assert [one.size for one in Catalog.scan(folder)] == [18, 24, 22]

    def test_sources(self, folder):
        assert Catalog.scan(folder).sources == ["etc", "home"]

    def test_no_folder(self, folder):
        with pytest.raises(FileNotFoundError):
            Catalog.scan(folder / "none")


def test_a_full_name():
    snapshot = Snapshot.from_name("my-home_dir-2024-05-01T0730-incr.tar.xz", 5)
    assert snapshot == Snapshot(datetime.datetime(2024, 5, 1, 7, 30), "my-home_dir")
    assert (snapshot.mode, snapshot.size) == ("incr", 5)


def test_a_name_without_a_time():
    assert Snapshot.from_name("home-2024-05-01.zip").time == datetime.datetime(2024, 5, 1)
    assert Snapshot.from_name("home-2024-05-01.zip").mode == "full"


@pytest.mark.parametrize("ending", [".tar", ".tar.gz", ".tar.zst", ".zip"])
def test_endings(ending):
    assert Snapshot.from_name("a-2024-05-01" + ending).source == "a"


def test_a_time_in_utc():
    assert Snapshot.from_name("a-2024-05-01T2359Z-diff.tar").time.hour == 23


@pytest.mark.parametrize("name", ["home.tar", "2024-05-01.tar", "home-2024-05-01.tar.bz2", "home-2024-05-01-best.tar"])
def test_other_names(name):
    with pytest.raises(BadName):
        Snapshot.from_name(name)


@pytest.mark.parametrize("tail", ["2024-02-30", "2024-05-01T2500", "2024-05-01T0099"])
def test_impossible_times(tail):
    with pytest.raises(BadName, match="home"):
        Snapshot.from_name(f"home-{tail}.tar")


def test_order_is_by_time_first():
    later = Snapshot.from_name("a-2024-05-02.tar")
    assert sorted([later, Snapshot.from_name("z-2024-05-01.tar")])[-1] is later


def test_a_size_makes_no_difference():
    assert Snapshot.from_name("a-2024-05-02.tar", 5) == Snapshot.from_name("a-2024-05-02.tar", 7)


def test_a_mode_makes_no_difference():
    names = ("a-2024-05-02-full.tar", "a-2024-05-02-diff.tar")
    assert len({Snapshot.from_name(name) for name in names}) == 1


def test_latest(catalog):
    home = catalog("05-01", "05-03-incr", "05-02-diff")
    assert home.latest("home").day.day == 3
    assert home.latest("home", "diff").day.day == 2
    assert home.latest("etc") is None


def test_the_chain_of_increments(catalog):
    home = catalog("05-01", "05-02-incr", "05-03-incr", "05-04")
    assert [one.day.day for one in home.chain(home.snapshots[2])] == [1, 2, 3]


def test_the_chain_of_a_diff(catalog):
    home = catalog("05-01", "05-02-incr", "05-03-diff")
    assert [one.day.day for one in home.chain(home.snapshots[2])] == [1, 3]


def test_an_increment_on_a_diff(catalog):
    home = catalog("05-01", "05-02-diff", "05-03-diff", "05-04-incr")
    assert [one.day.day for one in home.chain(home.snapshots[3])] == [1, 3, 4]


def test_a_broken_chain(catalog):
    home = catalog("05-02-incr", "05-03-incr")
    with pytest.raises(LookupError, match="no full snapshot before 2024-05-03"):
        home.chain(home.snapshots[1])


def test_a_time_in_utc_without_a_mode():
    assert Snapshot.from_name("a-2024-05-01T0005Z.zip").time == datetime.datetime(2024, 5, 1, 0, 5)


def test_a_chain_stops_at_the_nearest_full(catalog):
    home = catalog("05-01", "05-02", "05-03-incr")
    assert [one.day.day for one in home.chain(home.snapshots[2])] == [2, 3]
