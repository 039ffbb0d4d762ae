"""Texts encoded by their difference from a base text."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from agent.search.precheck.changes import change, changed

TEXTS = st.text(alphabet="ab\n\ud800é", max_size=12)


@given(TEXTS, TEXTS)
def test_a_change_reproduces_the_text(base: str, text: str) -> None:
    assert changed(base, change(base, text)) == text
