"""Stand-ins: classes and objects that mirror those of the other process.

A stand-in has no state. Every use of it is a request to the side that owns the object; the
link (`remote`) knows by identity which object is meant.

    Unfollowable  the test needs what cannot cross; nothing is said about the solution
"""

from __future__ import annotations

import builtins
import types
from collections.abc import Iterable, Iterator, Mapping

from agent.judge.observed.codec import MUTABLE
from agent.judge.observed.operations import READABLE, is_special

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from agent.judge.observed.codec import Object
    from agent.judge.observed.remote import Link


class Unfollowable(BaseException):
    """The test needs what cannot cross; it must be run another way.

    Not an `Exception`, so that no test takes it for one of the solution.
    """


BUILTIN: tuple[type, ...] = (int, float, complex, str, bytes, tuple, frozenset, *MUTABLE)
"""Classes whose instances cross as values; those of a class that derives from one cannot."""

_LOCAL_ON_EXCEPTIONS = frozenset({
    "__traceback__", "__cause__", "__context__", "__suppress_context__", "__notes__", "args",
})


class Attributes(Mapping[str, "Any"]):
    """What an object of the other side has of its own: its `__dict__`, read one by one.

    Those who patch look here for what to put back.
    """

    def __init__(self, owner: Any, link: Link, here: Mapping[str, Any]) -> None:
        self._owner = owner
        self._link = link
        self._here = here

    def __getitem__(self, name: str) -> Any:
        if name in self._here:
            return self._here[name]
        if is_special(name) or not self._link.request("owns", self._owner, name):
            raise KeyError(name)
        return self._link.request("get", self._owner, name)

    def __iter__(self) -> Iterator[str]:
        names = dir(self._owner)
        is_module = isinstance(self._owner, StandInModule)
        return iter(_all_names(self._link, names) if is_module else names)

    def __len__(self) -> int:
        return len(dir(self._owner))


def _all_names(link: Link, names: Iterable[str]) -> tuple[str, ...]:
    """What `from program import *` brings: the program's `abs` must not be what the test means."""
    fixed = tuple(names)
    own = [name for name in fixed if hasattr(builtins, name) and not is_special(name)]
    if own:
        raise link.unfollowable(f"the program has a name of its own for Python's {own[0]}")
    return fixed


_type_space: Any = vars(type)["__dict__"]
_module_space: Any = vars(types.ModuleType)["__dict__"]


def space_of(cls: type) -> Mapping[str, Any]:
    """The class body of a class as it is on this side."""
    space: Mapping[str, Any] = _type_space.__get__(cls)
    return space


class StandInType(type):
    """The class of mirrored classes."""

    _far_link: Link
    _far_named: bool

    def __new__(
        mcs, name: str, bases: tuple[type, ...], namespace: dict[str, Any],
        far: tuple[Link, str] | None = None, **keywords: Any,
    ) -> StandInType:
        parent = next((base for base in bases if isinstance(base, StandInType)), None)
        if far is None and parent is not None:
            raise parent._far_link.unfollowable(
                f"the test derives a class from the program's {parent.__name__}"
            )
        cls = super().__new__(mcs, name, bases, namespace)
        if far is not None:
            link, oid = far
            type.__setattr__(cls, "_far_link", link)
            type.__setattr__(cls, "_far_named", False)
            link.table.hold(oid, cls)
        return cls

    def __init__(cls, name: str, bases: tuple[type, ...], namespace: dict[str, Any],
                 far: tuple[Link, str] | None = None, **keywords: Any) -> None:
        super().__init__(name, bases, namespace)

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        return cls._far_link.made(cls, args, kwargs)

    def __getattr__(cls, name: str) -> Any:
        if name.startswith("_far") or (is_special(name) and name not in READABLE):
            raise AttributeError(f"type object {cls.__name__!r} has no attribute {name!r}")
        return cls._far_link.request("get", cls, name)

    def __setattr__(cls, name: str, value: Any) -> None:
        # abc and dataclasses write their own marks on classes; these stay here.
        if name.startswith(("_far", "_abc")) or is_special(name):
            type.__setattr__(cls, name, value)
            return
        cls._far_link.request("set", cls, name, value)

    @property  # type: ignore[misc]  # final in typeshed, not in Python
    def __dict__(cls) -> Any:  # type: ignore[override]
        link = getattr(cls, "_far_link", None)
        return space_of(cls) if link is None else Attributes(cls, link, space_of(cls))

    def __delattr__(cls, name: str) -> None:
        cls._far_link.request("delete", cls, name)

    def __iter__(cls) -> Any:
        return iter(cls._far_link.request("op", "__iter__", cls, (), {}))

    def __len__(cls) -> int:
        return int(cls._far_link.request("op", "__len__", cls, (), {}))

    def __bool__(cls) -> bool:
        return True

    def __getitem__(cls, key: Any) -> Any:
        return cls._far_link.request("op", "__getitem__", cls, (key,), {})

    def __contains__(cls, key: Any) -> bool:
        return cls._far_link.contains(cls, key)

    def __repr__(cls) -> str:
        return f"<class {cls.__module__ + '.' + cls.__qualname__!r}>"

    def __dir__(cls) -> list[str]:
        names: list[str] = cls._far_link.request("op", "__dir__", cls, (), {})
        return names


class StandIn(metaclass=StandInType):
    """The base of all stand-ins. It has no state: the link knows which object it is."""

    __slots__ = ()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_far") or (is_special(name) and name not in READABLE):
            kind = type(self).__name__
            raise AttributeError(f"{kind!r} object has no attribute {name!r}")
        return type(self)._far_link.request("get", self, name)

    def __setattr__(self, name: str, value: Any) -> None:
        if isinstance(self, BaseException) and name in _LOCAL_ON_EXCEPTIONS:
            BaseException.__setattr__(self, name, value)
            return
        type(self)._far_link.request("set", self, name, value)

    def __delattr__(self, name: str) -> None:
        type(self)._far_link.request("delete", self, name)

    def __eq__(self, other: object) -> Any:
        return type(self)._far_link.equal(self, other)

    def __ne__(self, other: object) -> bool:
        result = self.__eq__(other)
        return result if result is NotImplemented else not result

    def __hash__(self) -> int:
        return int(type(self)._far_link.operate("__hash__", self, (), {}))

    def __str__(self) -> str:
        return str(type(self)._far_link.operate("__str__", self, (), {}))

    def __repr__(self) -> str:
        return str(type(self)._far_link.operate("__repr__", self, (), {}))

    def __format__(self, spec: str) -> str:
        return str(type(self)._far_link.operate("__format__", self, (spec,), {}))

    def __dir__(self) -> list[str]:
        names: list[str] = type(self)._far_link.operate("__dir__", self, (), {})
        return names

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise type(self)._far_link.unfollowable(
            f"the test copies or pickles a {type(self).__name__} of the solution"
        )


class StandInModule(types.ModuleType):
    """A module of the other side."""

    def __init__(self, name: str, link: Link) -> None:
        super().__init__(name)
        _module_space.__get__(self)["_far_link"] = link

    @property
    def __dict__(self) -> Any:  # type: ignore[override]
        here = _module_space.__get__(self)
        return Attributes(self, here["_far_link"], here)

    def __getattr__(self, name: str) -> Any:
        if is_special(name) and name not in READABLE:
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        link: Link = _module_space.__get__(self)["_far_link"]
        value = link.named(link.request("get", self, name))
        return _all_names(link, value) if name == "__all__" else value

    def __setattr__(self, name: str, value: Any) -> None:
        if is_special(name):
            super().__setattr__(name, value)
            return
        _module_space.__get__(self)["_far_link"].request("set", self, name, value)

    def __delattr__(self, name: str) -> None:
        _module_space.__get__(self)["_far_link"].request("delete", self, name)

    def __dir__(self) -> list[str]:
        link: Link = _module_space.__get__(self)["_far_link"]
        names: list[str] = link.request("op", "__dir__", self, (), {})
        return names


def new_exception(kind: type[BaseException], args: list[Object]) -> BaseException:
    """An exception with these arguments whose own `__init__` has not run."""
    try:
        error = kind.__new__(kind, *args)
    except TypeError:
        error = kind.__new__(kind)
    if not isinstance(error, OSError):
        error.args = tuple(args)
    if kind.__module__ == "builtins" and not isinstance(error, OSError):
        # Builtins with fields of their own (SystemExit.code, StopIteration.value) set them here.
        kind.__init__(error, *args)
    elif isinstance(error, SystemExit):
        error.code = args[0] if args else None
    return error
