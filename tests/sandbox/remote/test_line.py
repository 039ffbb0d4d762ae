"""Messages as lines."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox.remote.line import Assembler, TooLong, decode_message, encode_message, lines

TEXTS = st.lists(st.text(st.characters(min_codepoint=32, max_codepoint=126), max_size=40))


@given(TEXTS, st.integers(1, 50))
def test_messages_do_not_depend_on_how_they_are_cut(messages: list[str], size: int) -> None:
    whole = "".join(line for message in messages for line in lines(message)).encode()
    assembler = Assembler(len(whole))

    heard = [
        message
        for first in range(0, len(whole), size)
        for message in assembler.feed(whole[first : first + size])
    ]

    assert heard == messages


def test_lines_are_bounded_and_noise_is_no_message() -> None:
    message = "x" * 100_000

    sent = lines(message)

    assert len(sent) > 1 and max(map(len, sent)) < 16_500
    assert Assembler(200_000).feed("".join(sent).encode()) == [message]

    noise = b"Welcome!\r\n\xff\xfe\n@jailer\n@jail\n"

    assert Assembler(1000).feed(noise + b"@jail.hello\r\n" + noise) == ["hello"]

    assembler = Assembler(10)
    assembler.feed(b"12345")

    with pytest.raises(TooLong):
        assembler.feed(b"678901")

    assembler.renew()
    assert assembler.feed(b"\n") == []


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.text(), st.lists))
@pytest.mark.nightly
def test_values_for_the_supervisor_travel_whole(value: object) -> None:
    assert decode_message(encode_message(value)) == value
