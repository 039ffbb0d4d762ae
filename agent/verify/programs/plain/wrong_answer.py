"""The object that replaces the answers of a program: it supports any operation and equals nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any


class WrongAnswerError(Exception):
    """Replaces the exceptions of a program, and the effect of functions without an answer."""


class WrongAnswer:
    """Supports calls, items, iteration, arithmetic and attributes, which return it again.

    Comparisons with it are false, except that `!=` returns its truth value. So asserts fail.
    """

    def __init__(self, truth: bool) -> None:
        self._truth = truth

    def __bool__(self) -> bool:
        return self._truth

    def __eq__(self, other: object) -> bool:
        return False

    def __ne__(self, other: object) -> bool:
        return self._truth  # an `assert` fails with one, an `if` that raises with the other

    def __hash__(self) -> int:
        return id(self)

    def __contains__(self, item: object) -> bool:
        return False

    def __iter__(self) -> Iterator[WrongAnswer]:
        return iter((self,) * len(self))

    def __len__(self) -> int:
        return 1 + self._truth  # so that no expected length fits both variants

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return self

    def __enter__(self) -> WrongAnswer:
        return self

    def __exit__(self, *error: object) -> None:
        return None


def _same(self: WrongAnswer, *args: object, **named: object) -> WrongAnswer:
    return self


def _no(self: WrongAnswer, other: object) -> bool:
    return False


_BINARY = "add sub mul matmul truediv floordiv mod pow lshift rshift and or xor divmod".split()
for _name in (
    "call", "getitem", "abs", "neg", "pos", "invert", "round", "trunc", "floor", "ceil",
    *(prefix + name for prefix in ("", "r", "i") for name in _BINARY),
):
    setattr(WrongAnswer, f"__{_name}__", _same)
for _name in ("lt", "le", "gt", "ge"):
    setattr(WrongAnswer, f"__{_name}__", _no)
