import pytest

import shelfmark
from shelfmark import BadMark, Mark


def test_all_parts():
    mark = Mark("ref QA 76.9 .D35 A12b 1998 vol. 2-3 c.4")
    assert (mark.collection, mark.name, mark.number) == ("REF", "QA", "76.9")
    assert mark.cutters == (("D", "35", ""), ("A", "12", "b"))
    assert (mark.year, mark.volume, mark.copy) == ("1998", "2-3", 4)


def test_parts_that_are_not_there():
    mark = Mark("M 5")
    assert (mark.collection, mark.cutters, mark.year, mark.volume, mark.copy) == ("", (), "", "", 1)


@pytest.mark.parametrize("text", ["QA76.9.D35", "QA 76.9 .D35", "qa  76.9 d35", "QA 76.9 D35 c.1"])
def test_ways_to_write_it(text):
    assert Mark(text) == Mark("QA 76.9 D35")


def test_a_part_is_a_volume():
    assert Mark("PN 1 B2 pt. 3").volume == "3"
    assert Mark("PN 1 B2 no. 12").volume == "12"


def test_a_year_with_a_letter():
    assert Mark("PN 1 B2 1998B").year == "1998b"


@pytest.mark.parametrize("text", ["", "   ", "76.9", "QA", "*"])
def test_no_mark_at_all(text):
    with pytest.raises(BadMark):
        Mark(text)


def test_where_reading_stopped():
    with pytest.raises(BadMark, match="cannot read 'QA 9 B3 tome 2' from ' tome 2' on") as caught:
        Mark("QA 9 B3 tome 2")
    assert caught.value.position == 7


def test_an_unknown_class():
    with pytest.raises(KeyError):
        Mark("XY 1")


def test_str():
    assert str(Mark("mini qa9b3 1998 V.2 copy 2")) == "MINI QA 9 B3 1998 v.2 c.2"


def test_reading_what_was_written():
    mark = Mark("OVERSIZE QH 9.25 B3a 1998 v.2 c.2")
    assert Mark(str(mark)) == mark


def test_marks_are_no_texts():
    assert Mark("M 5") != "M 5"
    assert len({Mark("M 5"), Mark("m5")}) == 1


def test_the_version_is_generated():
    assert shelfmark.__version__.count(".") == 2


def test_a_small_book():
    assert Mark("mini M 5").key[:2] == ("MINI", "M")


def test_the_second_copy_of_a_label():
    assert Mark("M 5").copy == 1
    assert Mark("M 5") < Mark("M 5 c.2")
