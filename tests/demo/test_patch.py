from __future__ import annotations

import random
from time import process_time

from hypothesis import given
from hypothesis import strategies as st

from agent.core.domain import unified
from demo.views.diff import Piece, diff_lines
from demo.views.escape import prose

LINES = st.lists(st.sampled_from(["a = 1", "b", "", "-- a", "++ b", "@@ -1 +1 @@"]), max_size=8)


@given(LINES, LINES)
def test_a_diff_holds_both_sides_with_their_numbers(before: list[str], after: list[str]) -> None:
    diff = unified("x.py", "".join(f"{line}\n" for line in before),
                   "".join(f"{line}\n" for line in after))
    read = diff_lines(diff)
    for line in read:
        if line.old is not None:
            assert before[line.old - 1] == line.text
        if line.new is not None:
            assert after[line.new - 1] == line.text
    gone = [line.old for line in read if line.kind == "removed"]
    came = [line.new for line in read if line.kind == "added"]
    assert len(set(gone)) == len(gone)
    assert len(before) - len(gone) == len(after) - len(came)


def test_a_diff_is_read_line_by_line() -> None:
    read = diff_lines("--- a/x\n+++ b/x\n@@ -1,2 +1 @@\n--- a/x\n same\n")
    lines = [(line.kind, line.text) for line in read[3:]]
    assert lines == [("removed", "-- a/x"), ("same", "same")]

    read = diff_lines("@@ -1 +1 @@\n-return low + 1\n+return high + 1\n")
    assert read[1].pieces == (Piece("return "), Piece("low", True), Piece(" + 1"))
    assert read[2].pieces == (Piece("return "), Piece("high", True), Piece(" + 1"))

    read = diff_lines("@@ -1 +1 @@\n-x = {}\n+raise SystemExit(message)\n")
    assert [len(line.pieces) for line in read[1:]] == [1, 1]

    kept = diff_lines("@@ -1,2 +1,2 @@\n-a\n+b\n same\n\\ No newline at end of file\n")
    assert [line.kind for line in kept] == ["hunk", "removed", "added", "same"]
    changed = diff_lines(unified("x", "a\n", "a"))
    assert [line.kind for line in changed][-3:] == ["removed", "added", "note"]


def test_long_lines_that_changed_hold_nobody_up() -> None:
    words = random.Random(1)
    old, new = ("".join(
        " ".join(words.choices("ab", k=200)) + "\n" for _ in range(250)
    ) for _ in range(2))
    began = process_time()
    read = diff_lines(unified("x.py", f"return low\n{old}", f"return high\n{new}"))
    assert process_time() - began < 1
    assert read[3].pieces == (Piece("return "), Piece("low", True))
    assert len(read[-1].pieces) == 1


def test_what_stands_between_backticks_is_code_and_still_escaped() -> None:
    assert prose("`<b>` and `x") == "<code>&lt;b&gt;</code> and `x"
    assert prose("in 0.1 s, 20 ms and 3 sets") == "in 0.1\xa0s, 20\xa0ms and 3 sets"
