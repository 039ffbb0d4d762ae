"""What all providers behind HTTP do with keys, addresses and the words of a fault."""

from datetime import UTC, datetime

import pytest

from llm import Secret, Usage
from llm.errors import CallFailed, Overloaded, ProviderDown, TimedOut
from llm.providers.wire import (
    BY_STATUS,
    NEXT_STEP,
    TOLD,
    Attempted,
    place,
    retry_after_s,
    scrubbed,
)

NOON = datetime(2026, 11, 22, 12, 0, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "30"}, 30.0),
        ({"retry-after": " 1.5 "}, 1.5),
        ({"retry-after": "-4"}, 0.0),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "inf"}, None),
        ({"retry-after": "30", "retry-after-ms": "1200"}, 1.2),
        ({"retry-after": "30", "retry-after-ms": "x"}, 30.0),
        ({"retry-after": "Sun, 22 Nov 2026 12:01:30 GMT"}, 90.0),
        ({"retry-after": "Sun, 22 Nov 2026 12:01:30 -0000"}, 90.0),
        ({"retry-after": "Sun, 22 Nov 2026 11:00:00 GMT"}, 0.0),
        ({"retry-after": "Sun, 99 Nov 2026 11:00:00 GMT"}, None),
    ],
)
def test_when_to_come_again(headers: dict[str, str], seconds: float | None) -> None:
    assert retry_after_s(headers, NOON) == seconds


def test_a_providers_words_are_one_short_line_without_the_key() -> None:
    key = Secret("sk-1")

    assert scrubbed("key\n  sk-1 is\tnot ours: sk-1.", key) == "key *** is not ours: ***."
    assert scrubbed("x" * 5_000, key) == "x" * TOLD + "…"
    assert scrubbed("x" * (TOLD - 2) + "sk-1", key).endswith("x**…")  # cut after, not before
    other = "gsk_" + "a1" * 10
    assert scrubbed(f"use {other} or c2stMQ==", key) == "use *** or c2stMQ=="
    assert scrubbed("all is said", Secret("")) == "all is said"


def test_an_address_is_told_without_its_secrets() -> None:
    assert place("https://me:pw@api.x.com:8443/v1/?token=t#f") == "https://api.x.com:8443/v1"
    assert place("http://127.0.0.1") == "http://127.0.0.1"


@pytest.mark.parametrize("started", [False, True])
def test_what_a_broken_transport_means_depends_on_how_far_the_call_had_come(started: bool) -> None:
    usage = Usage(5, 1) if started else None
    call = Attempted("http://there", Secret("sk-1"), started, usage)

    faults = [
        call.broken(fault, unreachable=(ConnectionError,), silent=(TimeoutError,))
        for fault in (ConnectionError("no sk-1"), TimeoutError(), ValueError("odd"))
    ]

    words = "broke off its answer" if started else "cannot be reached"
    odd = "broke off its answer" if started else "does not speak as it must"
    assert [(type(fault), str(fault)) for fault in faults] == [
        (ProviderDown, f"http://there {words} (ConnectionError: no ***)"),
        (TimedOut, "http://there sent nothing for too long (TimeoutError); come again later"),
        (ProviderDown, f"http://there {odd} (ValueError: odd)"),
    ]
    assert all((fault.started, fault.usage) == (started, usage) for fault in faults)


def test_every_fault_that_can_be_told_has_a_next_step() -> None:
    assert set(NEXT_STEP) == set(CallFailed.__subclasses__()) | {Overloaded}
    assert set(BY_STATUS.values()) <= set(NEXT_STEP)
