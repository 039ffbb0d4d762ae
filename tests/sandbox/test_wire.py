"""What comes out of a jail is taken for messages only when it is messages."""

from __future__ import annotations

import json
import struct

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sandbox.inside.guest import END, MESSAGE, READY, RULE
from sandbox.talk.wire import Garbled, Inbox, Message, frame
from sandbox.types import SandboxError

values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats(allow_nan=False)
    | st.text(st.characters()),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


def packed(kind: int, body: bytes, count: int = 0) -> bytes:
    return struct.pack(">BII", kind, len(body), count) + body


def said(value: object, count: int = 0) -> bytes:
    body = json.dumps(value, ensure_ascii=False).encode("utf-8", "surrogatepass")
    return packed(MESSAGE, body, count)


@settings(deadline=None)
@given(st.lists(values, max_size=5), st.lists(st.integers(1, 40), min_size=1, max_size=10))
def test_messages_do_not_depend_on_how_their_bytes_are_cut(
    sent: list[object], sizes: list[int]
) -> None:
    inbox = Inbox(1_000_000)
    stream = packed(READY, b"") + b"".join(map(said, sent, range(9))) + packed(END, b"")

    while stream:
        for size in sizes:
            inbox.feed(stream[:size])
            stream = stream[size:]

    assert [message.value for message in inbox.messages] == sent
    assert [message.count for message in inbox.messages] == [*range(len(sent))]
    assert (inbox.ready, inbox.ended) == (True, True)


@settings(deadline=None)
@given(st.binary(max_size=200))
def test_any_bytes_are_messages_or_garbled(noise: bytes) -> None:
    inbox = Inbox(1000)

    try:
        inbox.feed(noise)
    except Garbled:
        return

    assert all(isinstance(message, Message) for message in inbox.messages)


@pytest.mark.parametrize(
    ("stream", "why"),
    [
        (packed(9, b""), "no message"),
        (packed(MESSAGE, b"{"), "not JSON"),
        (packed(MESSAGE, b"\xff"), "not JSON"),
        (packed(MESSAGE, b'{"a":1}}'), "not JSON"),
        (packed(END, b"") + said(1), "no message"),
        (struct.pack(">BII", MESSAGE, 1001, 0), "more than 1000 bytes"),
        (said("x" * 600) + said("x" * 600), "more than 1000 bytes"),
    ],
)
def test_what_is_no_message_within_the_limit_is_refused(stream: bytes, why: str) -> None:
    with pytest.raises(Garbled, match=why):
        Inbox(1000).feed(stream)


def test_a_message_nested_too_deep_is_refused() -> None:
    with pytest.raises(Garbled, match="deeper than 200"):
        Inbox(10_000).feed(packed(MESSAGE, b"[" * 300 + b"]" * 300))


def test_a_number_of_too_many_digits_is_refused() -> None:
    with pytest.raises(Garbled, match="not JSON"):
        Inbox(10_000).feed(packed(MESSAGE, b"9" * 5000))


def test_a_message_that_would_swell_in_memory_is_refused_unread() -> None:
    swelling = packed(MESSAGE, b"[" + b"[]," * 3_000_000 + b"[]]")

    with pytest.raises(Garbled, match="values"):
        Inbox(1_000_000_000).feed(swelling)


def test_a_renewed_inbox_takes_as_much_again() -> None:
    inbox = Inbox(150)
    inbox.feed(said("12345678"))

    inbox.renew()
    inbox.feed(said("abcdefgh"))

    assert [message.value for message in inbox.messages] == ["12345678", "abcdefgh"]


def test_what_is_no_json_value_cannot_be_sent_to_a_job() -> None:
    with pytest.raises(SandboxError, match="JSON"):
        frame(object())


def test_many_small_messages_cost_what_they_take_in_memory() -> None:
    inbox = Inbox(1_000_000)
    stream = said(0) * 1000

    with pytest.raises(Garbled, match="more than 1000000 bytes"):
        for _ in range(1000):
            inbox.feed(stream)

    assert len(inbox.messages) <= 10_000


def test_many_small_values_cost_what_they_take_in_memory() -> None:
    inbox = Inbox(1_000_000)

    with pytest.raises(Garbled, match="more than 1000000 bytes"):
        inbox.feed(said([[]] * 50_000))


@pytest.mark.parametrize("twice", [packed(READY, b""), packed(RULE, b"files")])
def test_what_is_said_once_is_not_said_again(twice: bytes) -> None:
    inbox = Inbox(1000)
    inbox.feed(twice)

    with pytest.raises(Garbled):
        inbox.feed(twice)
