"""Takes the operators of a program's own classes away from what is not of those classes.

Beside its tests in one process, a program could answer with an object that equals everything.
Disarmed, its classes compare and calculate among themselves only, as they may where tests are
judged outside. A test that then fails has rested on the program's own word.
"""

from __future__ import annotations

import builtins
import os
import sys
from collections.abc import Callable, Iterator
from typing import Any

_BINARY = """
    add sub mul matmul truediv floordiv mod pow lshift rshift and or xor divmod
""".split()
_OPERATORS = tuple(
    f"__{name}__" for name in (
        "eq", "ne", "lt", "le", "gt", "ge", "contains",
        *(prefix + name for prefix in ("", "r", "i") for name in _BINARY),
    )
)
_MOST_ITEMS = 10_000


class Disarming:
    """Disarms the classes that a program makes, by whichever way."""

    def __init__(self, folder: str, is_test: Callable[[str], bool]) -> None:
        self._folder = os.path.join(folder, "")
        self._is_test = is_test
        """Whether a file of the folder is a test's, by its path."""
        self._spared = {id(cls) for cls in _classes()}
        self._disarmed: dict[int, type] = {}
        self._build = builtins.__build_class__
        builtins.__build_class__ = self._built

    def loaded(self) -> None:
        """Disarms what the program made while it was loaded, and what equals all by design."""
        for cls in _classes():
            if id(cls) not in self._spared:
                self._disarm(cls)
        mock: Any = sys.modules.get("unittest.mock")
        if mock is not None:
            self._disarm(mock._ANY)

    def answered(self, value: Any) -> Any:
        """The same value, its class and those of its items disarmed."""
        waiting, seen = [value], 0
        while waiting and seen < _MOST_ITEMS:
            one = waiting.pop()
            seen += 1
            kind = type(one)
            if kind in (list, tuple, set, frozenset):
                waiting += one
            elif kind is dict:
                waiting += [*one, *one.values()]
            elif isinstance(one, type):
                self._disarm(type(one))
                self._disarm(one)
            else:
                self._disarm(kind)
        return value

    def _built(self, *args: Any, **kwargs: Any) -> Any:
        cls = self._build(*args, **kwargs)
        file = args[0].__code__.co_filename
        if file.startswith(self._folder) and not self._is_test(file):
            self._disarm(cls)
        else:
            self._spared.add(id(cls))
        return cls

    def _disarm(self, cls: Any) -> None:
        if not isinstance(cls, type) or id(cls) in self._disarmed:
            return
        is_any = cls.__module__ == "unittest.mock"
        if id(cls) in self._spared and not is_any:
            return
        self._disarmed[id(cls)] = cls
        for name in _OPERATORS:
            # As it stands in the class, whatever the class says of its attributes.
            space = type.__dict__["__dict__"].__get__(cls)
            if space.get(name) is not None:
                type.__setattr__(cls, name, self._guarded(name, space[name]))

    def _guarded(self, name: str, original: Any) -> Callable[..., Any]:
        def guarded(mine: Any, other: Any, *rest: Any) -> Any:
            if id(type(other)) not in self._disarmed:
                return False if name == "__contains__" else NotImplemented
            bound = original.__get__(mine, type(mine)) if hasattr(original, "__get__") else original
            return bound(other, *rest)

        return guarded


def _classes() -> Iterator[type]:
    seen: set[int] = set()
    waiting: list[type] = [object]
    while waiting:
        cls = waiting.pop()
        if id(cls) not in seen:
            seen.add(id(cls))
            yield cls
            waiting += type.__subclasses__(cls)
