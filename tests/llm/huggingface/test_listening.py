"""Tokens become whole characters, and nothing behind the end is heard."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("torch")
from llm.providers.huggingface.decoding import Listener

END = 256


def by_bytes(tokens: Sequence[int]) -> str:
    return bytes(tokens).decode("utf-8", "replace")


def heard(*chunks: Sequence[int], closing: str = "") -> tuple[list[str], Listener]:
    pieces: list[str] = []
    listener = Listener(by_bytes, {END}, pieces.append, closing)
    for chunk in chunks:
        listener.hear(chunk)
    return pieces, listener


@settings(max_examples=50)
@given(st.text())
def test_a_text_comes_through_byte_by_byte_and_no_character_is_halved(text: str) -> None:
    pieces, listener = heard(*([byte] for byte in text.encode()), [END])

    # A text's own mark of brokenness is shown once something follows it.
    assert "".join(pieces) == text.rstrip("\ufffd")
    assert "\ufffd" in text or not any("\ufffd" in piece for piece in pieces)
    assert listener.finish == "stop"


def test_a_character_that_was_cut_is_not_shown() -> None:
    pieces, listener = heard([111, 107], "é".encode()[:1])

    assert (pieces, listener.finish, listener.tokens) == (["o", "k"], None, 3)


def test_what_stands_behind_the_end_in_one_forward_is_not_heard() -> None:
    pieces, listener = heard([97, END, 98, END])

    assert (pieces, listener.finish, listener.tokens) == (["a"], "stop", 2)


@pytest.mark.parametrize("width", [1, 3, 1_000])
def test_an_answer_ends_with_the_closing_of_its_frame(width: int) -> None:
    closing = "\n```"
    written = f"x = '```'{closing}\nAnd more.{closing}".encode()
    chunks = [written[at:at + width] for at in range(0, len(written), width)]
    pieces, listener = heard(*chunks, closing=closing)
    assert ("".join(pieces), listener.finish) == (f"x = '```'{closing}", "stop")
