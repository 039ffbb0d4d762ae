"""Compares the plain contents of two values without their own comparison methods.

Methods of builtin types are looked up before a program is loaded, so that it cannot replace them.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

MOST = 10_000
_NUMBERS = (int, float, complex)
_ORDERED = (list, tuple)
_SETS = (set, frozenset)
_BASES = (str, bytes, *_ORDERED, *_SETS, dict, *_NUMBERS)
_FOLD = str.casefold
_NEAR = 1e-6
"""Relative difference up to which numbers count as equal."""


def contents_differ(one: Any, another: Any) -> bool:
    """Whether two values of plain types, or of subclasses, have different contents.

    Values of other types count as equal.
    """
    pending, count = [(one, another)], 0
    while pending and count < MOST:
        left, right = pending.pop()
        count += 1
        base, other_base = _base(left), _base(right)
        if base is None or other_base is None:
            continue
        if base in _NUMBERS and other_base in _NUMBERS:
            if not _near(_READ[base](left), _READ[other_base](right)):
                return True
            continue
        if _form(base) is not _form(other_base):
            return True
        inside = _READ[base](left), _READ[other_base](right)
        if base is dict:
            if inside[0].keys() != inside[1].keys():
                return True
            pending += [(value, inside[1][key]) for key, value in inside[0].items()]
        elif base in _ORDERED:
            if len(inside[0]) != len(inside[1]):
                return True
            pending += zip(*inside, strict=True)
        elif base in _SETS:
            plain = all(type(part) in _BASES for part in (*inside[0], *inside[1]))
            if plain and inside[0] != inside[1]:
                return True
        elif inside[0] != inside[1] and not _differ_in_case(left, right, *inside):
            return True
    return False


def _differ_in_case(left: Any, right: Any, one: Any, another: Any) -> bool:
    """Whether texts, one of them of a subclass of `str`, differ only in case."""
    is_subclass = any(isinstance(value, str) and type(value) is not str for value in (left, right))
    return is_subclass and _FOLD(one) == _FOLD(another)


def _base(value: Any) -> type | None:
    kind = type(value)
    return next((base for base in _BASES if issubclass(kind, base)), None)


def _form(base: type) -> type:
    return list if base in _ORDERED else set if base in _SETS else base


def _near(one: complex, another: complex) -> bool:
    if isinstance(one, complex) or isinstance(another, complex):
        return one == another or abs(one - another) <= _NEAR * max(abs(one), abs(another))
    if isinstance(one, int) and isinstance(another, int):
        return one == another
    try:
        if math.isnan(one) and math.isnan(another):
            return True
        return math.isclose(one, another, rel_tol=_NEAR, abs_tol=_NEAR)
    except OverflowError:
        return one == another


def _reader(reads: Callable[[Any], Any], public: Callable[[Any], Any], *names: str) -> (
    Callable[[Any], Any]
):
    """Reads an object by its base's methods, or by its own where its class overrides `names`."""
    def read(value: Any) -> Any:
        bases = (*_BASES, object)
        classes = [one for one in type(value).__mro__ if one not in bases]
        return public(value) if any(name in vars(kind) for kind in classes for name in names) else (
            reads(value)
        )

    return read


_READ: dict[type, Callable[[Any], Any]] = {
    str: str.__str__,
    bytes: lambda value: bytes.__getitem__(value, slice(None)),
    int: int.__int__,
    float: float.__float__,
    complex: lambda value: complex.__add__(value, 0j),
    list: _reader(lambda value: [*list.__iter__(value)], lambda value: [*value], "__iter__"),
    tuple: _reader(lambda value: [*tuple.__iter__(value)], lambda value: [*value], "__iter__"),
    set: _reader(lambda value: {*set.__iter__(value)}, lambda value: {*value}, "__iter__"),
    frozenset: _reader(
        lambda value: {*frozenset.__iter__(value)}, lambda value: {*value}, "__iter__"
    ),
    dict: _reader(
        lambda value: {key: dict.__getitem__(value, key) for key in dict.__iter__(value)},
        lambda value: {key: value[key] for key in value},
        "__iter__", "__getitem__", "items", "keys", "values", "__setitem__",
    ),
}
