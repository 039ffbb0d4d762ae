"""Encodes plain values as JSON, for a host that compares what a program returned.

Plain values have exactly builtin types, or those of the standard library for numbers and dates.
Nothing from a program is unpickled or evaluated, and the host rebuilds a value only if it has as
many parts as the expected one, so that no answer is slow to rebuild.

Wire form: `None`, `bool`, `str`, small `int` and finite `float` are themselves; any other value is
a list whose first item is a tag.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    # A wire value is JSON, an object any value; both are checked where they are used.
    Wire = Any
    Object = Any

SMALL_INT = 2**53
MAX_PARTS = 2_000
"""An expected value with more parts is compared in a plain run."""
MAX_ITEMS = 20_000
MAX_TEXT = 200_000
MAX_DEPTH = 80
"""Each level uses two levels of a message to the host, whose depth is limited."""
MAX_SHOWN_CHARS = 2_000
MAX_DIGITS = 3_000
"""Hexadecimal digits; Python limits the conversion of longer numbers to decimal."""

LIBRARY = {"Decimal": "decimal", "Fraction": "fractions"} | dict.fromkeys(
    ("date", "time", "datetime", "timedelta"), "datetime"
)
"""The library's classes of plain values, whose names are their tags, with their modules."""
_CONTAINERS: dict[type, str] = {list: "l", tuple: "t", set: "s", frozenset: "z"}
_MAKERS: dict[str, Callable[[list[Object]], Object]] = {
    tag: kind for kind, tag in _CONTAINERS.items()
}
_FEW = 32
"""Longer lists are checked for being all small ints, which need no encoding."""


class Unplain(ValueError):
    """A value is not plain, or too deep or too large to encode."""


class BadWireForm(Exception):
    """A message is not a valid wire form."""


def encode(value: Object) -> Wire:
    """The wire form of a plain value; raises `Unplain`, or another `ValueError`, for any other."""
    return _Encoder().encode(value)


class _Encoder:
    _depth = _items = _text = 0

    def encode(self, value: Object) -> Wire:
        self._count(1)
        kind = type(value)
        if value is None or kind is bool:
            return value
        if kind is str:
            self._count(0, len(value))
            return value
        if kind is int:
            if -SMALL_INT < value < SMALL_INT:
                return value
            self._count(0, value.bit_length() // 4)
            return ["i", hex(value)]
        if kind is float:
            # nan and the infinities have no JSON form.
            return value if value - value == 0 else ["f", value.hex()]
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise Unplain(f"a value is nested more than {MAX_DEPTH} levels deep")
        try:
            return self._compound(value, kind)
        finally:
            self._depth -= 1

    def _compound(self, value: Object, kind: type) -> Wire:
        if kind in _CONTAINERS:
            return [_CONTAINERS[kind], self._all(value)]
        if kind is dict:
            return ["d", self._all(part for pair in value.items() for part in pair)]
        if kind is bytes or kind is bytearray:
            self._count(0, len(value) * 2)
            return ["b" if kind is bytes else "ba", value.hex()]
        if kind is complex:
            return ["c", value.real.hex(), value.imag.hex()]
        if value is Ellipsis:
            return ["e"]
        for name, module in LIBRARY.items():
            # No import: a program has no values of modules that are not loaded.
            if kind is getattr(sys.modules.get(module), name, None):
                text = str(value // value.resolution if name == "timedelta" else value)
                self._count(0, len(text))
                if len(text) > MAX_DIGITS or "sNaN" in text:
                    raise Unplain(f"a {name} that is signalling NaN, or has too many digits")
                return [name, text]
        raise Unplain(f"a {kind.__name__}")

    def _all(self, values: Iterable[Object]) -> list[Wire]:
        items = list(values)
        if len(items) > _FEW and set(map(type, items)) == {int} and (
            min(items) > -SMALL_INT and max(items) < SMALL_INT
        ):
            self._count(len(items))
            return items
        return [self.encode(item) for item in items]

    def _count(self, items: int, text: int = 0) -> None:
        self._items += items
        self._text += text
        if self._items > MAX_ITEMS or self._text > MAX_TEXT:
            raise Unplain(f"a value has more than {MAX_ITEMS:,} items, or {MAX_TEXT:,} characters")


def decode(wire: Wire) -> Object:
    """The value of a wire form; raises `BadWireForm` for anything that `encode` does not make."""
    try:
        return _decoded(wire)
    except (ValueError, TypeError, ArithmeticError, RecursionError) as error:
        raise BadWireForm(f"not a plain value: {type(error).__name__}: {error}") from error


def _decoded(wire: Wire) -> Object:
    if wire is None or isinstance(wire, bool | str | int | float):
        return wire
    match wire:
        case ["l" | "t" | "s" | "z" as tag, list(items)]:
            return _MAKERS[tag]([_decoded(item) for item in items])
        case ["d", list(flat)]:
            items = [_decoded(part) for part in flat]
            return dict(zip(items[::2], items[1::2], strict=True))
        case ["i", str(text)]:
            return int(text, 16)
        case ["f", str(text)]:
            return float.fromhex(text)
        case ["c", str(real), str(imaginary)]:
            return complex(float.fromhex(real), float.fromhex(imaginary))
        case ["b", str(text)]:
            return bytes.fromhex(text)
        case ["ba", str(text)]:
            return bytearray.fromhex(text)
        case ["e"]:
            return Ellipsis
        case [str(name), str(text)] if name in LIBRARY and len(text) <= MAX_DIGITS and (
            name != "Fraction" or "e" not in text.lower()
        ):
            kind = getattr(__import__(LIBRARY[name]), name)
            read = getattr(kind, "fromisoformat", kind)
            value = kind(0, 0, int(text)) if name == "timedelta" else read(text)
            if encode(value) == wire:
                return value
    raise BadWireForm("not a plain value")


def parts(wire: Wire, most: int = MAX_PARTS) -> int:
    """The number of values in a wire form, itself included; stops counting after `most`."""
    count = 0
    left = [wire]
    while left and count <= most:
        one = left.pop()
        count += 1
        if isinstance(one, list) and len(one) == 2 and isinstance(one[1], list):
            left += one[1]
    return count


def differs(left: Object, right: Object) -> bool:
    """Whether equal values differ in a builtin type at any depth, as 3 and 3.0 do."""
    if type(left) not in _PLAIN or type(right) not in _PLAIN:
        return False
    if type(left) is not type(right):
        return True
    if isinstance(left, (list, tuple)):
        return any(map(differs, left, right))
    if isinstance(left, dict):
        keys = {key: key for key in right}
        return any(
            differs(key, keys[key]) or differs(item, right[key])
            for key, item in left.items() if key in keys
        )
    if isinstance(left, (set, frozenset)):
        members = {item: item for item in right}
        return any(differs(item, members[item]) for item in left if item in members)
    return False


_PLAIN = (bool, int, float, complex, str, bytes, bytearray, list, tuple, dict, set, frozenset)


def shown(wire: Wire) -> str:
    """The `repr` of a wire form's value, capped, without rebuilding it; raises `BadWireForm`."""
    text = ""
    try:
        for piece in _pieces(wire):
            text += piece
            if len(text) > MAX_SHOWN_CHARS:
                return text[: MAX_SHOWN_CHARS - 1] + "…"
    except (ValueError, TypeError, ArithmeticError, RecursionError) as error:
        raise BadWireForm(f"not a plain value: {type(error).__name__}: {error}") from error
    return text


def _pieces(wire: Wire) -> Iterator[str]:
    match wire:
        case ["l", list(items)]:
            yield from _row("[", items, "]")
        case ["t", list(items)]:
            yield from _row("(", items, ",)" if len(items) == 1 else ")")
        case ["s" | "z" as tag, []]:
            yield "set()" if tag == "s" else "frozenset()"
        case ["s", list(items)]:
            yield from _row("{", items, "}")
        case ["z", list(items)]:
            yield from _row("frozenset({", items, "})")
        case ["d", list(flat)]:
            for index, part in enumerate(flat):
                yield ": " if index % 2 else ", " if index else "{"
                yield from _pieces(part)
            yield "}" if flat else "{}"
        case str(text):
            # A quote in the cut part could change how `repr` quotes the text, which is harmless.
            yield repr(text[: MAX_SHOWN_CHARS + 1])
        case ["i", str(text)] if len(text) > MAX_DIGITS:
            yield f"<an int of {len(text)} hexadecimal digits>"
        case ["b" | "ba" as tag, str(text)]:
            held = bytes.fromhex(text[: 2 * MAX_SHOWN_CHARS])
            yield repr(held) if tag == "b" else repr(bytearray(held))
        case _:
            yield repr(_decoded(wire))


def _row(opening: str, items: Sequence[Wire], closing: str) -> Iterator[str]:
    for index, item in enumerate(items):
        yield ", " if index else opening
        yield from _pieces(item)
    yield closing if items else opening + closing
