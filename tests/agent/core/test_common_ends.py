"""What two texts share at their ends."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from agent.core.common_ends import common_ends, common_start

LINES = st.lists(st.sampled_from(["a", "b", ""]), max_size=9)


@given(LINES, LINES)
def test_common_ends_are_equal_and_never_overlap(first: list[str], second: list[str]) -> None:
    start, tail = common_ends(first, second)
    rest, other = first[start:], second[start:]
    assert first[:start] == second[:start]
    assert rest[len(rest) - tail :] == other[len(other) - tail :]
    assert not rest or not other or rest[0] != other[0]
    left, right = rest[: len(rest) - tail], other[: len(other) - tail]
    assert not left or not right or left[-1] != right[-1]


@given(LINES, LINES)
def test_lines_text_and_bytes_are_compared_alike(first: list[str], second: list[str]) -> None:
    letters, others = ("".join(line or "c" for line in lines) for lines in (first, second))
    shared = common_start(first, second)
    assert common_start(letters, others) == shared
    assert common_start(letters.encode(), others.encode()) == shared
