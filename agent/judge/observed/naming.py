"""How an object that stays where it is is named on the wire, and what stands in for it there.

Classes are described once: name, bases, which methods and special methods they have. The
tests' side takes such a description as a claim: it fixes only what a stand-in forwards.
Classes of the standard library's exceptions, and for the solution its functions, are found by
name instead; what the solution may so name in the tests' process is exceptions alone.
"""

from __future__ import annotations

import importlib
import os
import sys
import types
from collections.abc import Callable

from agent.judge.observed.codec import Garbled, Unplain, plain_path
from agent.judge.observed.operations import ALWAYS, OPERATIONS, is_special
from agent.judge.observed.standins import (
    BUILTIN,
    StandIn,
    StandInModule,
    StandInType,
    Unfollowable,
    new_exception,
    space_of,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from agent.judge.observed.codec import Decoder, Encoder, Object, Wire
    from agent.judge.observed.remote import Link

FUNCTION_KINDS = ("function", "builtin_function_or_method")

STEERING = frozenset({"_judge", "pytest", "_pytest", "pluggy", "__main__", "__jail__"})
"""Packages whose exceptions steer the tests' process: the solution cannot raise these there."""

_VALUES = frozenset({"pathlib", "datetime", "decimal", "fractions", "uuid"})
"""Modules of classes whose instances are values: one of a subclass is none."""


class Names:
    """Names objects of this side, and makes stand-ins for those of the other."""

    def __init__(self, link: Link, folder: str) -> None:
        self._link = link
        self._table = link.table
        self._folder = os.path.join(folder, "")

    # ---------------------------------------------------------------- naming

    def refer(self, value: Object, encoder: Encoder) -> Wire:
        """The wire form of what is not plain."""
        oid = self._table.oid(value)
        if oid is not None:
            return ["@", oid]
        if self._link.judging:
            self._link.hand_over(value)
        if isinstance(value, type):
            if self._link.judging and _is_library(value):
                return ["gf", value.__module__, value.__qualname__]
            return self._class(value, encoder)
        if isinstance(value, BaseException):
            return self._exception(value, encoder)
        if isinstance(value, types.ModuleType):
            if self._link.judging:
                return ["m", value.__name__]
            return ["M", self._table.give(value), value.__name__]
        if self._link.judging and isinstance(value, _FUNCTIONS):
            path = _library_path(value)
            if path is not None:
                return ["gf", *path]
            return ["fn", self._table.give(value, keep=True), value.__name__]
        return self._instance(value, encoder)

    def _instance(self, value: Object, encoder: Encoder) -> Wire:
        wire = self._class(type(value), encoder)
        oid = self._table.give(value, keep=self._link.judging)
        if isinstance(value, (types.FunctionType, types.BuiltinFunctionType)):
            module = value.__module__
            return ["R", oid, wire, module if type(module) is str else ""]
        return ["R", oid, wire]

    def _class(self, cls: type, encoder: Encoder) -> Wire:
        oid = self._table.oid(cls)
        if oid is not None:
            return ["@", oid]
        path = plain_path(cls)
        if path is not None:
            return ["g", path]
        if issubclass(cls, BaseException) and self._is_common(cls):
            return ["x", cls.__module__, cls.__qualname__]
        if cls.__module__.partition(".")[0] == "numpy":
            raise Unplain("numpy's objects do not cross")
        for base in BUILTIN:
            if issubclass(cls, base):
                raise Unplain(f"the class {cls.__name__} derives from Python's {base.__name__}")
        bases = [self._class(base, encoder) for base in cls.__bases__]
        oid = self._table.give(cls, keep=True)
        return ["C", oid, {"bases": bases, **self._description(cls)}]

    def _description(self, cls: type) -> dict[str, Wire]:
        space = space_of(cls)
        if "__await__" in space:
            raise Unplain("a coroutine cannot cross")
        return {
            "name": str(cls.__name__), "qualname": str(cls.__qualname__),
            "module": str(cls.__module__),
            "special": [name for name in OPERATIONS if name in space],
            "unhashable": "__hash__" in space and space["__hash__"] is None,
            "descriptor": "__get__" in space or "__set__" in space,
        }

    def _is_common(self, cls: type) -> bool:
        """Whether the other side knows this exception class by its name."""
        if found(cls.__module__, cls.__qualname__) is not cls:
            return False
        if cls.__module__.partition(".")[0] in sys.stdlib_module_names:
            return True
        file = getattr(sys.modules[cls.__module__], "__file__", None) or ""
        return not self._link.judging and bool(file) and not file.startswith(self._folder)

    def _exception(self, error: BaseException, encoder: Encoder) -> Wire:
        cls = self._class(type(error), encoder)
        oid = self._table.give(error, keep=True)
        args = [encoder.encode(arg) for arg in error.args]
        if isinstance(error, OSError) and error.filename is not None:
            args = [*args[:2], encoder.encode(error.filename)]
        state = {name: encoder.encode(item) for name, item in vars(error).items()}
        cause = None if error.__cause__ is None else encoder.encode(error.__cause__)
        return ["E", oid, cls, args, state, cause]

    # ---------------------------------------------------------------- standing in

    def resolve(self, wire: list[Wire], decoder: Decoder) -> Object:
        """The object or stand-in that `refer` named."""
        match wire:
            case ["x", str(module), str(name)]:
                return self._exception_class(module, name)
            case ["C", str(oid), dict(description)]:
                return self._mirror(oid, description, decoder)
            case ["M", str(oid), str(name)]:
                stand_in = StandInModule(name, self._link)
                self._table.take(oid, stand_in, keep=True)
                return stand_in
            case ["E", str(oid), cls, list(args), dict(state), cause]:
                return self._raised(oid, decoder.value(cls), args, state, cause, decoder)
            case ["R", str(oid), cls, *module]:
                return self._stand_in(oid, decoder.value(cls), module)
        if self._link.judging:
            raise Garbled("a value that is none")
        match wire:
            case ["fn", str(oid), str(name)]:
                return self._function(oid, name)
            case ["gf", str(module), str(name)]:
                return found(module, name, load=True)
            case ["m", str(name)]:
                return importlib.import_module(name)
        raise Garbled("a value that is none")

    def _exception_class(self, module: str, name: str) -> type:
        root = module.partition(".")[0]
        if self._link.judging and root in STEERING:
            raise Garbled(f"an exception class of {root}")
        cls = found(module, name, load=not self._link.judging)
        if not isinstance(cls, type) or not issubclass(cls, BaseException):
            why = f"the program raises {module}.{name}, which the test does not import"
            raise Unfollowable(why)
        return cls

    def _mirror(self, oid: str, described: dict[str, Any], decoder: Decoder) -> type:
        bases = [decoder.value(base) for base in described["bases"]]
        module = str(described["module"])
        if module == "unittest.mock":
            raise Unfollowable("the program answers with a mock")
        if any(base.__module__.partition(".")[0] in _VALUES for base in bases):
            raise Unfollowable(f"the program's class {described['name']} derives from a library's")
        kept = [
            base for base in bases
            if isinstance(base, StandInType) or issubclass(base, BaseException)
        ]
        if not any(isinstance(base, StandInType) for base in kept):
            kept.insert(0, StandIn)
        space = self._space(described)
        self._table.check(oid)
        name = str(described["name"])
        return StandInType(name, tuple(kept), space, far=(self._link, oid))

    def _space(self, described: dict[str, Any]) -> dict[str, Object]:
        """The class body of a mirrored class: what it forwards."""
        space: dict[str, Any] = {
            "__slots__": (), "__module__": str(described["module"]),
            "__qualname__": str(described["qualname"]),
        }
        for operation in set(described["special"]) & set(OPERATIONS) - set(ALWAYS):
            space[operation] = self._operation(operation)
        if described["unhashable"]:
            space["__hash__"] = None
        if described["descriptor"] and described["name"] not in FUNCTION_KINDS:
            space["__set_name__"] = self._described
        if described["name"] in FUNCTION_KINDS:
            # On other objects the class answers for these.
            space["__doc__"] = self._attribute("__doc__")
            space["__module__"] = property(self._module_of)
        return space

    def _described(self, mine: Object, owner: Object, name: str) -> None:
        raise self._link.unfollowable("the test's class has a descriptor of the program")

    def _module_of(self, mine: Object) -> Any:
        known = self._link.functions.get(self._table.oid(mine) or "")
        return self._link.request("get", mine, "__module__") if known is None else known

    def _attribute(self, name: str) -> property:
        return property(lambda mine: self._link.request("get", mine, name))

    def _operation(self, name: str) -> Callable[..., Object]:
        def operation(mine: Any, *args: Any, **kwargs: Any) -> Any:
            return self._link.operate(name, mine, args, kwargs)

        operation.__name__ = operation.__qualname__ = name
        return operation

    def _stand_in(self, oid: str, cls: Any, module: list[Wire]) -> Object:
        if not isinstance(cls, StandInType):
            raise Garbled("an object without a class")
        value: Object = object.__new__(cls)  # type: ignore[arg-type]  # a stand-in's own call is a request
        self._table.take(oid, value, keep=not self._link.judging)
        if module:
            self._link.functions[oid] = str(module[0])
        return value

    def _raised(
        self, oid: str, kind: Any, args: list[Wire], state: dict[str, Wire], cause: Wire,
        decoder: Decoder,
    ) -> BaseException:
        if not isinstance(kind, type) or not issubclass(kind, BaseException):
            raise Garbled("an exception without a class")
        error = new_exception(kind, [decoder.value(arg) for arg in args])
        self._table.take(oid, error, keep=True)
        for name, item in state.items():
            if not is_special(name) or name == "__notes__":
                BaseException.__setattr__(error, name, decoder.value(item))
        because = decoder.value(cause)
        if isinstance(because, BaseException):
            error.__cause__ = because
        return error

    def _function(self, oid: str, name: str) -> Callable[..., Object]:
        def stub(*args: Any, **kwargs: Any) -> Any:
            return self._link.request("call", stub, args, kwargs)

        stub.__name__ = stub.__qualname__ = name
        self._table.take(oid, stub, keep=True)
        return stub


_FUNCTIONS = (
    types.FunctionType, types.MethodType, types.BuiltinFunctionType, types.MethodDescriptorType,
)


def found(module: str, name: str, load: bool = False) -> Object:
    """What a module calls by a dotted name, or `None`."""
    try:
        owner: Object = importlib.import_module(module) if load else sys.modules.get(module)
    except ImportError:
        return None
    for part in name.split("."):
        owner = getattr(owner, part, None)
    return owner


def _is_library(cls: type) -> bool:
    return (
        cls.__module__.partition(".")[0] in sys.stdlib_module_names
        and found(cls.__module__, cls.__qualname__) is cls
    )


def _library_path(function: Object) -> tuple[str, str] | None:
    """Module and name of a function of the standard library, the same on both sides."""
    if isinstance(function, types.MethodDescriptorType):
        module: Object = function.__objclass__.__module__
    elif isinstance(function, types.MethodType):
        return None
    else:
        module = function.__module__
    name = function.__qualname__
    if not isinstance(module, str) or module.partition(".")[0] not in sys.stdlib_module_names:
        return None
    return (module, name) if found(module, name) is function else None
