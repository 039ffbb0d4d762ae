import pytest

from windrow.core.errors import BadReading
from windrow.sources import read_table


def test_table(table):
    assert [str(reading) for reading in read_table(table)] == [
        "00:10 LAKE 1.5 °C",
        "00:10 LAKE 80 %",
        "00:20 LAKE 81 %",
    ]


def test_a_given_station(table):
    assert {reading.station for reading in read_table(table, station="X")} == {"X"}


@pytest.mark.parametrize("delimiter", [",", "\t", ";"])
def test_delimiters(folder, delimiter):
    path = folder / "a.csv"
    path.write_text(f"utc{delimiter}rain{delimiter} wd \n1:00{delimiter}2{delimiter}90\n")
    assert [reading.value for reading in read_table(path)] == [2.0, 90.0]


def test_a_table_without_time(folder):
    path = folder / "b.csv"
    path.write_text("temp,rh\n")
    with pytest.raises(BadReading, match="b.csv: the first column is not the time"):
        list(read_table(path))


def test_bad_cells_have_a_place(folder):
    path = folder / "c.csv"
    path.write_text("time,temp\n1:00,1\n1:10,x\n")
    with pytest.raises(BadReading, match="c.csv line 3: no number: 'x'"):
        list(read_table(path))


def test_a_mark_before_utc(folder):
    path = folder / "d.csv"
    path.write_text("\ufeffUTC,t\n1:00,2\n", "utf-8")
    assert [reading.station for reading in read_table(path)] == ["D"]


def test_hidden_columns_at_the_end(folder):
    path = folder / "e.csv"
    path.write_text("time,temp,_note\n1:00,1,cold day\n")
    assert [reading.value for reading in read_table(path)] == [1.0]
