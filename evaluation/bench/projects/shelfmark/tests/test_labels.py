import pytest

from shelfmark import classes
from shelfmark.labels import broken, label, sheet, signpost


def test_a_short_label():
    assert label("M 5") == ["M 5"]


def test_a_label_with_everything():
    assert label("REF QA 76.9 D35 A12 1998 v.2 c.3") == ["REF", "QA", "76.9", ".D35", "A12", "1998", "v.2", "c.3"]


def test_a_name_and_number_that_just_fit():
    assert label("QA 76.76") == ["QA 76.76"]
    assert label("QA 176.76") == ["QA", "176.76"]


@pytest.mark.parametrize(
    ("line", "lines"),
    [("12345678", ["12345678"]), ("v.100-101", ["v.100", "-101"]), ("ABCDEFGHIJ", ["ABCDEFGHIJ"])],
)
def test_broken(line, lines):
    assert broken(line, 8) == lines


def test_broken_at_a_stroke():
    assert broken("no1234/1235", 8) == ["no1234", "/1235"]


@pytest.mark.parametrize(
    ("mark", "place"),
    [("QA 1", "floor 1, bay 1"), ("QH 1", "floor 1, bay 30"), ("PN 1", "floor 2, bay 1"), ("REF A 1", "at the desk")],
)
def test_signpost(mark, place):
    assert signpost(mark) == place


def test_the_ground_floor():
    assert signpost("GV 1") == "ground floor, bay 20"


def test_childrens_books_have_their_corner():
    assert signpost("PZ 7") == "ground floor, bay 40"


def test_sheet():
    assert sheet(["M 5", "QA 9 B3", "M 6", "M 7"]).splitlines() == [
        "M 5       QA        M 6",
        "          9",
        "          .B3",
        "",
        "M 7",
    ]


def test_an_empty_sheet():
    assert sheet([]) == ""


def test_every_room_is_of_a_class():
    assert set(classes.ROOMS) <= set(classes.CLASSES)


def test_title_of_nothing():
    with pytest.raises(KeyError):
        classes.title("")


def test_childrens_books_of_a_longer_class():
    assert classes.room("PZR") == (0, 40)


def test_a_sheet_of_one_row():
    assert sheet(["QA 9 B3", "M 6"], columns=2, width=4).splitlines() == ["QA    M 6", "9", ".B3"]
