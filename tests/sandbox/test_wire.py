"""What comes out of a jail is taken for messages only when it is messages."""

from __future__ import annotations

import json
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox.inside.guest import END, MESSAGE, READY, RULE
from sandbox.protocol.wire import Inbox, InvalidMessage, JailMessage, frame
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


@given(st.lists(values, max_size=5), st.lists(st.integers(1, 40), min_size=1, max_size=10))
def test_messages_survive_any_cut_of_their_bytes(sent: list[object], sizes: list[int]) -> None:
    inbox = Inbox(1_000_000)
    stream = packed(READY, b"") + b"".join(map(said, sent, range(9))) + packed(END, b"")

    while stream:
        for size in sizes:
            inbox.feed(stream[:size])
            stream = stream[size:]

    assert [message.value for message in inbox.messages] == sent
    assert [message.count for message in inbox.messages] == [*range(len(sent))]
    assert (inbox.ready, inbox.ended) == (True, True)


@given(st.binary(max_size=200))
def test_any_bytes_are_messages_or_garbled(noise: bytes) -> None:
    inbox = Inbox(1000)

    try:
        inbox.feed(noise)
    except InvalidMessage:
        return

    assert all(isinstance(message, JailMessage) for message in inbox.messages)


@pytest.mark.parametrize(
    ("most_bytes", "stream", "why"),
    [
        (1_000, packed(9, b""), "not a message"),
        (1_000, packed(MESSAGE, b"{"), "not JSON"),
        (1_000, packed(MESSAGE, b"\xff"), "not JSON"),
        (1_000, packed(MESSAGE, b'{"a":1}}'), "not JSON"),
        (1_000, packed(END, b"") + said(1), "not a message"),
        (1_000, packed(READY, b"") * 2, "not a message"),
        (1_000, packed(RULE, b"manners"), "not a message"),
        (1_000, packed(RULE, b"files") * 11, "more than 1000 bytes"),
        (1_000, struct.pack(">BII", MESSAGE, 1001, 0), "more than 1000 bytes"),
        (1_000, said("x" * 600) + said("x" * 600), "more than 1000 bytes"),
        (10_000, packed(MESSAGE, b"[" * 300 + b"]" * 300), "deeper than 200"),
        (10_000, packed(MESSAGE, b"9" * 5000), "not JSON"),
        # What takes more in memory than on the wire: refused unread, and charged for that.
        (1_000_000_000, packed(MESSAGE, b"[" + b"[]," * 3_000_000 + b"[]]"), "values"),
        (1_000_000, said([[]] * 50_000), "more than 1000000 bytes"),
    ],
    ids=range(14),
)
def test_an_invalid_message_is_refused(most_bytes: int, stream: bytes, why: str) -> None:
    with pytest.raises(InvalidMessage, match=why):
        Inbox(most_bytes).feed(stream)


def test_each_copy_of_a_job_may_tell_that_it_met_a_rule() -> None:
    inbox = Inbox(1_000)

    inbox.feed(packed(RULE, b"files") + said(1) + packed(RULE, b"files") + said(2))

    assert inbox.rules == {"files"}
    assert [message.value for message in inbox.messages] == [1, 2]


def test_an_inbox_counts_what_messages_take() -> None:
    inbox = Inbox(150)
    inbox.feed(said("12345678"))

    inbox.renew()
    inbox.feed(said("abcdefgh"))

    assert [message.value for message in inbox.messages] == ["12345678", "abcdefgh"]

    inbox = Inbox(1_000_000)
    stream = said(0) * 1000

    with pytest.raises(InvalidMessage, match="more than 1000000 bytes"):
        for _ in range(1000):
            inbox.feed(stream)

    assert len(inbox.messages) <= 10_000


def test_what_is_no_json_value_cannot_be_sent_to_a_job() -> None:
    with pytest.raises(SandboxError, match="JSON"):
        frame(object())
