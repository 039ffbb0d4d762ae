"""Texts encoded by their difference from a base text."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from agent.search.precheck.changes import change, changed

TEXTS = st.text(alphabet="ab\n\ud800é", max_size=12)


@given(TEXTS, TEXTS)
def test_what_is_told_makes_the_text_again(base: str, text: str) -> None:
    assert changed(base, change(base, text)) == text


def test_a_change_has_only_the_difference() -> None:
    base = "".join(f"def f{n}():\n    return {n} + 1\n" for n in range(1_000))
    text = base.replace("return 500 + 1", "return 500 - 1")
    start, end, own = change(base, text)
    assert (base[start:end], own) == ("+", "-")
