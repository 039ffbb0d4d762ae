"""Plain values cross to the host as they are, and nothing else is rebuilt there."""

from __future__ import annotations

import contextlib
import json
import math
from collections import OrderedDict
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.judge.compared.plain import (
    MOST_DEPTH,
    Garbled,
    Unplain,
    decode,
    differs,
    encode,
    parts,
    shown,
)

SCALARS = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.text(), st.binary(),
    st.complex_numbers(), st.just(...),
)
HASHABLE = st.recursive(
    SCALARS, lambda inner: st.one_of(
        st.lists(inner, max_size=4).map(tuple), st.frozensets(inner, max_size=4)
    ), max_leaves=6,
)
VALUES = st.recursive(
    st.one_of(HASHABLE, st.binary().map(bytearray)), lambda inner: st.one_of(
        st.lists(inner, max_size=4), st.dictionaries(HASHABLE, inner, max_size=4),
        st.sets(HASHABLE, max_size=4), st.lists(inner, max_size=4).map(tuple),
    ), max_leaves=12,
)


@given(VALUES)
def test_a_plain_value_comes_back_with_its_types_and_order(value: Any) -> None:
    wire = json.loads(json.dumps(encode(value)))
    back = decode(wire)
    assert repr(back) == repr(value) or _sets(value)
    assert back == value or "nan" in repr(value)
    assert not differs(back, value) or _sets(value) or "nan" in repr(value)


def _sets(value: Any) -> bool:
    return "{" in repr(value)


@given(VALUES)
def test_what_is_shown_is_the_repr(value: Any) -> None:
    whole = repr(value)
    seen = shown(encode(value))
    assert seen == whole or (len(whole) > 2000 and len(seen) == 2000) or _sets(value)


class Int(int):
    pass


@pytest.mark.parametrize("value", [
    object(), Int(3), Decimal(1), OrderedDict(), range(3), [Int(3)], {1: object()}, int, len,
    "x" * 300_000, [0] * 30_000, 1 << 3_000_000,
], ids=lambda value: type(value).__name__)
def test_what_is_not_plain_is_not_told(value: Any) -> None:
    with pytest.raises(Unplain):
        encode(value)


def test_a_cycle_and_a_deep_value_are_not_told() -> None:
    cycle: list[Any] = []
    cycle.append(cycle)
    deep: Any = 0
    for _ in range(MOST_DEPTH + 1):
        deep = {0: deep}
    for value in (cycle, deep):
        with pytest.raises(Unplain, match="nested"):
            encode(value)


def test_the_deepest_value_fits_into_a_message() -> None:
    deep: Any = 0
    for _ in range(MOST_DEPTH):
        deep = {0: deep}
    text = json.dumps({"value": encode(deep)})
    assert max(_depths(text)) <= 200


def _depths(text: str) -> list[int]:
    depth, seen = 0, []
    for char in text:
        depth += (char in "[{") - (char in "]}")
        seen.append(depth)
    return seen


@pytest.mark.parametrize("wire", [
    [], ["l"], ["l", 5], ["x", []], ["d", [1]], ["d", [["l", []], 1]], ["s", [["l", []]]],
    ["i", "zz"], ["f", "zz"], ["b", "zz"], ["c", "0x1p0"], {"a": 1}, ["l", [{}]], ["i", 5],
    ["g", "builtins.int"], ["D", "1"], ["np", "x", []],
], ids=str)
def test_what_no_encoder_made_is_garbled(wire: Any) -> None:
    with pytest.raises(Garbled):
        decode(wire)
    with contextlib.suppress(Garbled):  # it is only looked at, so what can be shown is
        assert isinstance(shown(wire), str)


def test_numbers_keep_what_they_are() -> None:
    assert math.isnan(decode(encode(math.nan)))
    assert math.copysign(1, decode(encode(-0.0))) == -1
    assert decode(encode(math.inf)) == math.inf
    assert decode(encode(2**80)) == 2**80
    assert type(decode(encode(True))) is bool


def test_a_number_of_too_many_digits_is_described() -> None:
    assert shown(encode(1 << 100_000)) == "<an int of 25003 hexadecimal digits>"


def test_values_that_are_equal_have_equally_many_parts() -> None:
    assert parts(encode([1, (2, {3}), {4: [5]}])) == 10
    assert parts(encode(list(range(9_000))), most=100) > 100
