import pytest

from shelfmark import Mark, arranged, misplaced
from shelfmark.order import bays, gaps, span

SHELF = [
    "BF 21 A3",
    "QA 9 B3",
    "QA 76 B3",
    "QA 76.76 B3",
    "QA 76.9 B12",
    "QA 76.9 B12 A2",
    "QA 76.9 B12 1998",
    "QA 76.9 B2",
    "QA 76.9 B2 1998 v.2",
    "QA 76.9 B2 1998 v.10",
    "QA 76.9 B2 1998 v.10 c.2",
    "QA 76.9 B2 2001",
    "QC 1 A1",
    "REF A 1",
]


@pytest.fixture(scope="module")
def volumes():
    return [f"PN 4 C1 1950 v.{number}" for number in (1, 2, 3, 4, 5)]


@pytest.mark.parametrize(("one", "other"), list(zip(SHELF, SHELF[1:])), ids=lambda text: text.replace(" ", ""))
def test_neighbours(one, other):
    if one == "QA 76.9 B12 A2":
        one, other = other, one
    assert Mark(one) < Mark(other)


def test_volumes_count_as_numbers():
    assert [mark.volume for mark in arranged(["PN 1 v.10", "PN 1 v.9", "PN 1 v.1-2"])] == ["1-2", "9", "10"]


def test_equal_marks_keep_their_order():
    one, other = Mark("M 5"), Mark("m5")
    assert arranged([other, one])[0] is other


def test_nothing_is_misplaced():
    assert misplaced([]) == []
    assert misplaced(["A 1", "A 1", "A 2"]) == []


def test_misplaced():
    assert misplaced(["A 1", "A 2", "M 9", "A 3", "B 1", "A 4"]) == [Mark("M 9"), Mark("B 1")]


def test_bays_keep_a_work_together(volumes):
    marks = ["PN 1", "PN 2", *volumes[:3]]
    assert [len(bay) for bay in bays(marks, 4)] == [2, 3]


def test_bays_are_filled():
    assert [len(bay) for bay in bays(["A 1", "A 2", "A 3", "A 4"], 2)] == [2, 2]


def test_a_work_wider_than_a_bay(volumes):
    assert [len(bay) for bay in bays(["PN 1", *volumes, "PN 9"], 2)] == [1, 2, 2, 2]


def test_a_very_wide_work(volumes):
    assert [len(bay) for bay in bays(volumes, 1)] == [1] * 5


def test_no_bays():
    assert list(bays([], 3)) == []


@pytest.mark.parametrize(
    ("marks", "text"),
    [(["BF 1", "QA 9"], "BF - QA"), (["M 1 A1", "M 1 B1"], "M 1"), (["M 1", "M 2.5"], "M 1 - M 2.5")],
)
def test_span(marks, text):
    assert span(arranged(marks)) == text


def test_gaps(volumes):
    assert list(gaps([volumes[4], volumes[1], "M 5"])) == [("PN 4 C1 1950", [1, 3, 4])]


def test_double_volumes_fill_two_places():
    assert list(gaps(["M 5 v.1-2", "M 5 v.4"])) == [("M 5", [3])]


def test_volumes_joined_by_a_stroke():
    assert list(gaps(["M 5 v.1/3", "M 5 v.5"])) == [("M 5", [4])]


def test_the_last_book_has_a_bay():
    assert [str(mark) for bay in bays(["A 2", "A 1", "A 3"], 2) for mark in bay] == ["A 1", "A 2", "A 3"]


def test_three_copies_without_a_number():
    assert misplaced(["M 5", "M 5", "M 4", "M 5"]) == [Mark("M 4")]
