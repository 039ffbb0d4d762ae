"""Plain values cross to the host as they are, and nothing else is rebuilt there."""

from __future__ import annotations

import contextlib
import json
import math
import sys
import time as clock
import types
from collections import OrderedDict
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.verify.examples.plain_values import (
    MAX_DEPTH,
    BadWireForm,
    Unplain,
    decode,
    differs,
    encode,
    parts,
    shown,
)

ZONES = st.sampled_from([None, UTC])
OF_LIBRARY = st.one_of(
    st.decimals().filter(lambda one: not one.is_snan()), st.fractions(), st.dates(),
    st.times(timezones=ZONES), st.datetimes(timezones=ZONES), st.timedeltas(),
).filter(lambda one: not getattr(one, "fold", 0))
SCALARS = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.text(), st.binary(),
    st.complex_numbers(), st.just(...), OF_LIBRARY,
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
    assert back == value or "nan" in repr(value).lower()
    assert not differs(back, value) or _sets(value) or "nan" in repr(value).lower()


def _sets(value: Any) -> bool:
    return "{" in repr(value)


@given(VALUES)
def test_what_is_shown_is_the_repr(value: Any) -> None:
    whole = repr(value)
    seen = shown(encode(value))
    assert seen == whole or (len(whole) > 2000 and len(seen) == 2000) or _sets(value)


@given(OF_LIBRARY)
def test_a_number_or_date_of_the_library_comes_back_as_it_was(value: Any) -> None:
    wire = json.loads(json.dumps(encode(value)))
    back = decode(wire)
    assert (type(back), repr(back), shown(wire)) == (type(value), repr(value), repr(value))
    assert parts(wire) == 1


def test_numbers_stay_what_they_are() -> None:
    assert decode(encode(Decimal("19.0"))) == Decimal("19.00")
    assert decode(encode(Fraction(4, 2))) == 2
    assert decode(encode(datetime(2024, 2, 29))) != date(2024, 2, 29)
    there = datetime(2024, 1, 1, 2, tzinfo=timezone(timedelta(hours=2), "there"))
    assert decode(encode(there)) == datetime(2024, 1, 1, tzinfo=UTC)

    assert math.isnan(decode(encode(math.nan)))
    assert math.copysign(1, decode(encode(-0.0))) == -1
    assert decode(encode(math.inf)) == math.inf
    assert decode(encode(2**80)) == 2**80
    assert type(decode(encode(True))) is bool

    assert shown(encode(1 << 100_000)) == "<an int of 25003 hexadecimal digits>"

    with pytest.raises(ValueError, match="digits"):
        encode(Fraction(1, 10**5000))


def test_a_class_of_the_program_is_not_taken_for_the_librarys() -> None:
    namespace = types.ModuleType("decimal")
    exec("class Decimal:\n    def __str__(self): return '1'\n", namespace.__dict__)
    with pytest.raises(Unplain):
        encode(namespace.Decimal())


def test_no_module_is_loaded_to_look_for_a_class(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("decimal", "fractions", "datetime"):
        monkeypatch.delitem(sys.modules, name)
    with pytest.raises(Unplain):
        encode(object())
    assert not {"decimal", "fractions", "datetime"} & sys.modules.keys()


class Int(int):
    pass


class Day(date):
    pass


@pytest.mark.parametrize("value", [
    object(), Int(3), Decimal("sNaN"), Day(2024, 1, 1), Fraction(1, 10**4000),
    Decimal("1" * 4000), OrderedDict(), range(3), [Int(3)], {1: object()}, int, len,
    "x" * 300_000, [0] * 30_000, 1 << 3_000_000,
], ids=lambda value: type(value).__name__)
def test_only_plain_values_are_encoded(value: Any) -> None:
    with pytest.raises(Unplain):
        encode(value)


def test_only_bounded_nesting_is_encoded() -> None:
    cycle: list[Any] = []
    cycle.append(cycle)
    deep: Any = 0
    for _ in range(MAX_DEPTH + 1):
        deep = {0: deep}
    for value in (cycle, deep):
        with pytest.raises(Unplain, match="nested"):
            encode(value)

    deep: Any = 0
    for _ in range(MAX_DEPTH):
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
    ["Decimal", ""], ["Decimal", "1,5"], ["Decimal", "sNaN"], ["Decimal", "1" * 100_000],
    ["Decimal", "1e9999999999999999999999"], ["Decimal", 1], ["Decimal", ["0", "1"]],
    ["Fraction", "1/0"], ["Fraction", "2/4"], ["Fraction", "1e999999999"], ["Fraction", "1/2/3"],
    ["Fraction", "1" * 5000], ["date", "2024-02-30"], ["date", "2024-W01-1"], ["date", "x"],
    ["datetime", "2024-01-01"], ["datetime", "2024-01-01 00:00:00+99:00"], ["time", "25:00:00"],
    ["timedelta", "9" * 2000], ["timedelta", "1.5"], ["timedelta", ""], ["tzinfo", "utc"],
    ["timedelta", "9" * 5000], ["date", "2024-01-01", 1],
], ids=str)
def test_what_no_encoder_made_is_garbled(wire: Any) -> None:
    with pytest.raises(BadWireForm):
        decode(wire)
    with contextlib.suppress(BadWireForm):  # it is only looked at, so what can be shown is
        assert isinstance(shown(wire), str)


def test_absurd_exponents_take_no_time() -> None:
    begun = clock.monotonic()
    big, small = (decode(["Decimal", f"1E{sign}999999999"]) for sign in "+-")
    assert big != 1 and small != 0.5 and big != Fraction(1, 3) and hash(big) and hash(small)
    assert shown(encode(big)) == "Decimal('1E+999999999')"
    assert clock.monotonic() - begun < 1


def test_values_that_are_equal_have_equally_many_parts() -> None:
    assert parts(encode([1, (2, {3}), {4: [5]}])) == 10
    assert parts(encode(list(range(9_000))), most=100) > 100
