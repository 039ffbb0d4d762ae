"""Values as JSON: what crosses between the process of the tests and that of the solution.

Only plain values are ever rebuilt: the builtins and a few closed classes of the standard
library. Nothing is unpickled, evaluated or imported because the other side says so; a message
of any other shape is `Garbled`. Whatever is not plain is handed to the `refer` hook, which
keeps the object where it is and sends a name for it.

Wire form: `None`, `bool`, `str`, small `int` and finite `float` are themselves; all else is a
list whose first item is a tag. Mutable containers carry an object id, so both sides can keep
them equal; a repeated or cyclic mention is `["@", id]`.

    CodecError
      Unplain   a value cannot cross: nested too deeply, or too large
      Garbled   a message is not of this form
"""

from __future__ import annotations

import importlib
import sys
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Callable, Iterable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from agent.judge.observed.sharing import Table

    # A wire value is JSON, an object anything at all; both are checked where they are used.
    Wire = Any
    Object = Any

SMALL_INT = 2**53


class CodecError(Exception):
    """A value or a message that cannot cross."""


class Unplain(CodecError):
    """A value is too deep or too large to cross."""


class Garbled(CodecError):
    """A message is not of our form."""


DICTS: dict[str, type] = {
    "d": dict, "od": OrderedDict, "dd": defaultdict, "ct": Counter,
}
MUTABLE: dict[type, str] = {
    list: "l", set: "s", bytearray: "ba", deque: "q",
    **{kind: tag for tag, kind in DICTS.items()},
}
"""Containers that both sides keep equal, and their tags."""

_BUILTINS: tuple[type, ...] = (
    object, type(None), bool, int, float, complex, str, bytes, bytearray, list, tuple, dict, set,
    frozenset, range, slice, type, Counter, OrderedDict, defaultdict, deque,
)
_BUILTIN_PATHS = {f"{kind.__module__}.{kind.__qualname__}": kind for kind in _BUILTINS}
_CLOSED = frozenset({
    "decimal.Decimal", "fractions.Fraction", "uuid.UUID", "datetime.date", "datetime.time",
    "datetime.datetime", "datetime.timedelta", "datetime.timezone", "zoneinfo.ZoneInfo",
    *(
        f"{module}.{name}" for module in ("pathlib", "pathlib._local")
        for name in ("Path", "PosixPath", "PurePath", "PurePosixPath", "PureWindowsPath")
    ),
})
"""Classes of the standard library whose instances cross as values. Their modules are imported
where such a value appears, not at the start, which every test pays for."""


def plain_path(cls: type) -> str | None:
    """The name of a class that means the same on both sides, else `None`."""
    path = f"{cls.__module__}.{cls.__qualname__}"
    if path in _BUILTIN_PATHS:
        return path if _BUILTIN_PATHS[path] is cls else None
    if path in _CLOSED and getattr(sys.modules.get(cls.__module__), cls.__name__, None) is cls:
        return path
    return None


def plain_class(path: str) -> type:
    """The class that `plain_path` named."""
    if path in _BUILTIN_PATHS:
        return _BUILTIN_PATHS[path]
    if path not in _CLOSED:
        raise Garbled("a class that is not plain")
    module, _, name = path.rpartition(".")
    found: type = getattr(importlib.import_module(module), name)
    return found


def contents(value: Object) -> list[Object]:
    """The items of a mutable container; of a dict first its keys, then its values."""
    return [*value, *value.values()] if isinstance(value, dict) else [*value]


def refill(value: Object, items: list[Object]) -> None:
    """Makes a mutable container hold `items`, in the form `contents` gives, in place."""
    if isinstance(value, (list, bytearray)):
        value[:] = items
        return
    value.clear()
    if isinstance(value, dict):
        half = len(items) // 2
        for key, item in zip(items[:half], items[half:], strict=True):
            value[key] = item
    elif isinstance(value, set):
        value.update(items)
    else:
        value.extend(items)


class Encoder:
    """Turns the values of one message into wire form.

    `refer(value, encoder)` names what is not plain.
    """

    most_depth = 120
    most_items = 2_000_000
    most_text = 32_000_000
    _depth = _items = _text = 0

    def __init__(self, table: Table, refer: Callable[[Object, Encoder], Wire]) -> None:
        self._table = table
        self._refer = refer

    def encode(self, value: Object) -> Wire:
        """The wire form of any value; raises `Unplain` where it is too deep or too large."""
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
        if self._depth > self.most_depth:
            raise Unplain(f"a value is nested more than {self.most_depth} levels deep")
        try:
            return self._compound(value, kind)
        finally:
            self._depth -= 1

    def content(self, value: Object) -> Wire:
        """The wire form of what a mutable container holds."""
        if isinstance(value, bytearray):
            return value.hex()
        return self._all(contents(value))

    def _all(self, values: Iterable[Object]) -> list[Wire]:
        items = list(values)
        if len(items) > _MANY and set(map(type, items)) == {int} and (
            min(items) > -SMALL_INT and max(items) < SMALL_INT
        ):
            self._count(len(items))
            return items
        return [self.encode(item) for item in items]

    def _count(self, items: int, text: int = 0) -> None:
        self._items += items
        self._text += text
        if self._items > self.most_items or self._text > self.most_text:
            raise Unplain(
                f"a value has more than {self.most_items:,} items, or {self.most_text:,} characters"
            )

    def _compound(self, value: Object, kind: type) -> Wire:
        if kind in MUTABLE:
            return self._container(value, MUTABLE[kind])
        if kind is tuple:
            return ["t", self._all(value)]
        if kind is frozenset:
            return ["z", self._all(value)]
        if kind is bytes:
            self._count(0, len(value) * 2)
            return ["b", value.hex()]
        if kind is complex:
            return ["c", value.real.hex(), value.imag.hex()]
        if kind is range or kind is slice:
            return ["r", kind.__name__, *self._all((value.start, value.stop, value.step))]
        if kind is type(Ellipsis) or kind is type(NotImplemented):
            return ["k", str(value)]
        if isinstance(value, type) and plain_path(value) is not None:
            return ["g", plain_path(value)]
        path = plain_path(kind)
        if path in _CLOSED:
            return ["v", path, *self._all(_parts(value, path))]
        return self._refer(value, self)

    def _container(self, value: Object, tag: str) -> Wire:
        """A mutable container: its content on first mention, its id ever after."""
        oid = self._table.oid(value)
        if oid is not None:
            return ["@", oid]
        oid = self._table.give(value)
        extra: list[Wire] = []
        if tag == "dd":
            extra = [self.encode(value.default_factory)]
        elif tag == "q":
            extra = [value.maxlen]
        return [tag, oid, self.content(value), *extra]


def _parts(value: Any, path: str) -> Iterable[Object]:
    """What a value of the closed classes is made of, as its class takes it."""
    if path == "uuid.UUID":
        return [value.hex]
    if path == "zoneinfo.ZoneInfo":
        return [value.key]
    parts: tuple[Object, ...] = value.__reduce_ex__(4)[1]  # the first in which a fold is told
    return parts


class Decoder:
    """Rebuilds values from wire form; raises `Garbled`, or any `Exception` at all where the
    form is forged: nothing it does to a forged one is of use to the forger.

    `resolve(wire, decoder)` takes the tags that `Encoder.refer` made.
    """

    def __init__(
        self, table: Table, resolve: Callable[[list[Wire], Decoder], Object]
    ) -> None:
        self._table = table
        self._resolve = resolve

    def refill(self, value: Object, content: Wire) -> None:
        """Gives a known container the content the other side sent."""
        if isinstance(value, bytearray):
            refill(value, [*bytes.fromhex(content)])
        else:
            refill(value, self._all(content))

    def value(self, wire: Wire) -> Object:
        """The value of a wire form."""
        if wire is None or isinstance(wire, (bool, str, int, float)):
            return wire
        if not isinstance(wire, list) or not wire or not isinstance(wire[0], str):
            raise Garbled("a value that is none")
        tag, *rest = wire
        if tag == "@":
            return self._table.value(rest[0])
        if tag in _CONTAINERS:
            return self._container(tag, rest)
        if tag in _SIMPLE:
            return _SIMPLE[tag](*rest)
        if tag in _COMPOUND:
            return _COMPOUND[tag](self._all(rest[0]))
        if tag == "r":
            return {"range": range, "slice": slice}[rest[0]](*self._all(rest[1:]))
        if tag == "v" and rest[0] in _CLOSED:
            parts = self._all(rest[1:])
            if not {plain_path(type(part)) for part in parts} <= _PARTS:
                raise Garbled("a value made of what is none")
            return plain_class(rest[0])(*parts)
        return self._resolve(wire, self)

    def _all(self, wires: list[Wire]) -> list[Object]:
        if len(wires) > _MANY and set(map(type, wires)) <= _BARE:
            return list(wires)
        return [self.value(wire) for wire in wires]

    def _container(self, tag: str, rest: list[Wire]) -> Object:
        oid, content = rest[0], rest[1]
        value: Object
        if tag == "dd":
            value = defaultdict(self.value(rest[2]))
        elif tag == "q":
            value = deque(maxlen=rest[2])
        else:
            value = _CONTAINERS[tag]()
        # Before its content: a cycle leads back to it.
        self._table.take(oid, value)
        self.refill(value, content)
        self._table.settle(oid)
        return value


_MANY = 32
"""Longer lists are worth a look whether they can be taken as they are."""
_BARE = {type(None), bool, int, float, str}
_PARTS = {
    "builtins.int", "builtins.str", "builtins.bytes", "builtins.NoneType", "zoneinfo.ZoneInfo",
    "datetime.timedelta", "datetime.timezone",
}
"""Classes of what the closed classes are made of."""

_CONTAINERS: dict[str, Callable[[], Object]] = {
    "l": list, "s": set, "ba": bytearray, "q": deque, **DICTS,
}

_COMPOUND: dict[str, Callable[[list[Object]], Object]] = {
    "t": tuple,
    "z": frozenset,
}

_SIMPLE: dict[str, Callable[..., Object]] = {
    "g": plain_class,
    "i": lambda text: int(text, 16),
    "f": float.fromhex,
    "b": bytes.fromhex,
    "c": lambda real, imag: complex(float.fromhex(real), float.fromhex(imag)),
    "k": {"Ellipsis": Ellipsis, "NotImplemented": NotImplemented}.__getitem__,
}
