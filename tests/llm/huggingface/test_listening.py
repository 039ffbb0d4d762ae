"""Tokens become whole characters; the format and memory of a model follow the hardware."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("torch")
import pytest

from llm.providers.huggingface.decoding import StreamDecoder
from llm.providers.huggingface.loading import Hardware

END = 256


def by_bytes(tokens: Sequence[int]) -> str:
    return bytes(tokens).decode("utf-8", "replace")


def heard(*chunks: Sequence[int], closing: str = "") -> tuple[list[str], StreamDecoder]:
    pieces: list[str] = []
    listener = StreamDecoder(by_bytes, {END}, pieces.append, closing)
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


T4 = Hardware("cuda", (7, 5))
A100 = Hardware("cuda", (8, 0))
OLD_CPU = Hardware("cpu", flags=frozenset({"avx2", "avx512f"}))
NEW_CPU = Hardware("cpu", flags=frozenset({"avx2", "amx_bf16"}))


@pytest.mark.parametrize(("hardware", "dtype", "lookup"), [
    (T4, "float16", 10),
    (A100, "bfloat16", 10),
    (OLD_CPU, "float32", 5),
    (NEW_CPU, "bfloat16", 10),
    (Hardware("cpu", flags=frozenset({"avx512_bf16"})), "bfloat16", 10),
    (Hardware("cpu"), "float32", 5),
])
def test_the_format_follows_the_hardware(hardware: Hardware, dtype: str, lookup: int) -> None:
    assert (hardware.dtype, hardware.lookup(four_bit=False)) == (dtype, lookup)


def test_four_bits_on_a_processor_make_verifying_dear() -> None:
    assert NEW_CPU.lookup(four_bit=True) == 5
    assert T4.lookup(four_bit=True) == 10
