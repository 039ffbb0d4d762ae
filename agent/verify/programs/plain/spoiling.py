"""What takes an answer's place in a spoilt program: it bears everything and equals nothing."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any


class SpoiltError(Exception):
    """Takes the place of an exception, and of what a function without an answer did."""


class Spoilt:
    """Can be called, indexed, iterated, calculated with and looked into, always to another such;
    no comparison with it holds but, where it is true, `!=`. So a test of it fails by its assert,
    where it has one."""

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

    def __iter__(self) -> Iterator[Spoilt]:
        return iter((self,) * len(self))

    def __len__(self) -> int:
        return 1 + self._truth  # no count is what both have

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return self

    def __enter__(self) -> Spoilt:
        return self

    def __exit__(self, *error: object) -> None:
        return None


def _same(self: Spoilt, *args: object, **named: object) -> Spoilt:
    return self


def _no(self: Spoilt, other: object) -> bool:
    return False


_BINARY = "add sub mul matmul truediv floordiv mod pow lshift rshift and or xor divmod".split()
for _name in (
    "call", "getitem", "abs", "neg", "pos", "invert", "round", "trunc", "floor", "ceil",
    *(prefix + name for prefix in ("", "r", "i") for name in _BINARY),
):
    setattr(Spoilt, f"__{_name}__", _same)
for _name in ("lt", "le", "gt", "ge"):
    setattr(Spoilt, f"__{_name}__", _no)
