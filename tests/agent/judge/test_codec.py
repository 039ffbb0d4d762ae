"""Plain values come back equal and of the same type; nothing else comes back at all."""

from __future__ import annotations

import datetime
import json
import math
import zoneinfo
from collections import Counter, OrderedDict, defaultdict, deque
from decimal import Decimal
from fractions import Fraction
from pathlib import PurePosixPath
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.judge.observed.codec import Decoder, Encoder, Garbled, Unplain
from agent.judge.observed.sharing import Table


def _refuse(*_: object) -> Any:
    raise Garbled("not plain")


def _cross(value: object) -> Any:
    wire = Encoder(Table("s"), _refuse).encode(value)
    return Decoder(Table("t"), _refuse).value(json.loads(json.dumps(wire)))


def _same(left: Any, right: Any) -> bool:
    if type(left) is not type(right):
        return False
    if isinstance(left, float):
        return left.hex() == right.hex()
    if isinstance(left, (list, tuple, deque)):
        return len(left) == len(right) and all(map(_same, left, right))
    if isinstance(left, dict):
        return len(left) == len(right) and all(map(_same, left.items(), right.items()))
    return bool(left == right)


scalars = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.text(), st.binary(),
    st.decimals(allow_nan=False), st.fractions(), st.datetimes(timezones=st.timezones()),
    st.dates(), st.timedeltas(), st.uuids(), st.characters(categories=["Cs"]),
    st.complex_numbers(allow_nan=False),
)
values = st.recursive(
    scalars,
    lambda inner: st.one_of(
        st.lists(inner), st.tuples(inner, inner),
        st.dictionaries(st.text() | st.integers() | st.tuples(st.integers()), inner),
        st.sets(st.integers() | st.text()), st.frozensets(st.integers()),
        st.lists(inner).map(deque),
    ),
    max_leaves=20,
)


@given(values)
def test_a_plain_value_comes_back_the_same(value: object) -> None:
    assert _same(_cross(value), value)


@pytest.mark.parametrize("value", [
    float("nan"), -0.0, math.inf, 2**70, -(2**53), "\ud800", bytearray(b"x"), range(1, 9, 2),
    slice(1, None), ..., Counter("aab"), OrderedDict([("b", 1), ("a", 2)]), deque([1], maxlen=3),
    Decimal("-0.00"), Fraction(1, 3), PurePosixPath("a/b"), UUID(int=5),
    datetime.UTC, datetime.time(1, 2, tzinfo=datetime.UTC),
    datetime.datetime(2024, 10, 27, 2, 30, fold=1), zoneinfo.ZoneInfo("Europe/Berlin"),
])
def test_an_unusual_plain_value_comes_back_the_same(value: object) -> None:
    assert _same(_cross(value), value) or repr(_cross(value)) == repr(value)


def test_a_defaultdict_keeps_its_factory() -> None:
    back = _cross(defaultdict(list, a=[1]))
    back["b"].append(2)
    assert back == {"a": [1], "b": [2]}


def test_a_cycle_comes_back_as_a_cycle() -> None:
    value: list[Any] = [1]
    value.append(value)
    back = _cross(value)
    assert back[1] is back


def test_one_list_in_two_places_comes_back_as_one() -> None:
    inner = [1]
    first, second = _cross([inner, inner])
    assert first is second


@pytest.mark.parametrize("kind", ["number", "text", "list"])
def test_what_is_too_large_is_named(kind: str) -> None:
    value = {"number": 1 << 10**9, "text": "x" * 40_000_000, "list": [0] * 3_000_000}[kind]
    with pytest.raises(Unplain, match="more than"):
        _cross(value)


def test_what_is_too_deep_is_named() -> None:
    value: list[Any] = []
    for _ in range(500):
        value = [value]
    with pytest.raises(Unplain, match="nested more than"):
        _cross(value)


@pytest.mark.parametrize("wire", [
    ["g", "unittest.mock._ANY"], ["g", "os.system"], ["zz", 1], [], {"a": 1}, ["@", "s1"],
    ["l", "t1", []], ["l", 5, []], ["i", "not a number"], ["t"], ["k", "exit"], ["v", "x.P", "/"],
    ["v", "uuid.UUID", ["t", []]], ["v", "decimal.Decimal", "x"],
    [["l"], 1], ["f", "zz"],
])
def test_what_is_no_value_is_refused(wire: Any) -> None:
    with pytest.raises(Exception):  # noqa: B017 - any exception ends the link
        Decoder(Table("t"), _refuse).value(wire)
