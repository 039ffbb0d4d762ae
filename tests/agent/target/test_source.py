"""A user's file is read as Python would read it, or refused in a sentence that helps."""

from __future__ import annotations

import codecs
import io
import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.target.errors import BadInput
from agent.target.source import LARGEST_BYTES, from_bytes, read_source, read_support_file

READABLE = {
    "plain": "x = 'ä'\n".encode(),
    "byte order mark": codecs.BOM_UTF8 + "x = 'ä'\n".encode(),
    "coding cookie": "# -*- coding: latin-1 -*-\nx = 'ä'\n".encode("latin-1"),
    "cookie in the second line": "#!/usr/bin/python\n# vim: set fileencoding=cp1252 :\nx = '€'\n"
    .encode("cp1252"),
    "utf-16": codecs.BOM_UTF16_LE + "x = 'ä'\n".encode("utf-16-le"),
    "utf-16 big endian": codecs.BOM_UTF16_BE + "x = 'ä'\n".encode("utf-16-be"),
    "windows lines": b"x = 1\r\ny = 2\r\n",
    "old mac lines": b"x = 1\ry = 2\r",
    "mixed lines": b"x = 1\r\ny = 2\nz = 3\r\n",
    "no newline at the end": b"x = 1\r\ny = 2",
    "form feed": b"x = 1\n\x0cy = 2\r\n",
}


@pytest.mark.parametrize("raw", READABLE.values(), ids=READABLE)
def test_reading_and_writing_back_changes_no_byte(raw, tmp_path):
    path = tmp_path / "a.py"
    path.write_bytes(raw)
    source = read_source(path)

    assert "\r" not in source.text and "\ufeff" not in source.text
    assert ("ä" in source.text or "€" in source.text) is any(byte > 127 for byte in raw)
    assert source.encode(source.text) == raw == source.raw


@given(st.lists(st.sampled_from(["a = 1", "b = 2", "", "c"]), min_size=1), st.data())
def test_any_mix_of_line_ends_survives_the_round_trip(lines, data):
    ends = [data.draw(st.sampled_from(["\n", "\r\n"])) for _ in lines]
    raw = "".join(line + end for line, end in zip(lines, ends, strict=True)).encode()
    source = from_bytes(raw, allow_empty=True)

    assert source.encode(source.text) == raw


def test_an_edited_line_leaves_the_other_lines_ends_alone():
    source = from_bytes(b"x = 1\r\ny = 2\nz = 3\r\n")

    assert source.encode("x = 1\ny = 5\nz = 3\nw = 4\n") == (
        b"x = 1\r\ny = 5\r\nz = 3\r\nw = 4\r\n"
    )
    assert source.encode("x = 9\ny = 2\nz = 3\n") == b"x = 9\r\ny = 2\nz = 3\r\n"


def test_a_character_the_encoding_lacks_is_refused_when_writing():
    source = from_bytes(READABLE["coding cookie"])

    with pytest.raises(BadInput, match="'€'"):
        source.encode(source.text + "# €\n")


UNREADABLE = {
    "empty": (b"", "is empty"),
    "whitespace": (b" \n\t\n", "is empty"),
    "comments only": (b"# nothing\n  # here\n", "only comments"),
    "prose": (b"Dear sir, it does not work.\nCould you make it sort the list, please?\n", "prose"),
    "binary": (b"\x7fELF\x00\x01", "binary"),
    "undecodable": (b"x = 1\ny = '\xff'\n", "line 2"),
    "utf-16 cut short": (codecs.BOM_UTF16_LE + b"x\x00y", "utf-16"),
    "zeros behind a mark": (codecs.BOM_UTF16_LE + b"x\x00\x00\x00", "binary"),
    "an encoding that does not exist": (b"# coding: klingon\nx = 1\n", "klingon"),
    "too large": (b"x = 1\n" * 1_000_000, "1 MB"),
}


@pytest.mark.parametrize("raw, word", UNREADABLE.values(), ids=UNREADABLE)
def test_what_cannot_be_read_is_refused_with_the_reason(raw, word, tmp_path):
    path = tmp_path / "a.py"
    path.write_bytes(raw)

    with pytest.raises(BadInput, match=word) as refused:
        read_source(path)
    assert "a.py" in str(refused.value)
    assert path.read_bytes() == raw


@pytest.mark.parametrize("text", [
    "print 'one word, two words. three words'\n",
    "for each of these, do it\n    total++. now then\n",
    "Here is the program, as you asked for it.\ndef f(x)\n    return x\n",
])
def test_a_program_beside_words_or_with_odd_words_is_taken(text):
    assert from_bytes(text.encode()).text == text


def test_a_file_at_the_limit_is_read():
    raw = b"x = 1\n".ljust(LARGEST_BYTES, b"#")

    assert len(from_bytes(raw).text) == LARGEST_BYTES


def test_a_missing_file_names_one_like_it(tmp_path):
    (tmp_path / "stack.py").write_text("x = 1\n")

    with pytest.raises(BadInput, match=r"does not exist.*Did you mean .*stack\.py"):
        read_source(tmp_path / "stak.py")
    with pytest.raises(BadInput, match=r"folder .* does not exist either"):
        read_source(tmp_path / "none" / "a.py")


@pytest.mark.parametrize(("name", "word"), [
    ("", "is a folder"), ("a\0b.py", "cannot be read"), ("a" * 5000, "cannot be read"),
])
def test_a_path_that_is_no_file_is_refused(tmp_path, name, word):
    with pytest.raises(BadInput, match=word):
        read_source(tmp_path / name)


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="root may read everything")
def test_a_file_without_permission_is_refused(tmp_path):
    path = tmp_path / "a.py"
    path.write_text("x = 1\n")
    path.chmod(0)

    with pytest.raises(BadInput, match="may not be read"):
        read_source(path)


def test_a_dash_reads_standard_input(monkeypatch):
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"x = 1\r\n")))
    source = read_source("-")

    assert (source.path, source.name, source.text) == (None, "solution.py", "x = 1\n")


@pytest.mark.parametrize(("raw", "text"), [
    (b"# -*- coding: latin-1 -*-\nx = '\xe4'\n", "# -*- coding: utf-8 -*-\nx = 'ä'\n"),
    (b"x = 1\ny = 2\n# coding: latin-1\n", "x = 1\ny = 2\n# coding: latin-1\n"),
])
def test_a_file_beside_the_program_says_how_it_is_laid_down(raw, text, tmp_path):
    (tmp_path / "a.py").write_bytes(raw)

    assert read_support_file(tmp_path / "a.py") == text


def test_a_data_file_beside_the_program_keeps_its_bytes(tmp_path):
    raw = b'\xef\xbb\xbf{"h": 1}\r\n'
    (tmp_path / "a.json").write_bytes(raw)

    assert read_support_file(tmp_path / "a.json").encode() == raw
