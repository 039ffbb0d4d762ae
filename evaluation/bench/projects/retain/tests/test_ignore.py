import pytest

from retain import Ignore


@pytest.mark.parametrize(
    ("pattern", "path", "out"),
    [
        ("*.log", "a/b/x.log", True),
        ("*.log", "x.log.txt", False),
        ("/build", "build", True),
        ("/build", "a/build", False),
        ("docs/**/draft", "docs/draft", True),
        ("docs/**/draft", "docs/a/b/draft", True),
        ("docs/*", "docs/a", True),
        ("a/**", "a/b/c", True),
        ("data?.csv", "data1.csv", True),
        ("data?.csv", "data.csv", False),
        ("[ab].txt", "b.txt", True),
        ("a+b", "a+b", True),
    ],
)
def test_patterns(pattern, path, out):
    assert Ignore([pattern])(path) is out


def test_a_star_stops_at_a_folder():
    assert not Ignore(["docs/*.txt"])("docs/a/b.txt")


def test_a_group_of_others():
    ignore = Ignore(["v[!0-9]"])
    assert ignore("vx")
    assert not ignore("v1")


def test_a_group_of_others_in_a_path():
    assert not Ignore(["/src/[!a]*.c"])("src/abc.c")


def test_an_open_bracket_is_itself():
    assert Ignore(["a[b"])("a[b")


def test_folders_only():
    ignore = Ignore(["cache/"])
    assert ignore("x/cache", is_folder=True)
    assert not ignore("x/cache")


def test_what_is_in_a_folder():
    assert Ignore(["cache/"])("x/cache/a/b")


def test_the_last_pattern_decides():
    ignore = Ignore(["*.log", "!keep.log"])
    assert not ignore("a/keep.log")
    assert ignore("a/other.log")


def test_out_again():
    assert Ignore(["*.log", "!keep.log", "keep.*"])("keep.log")


def test_comments_and_blanks():
    assert Ignore(["# x", "", "  ", "a  \n"]).rules[0][0].fullmatch("a")


def test_a_sign_with_a_stroke_before_it():
    assert Ignore([r"\#x"])("#x")
    assert Ignore([r"\!x"])("!x")


def test_a_file_with_the_name_of_a_folder():
    ignore = Ignore(["/tmp/", "!/tmp/keep"])
    assert not ignore("tmp")
    assert ignore("tmp/x")
