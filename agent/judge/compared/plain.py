"""Plain values as JSON, for a host that compares what a solution returned.

A closed part of what `codec` carries: only values whose types are exactly Python's own, no
identity, no class that would have to be found or imported. Whatever is not plain is judged in
the tests' process instead. The host rebuilds a value only where it has as many parts as the
expected one, so an answer made to be slow to rebuild is never rebuilt.

Wire form: `None`, `bool`, `str`, small `int` and finite `float` are themselves; all else is a
list whose first item is a tag.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from agent.judge.observed.codec import Encoder, Garbled, Unplain

TYPE_CHECKING = False
if TYPE_CHECKING:
    from agent.judge.observed.codec import Object, Wire

MOST_PARTS = 2_000
"""An expected value of more parts is compared in the tests' process."""
MOST_ITEMS = 20_000
MOST_TEXT = 200_000
MOST_DEPTH = 80
"""Each level costs two of the levels that a message to the host may have."""
SHOWN = 2_000
MOST_DIGITS = 3_000
"""Python itself refuses to write a number of many more hexadecimal digits in decimal ones."""

_MANY: dict[type, str] = {list: "l", tuple: "t", set: "s", frozenset: "z"}
_MAKERS: dict[str, Callable[[list[Object]], Object]] = {
    tag: kind for kind, tag in _MANY.items()
}


def encode(value: Object) -> Wire:
    """The wire form of a plain value; raises `Unplain` for any other."""
    return _Plain().encode(value)


class _Plain(Encoder):
    """Knows no object by an id, and no class but Python's own."""

    most_depth, most_items, most_text = MOST_DEPTH, MOST_ITEMS, MOST_TEXT

    def __init__(self) -> None:
        """It names nothing."""

    def _compound(self, value: Object, kind: type) -> Wire:
        if kind in _MANY:
            return [_MANY[kind], self._all(value)]
        if kind is dict:
            return ["d", self._all(part for pair in value.items() for part in pair)]
        if kind is bytearray:
            return ["ba", super()._compound(bytes(value), bytes)[1]]
        if kind is bytes or kind is complex:
            return super()._compound(value, kind)
        if value is Ellipsis:
            return ["e"]
        raise Unplain(f"a {kind.__name__}")


def decode(wire: Wire) -> Object:
    """The value of a wire form; raises `Garbled` for anything that `encode` does not make."""
    try:
        return _decoded(wire)
    except (ValueError, TypeError, OverflowError, RecursionError) as error:
        # A list as a key, digits that are none: nothing that is encoded so.
        raise Garbled(f"no plain value: {type(error).__name__}: {error}") from error


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
    raise Garbled("what is no plain value")


def parts(wire: Wire, most: int = MOST_PARTS) -> int:
    """How many values a wire form holds, itself included; counts no further than `most`."""
    count = 0
    left = [wire]
    while left and count <= most:
        one = left.pop()
        count += 1
        if isinstance(one, list) and len(one) == 2 and isinstance(one[1], list):
            left += one[1]
    return count


def differs(left: Object, right: Object) -> bool:
    """Whether equal values differ in a builtin type somewhere, as 3 and 3.0 do."""
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
    """The `repr` of a wire form's value, capped, without rebuilding it; raises `Garbled`."""
    text = ""
    try:
        for piece in _pieces(wire):
            text += piece
            if len(text) > SHOWN:
                return text[: SHOWN - 1] + "…"
    except (ValueError, TypeError, OverflowError, RecursionError) as error:
        raise Garbled(f"no plain value: {type(error).__name__}: {error}") from error
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
            # A quote far behind may change how the text is quoted; nobody looks there.
            yield repr(text[: SHOWN + 1])
        case ["i", str(text)] if len(text) > MOST_DIGITS:
            yield f"<an int of {len(text)} hexadecimal digits>"
        case ["b" | "ba" as tag, str(text)]:
            held = bytes.fromhex(text[: 2 * SHOWN])
            yield repr(held) if tag == "b" else repr(bytearray(held))
        case _:
            yield repr(_decoded(wire))


def _row(opening: str, items: Sequence[Wire], closing: str) -> Iterator[str]:
    for index, item in enumerate(items):
        yield ", " if index else opening
        yield from _pieces(item)
    yield closing if items else opening + closing
