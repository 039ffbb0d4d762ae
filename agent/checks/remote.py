"""Objects of one jailed process as seen from the other.

The tests run in one process, the solution in another. A plain value crosses as itself
(`codec`). Any other object stays where it was made; the other side gets a stand-in whose class
mirrors the object's class, and every use of the stand-in is a request to the owner. So state,
identity, generators, context managers, callbacks, subclasses and exceptions behave as in one
process, and yet no object of the solution ever exists where its answers are judged.

Mutable containers exist on both sides. Every message first brings what changed in those that
both sides hold, so a list sorted over there is seen sorted here.

Requests nest strictly: while one side waits it serves the other's requests. Each carries a
random number that its reply must repeat; anything else ends the link.

On the judging side (the tests'), a stand-in has no say on its own judgement: it is never equal
to a plain value because its class says so, and its operators on plain values are used only
where the test itself names its class, which is noted in `observed`.

    Broken        the link is of no more use: the other process ended or sent what is no message
    Unsettled     the test needs what cannot cross; nothing is said about the solution
"""

from __future__ import annotations

import builtins
import importlib
import math
import operator
import os
import sys
import threading
import types
from collections.abc import Callable, Coroutine, Generator, Iterable
from typing import Any, Protocol

from .codec import (
    MUTABLE,
    PLAIN_TYPES,
    CodecError,
    Decoder,
    Encoder,
    Garbled,
    Object,
    Wire,
    array_content_possible,
    contents,
    refill,
)

Message = dict[str, Any]


class Broken(Exception):
    """The other process is gone, or what it sent is no message."""


class Unsettled(Exception):
    """The test needs what cannot cross; it must be run another way."""


class Opaque(TypeError):
    """A plain value meets an object of the solution that may not judge itself."""


class Channel(Protocol):
    """Carries JSON messages; `receive` gives `None` once the other end is gone."""

    def send(self, value: Any) -> None: ...

    def receive(self) -> Any: ...


ORDER = {"__lt__": operator.lt, "__le__": operator.le, "__gt__": operator.gt, "__ge__": operator.ge}

BINARY: dict[str, Callable[[Object, Object], Object]] = {
    f"__{name}__": getattr(operator, f"__{name}__")
    for name in (
        "add", "sub", "mul", "matmul", "truediv", "floordiv", "mod", "lshift", "rshift",
        "and", "or", "xor", "pow",
    )
}
INPLACE: dict[str, Callable[[Object, Object], Object]] = {
    f"__i{name[2:]}": getattr(operator, f"__i{name[2:]}") for name in BINARY
}


def _reflected(function: Callable[[Object, Object], Object]) -> Callable[[Object, Object], Object]:
    return lambda mine, other: function(other, mine)


REFLECTED = {f"__r{name[2:]}": _reflected(function) for name, function in BINARY.items()}
DIVMOD: dict[str, Callable[..., Object]] = {
    "__divmod__": divmod, "__rdivmod__": lambda mine, other: divmod(other, mine),
}

PLAIN_OPERATIONS: dict[str, Callable[..., Object]] = {
    "__len__": len, "__iter__": iter, "__next__": next, "__reversed__": reversed,
    "__getitem__": operator.getitem, "__setitem__": operator.setitem,
    "__delitem__": operator.delitem, "__hash__": hash, "__bool__": bool, "__str__": str,
    "__repr__": repr, "__bytes__": bytes, "__format__": format, "__int__": int,
    "__float__": float, "__complex__": complex, "__index__": operator.index,
    "__round__": round, "__trunc__": math.trunc, "__floor__": math.floor, "__ceil__": math.ceil,
    "__abs__": abs, "__neg__": operator.neg, "__pos__": operator.pos,
    "__invert__": operator.invert, "__fspath__": os.fspath, "__dir__": dir,
    "__call__": lambda mine, *args, **kwargs: mine(*args, **kwargs),
    "__length_hint__": operator.length_hint,
    "__missing__": lambda mine, key: mine.__missing__(key),
    "__enter__": lambda mine: mine.__enter__(),
    "__exit__": lambda mine, *exc: mine.__exit__(*exc),
    "__aenter__": lambda mine: mine.__aenter__(),
    "__aexit__": lambda mine, *exc: mine.__aexit__(*exc),
    "__aiter__": lambda mine: mine.__aiter__(),
    "__anext__": lambda mine: mine.__anext__(),
}

OPERATIONS: dict[str, Callable[..., Object]] = {
    "__eq__": operator.eq, "__ne__": operator.ne, "__contains__": operator.contains,
    **ORDER, **BINARY, **INPLACE, **REFLECTED, **DIVMOD, **PLAIN_OPERATIONS,
}
"""Special methods that cross, each with what the owner does for it. No other does: numpy's and
pickle's hooks, say, would let an object answer for the function it is passed to."""

JUDGING = {"__contains__", *ORDER, *BINARY, *INPLACE, *REFLECTED, *DIVMOD}

ALWAYS = ("__eq__", "__ne__", "__hash__", "__str__", "__repr__", "__dir__", "__format__")
"""Special methods that the base of all stand-ins defines itself."""

READABLE = frozenset({
    "__name__", "__qualname__", "__doc__", "__wrapped__", "__annotations__", "__defaults__",
    "__kwdefaults__", "__members__", "__match_args__", "__dict__", "__cause__", "__context__",
    "__notes__", "__all__", "__version__", "__file__", "__func__", "__self__", "__code__",
    "__isabstractmethod__", "__abstractmethods__",
})
"""Special attributes that are asked of the owner."""

DERIVABLE: tuple[type, ...] = (
    int, float, complex, str, bytes, tuple, frozenset, *MUTABLE,
)
"""Builtin bases whose instances cross with their content: what the base says stays ours."""

REAL_TYPES: dict[str, type] = {
    kind.__name__: kind
    for kind in (
        types.GeneratorType, types.CoroutineType, types.AsyncGeneratorType, map, filter, zip,
        enumerate, reversed,
    )
}
"""Builtin classes that a stand-in passes for under `isinstance`."""

_LOCAL_ON_EXCEPTIONS = frozenset({
    "__traceback__", "__cause__", "__context__", "__suppress_context__", "__notes__", "args",
})


class FarType(type):
    """The class of mirrored classes."""

    _far_link: Link
    _far_named: bool
    _far_own_eq: bool

    def __new__(
        mcs, name: str, bases: tuple[type, ...], namespace: dict[str, Any],
        far: tuple[Link, str] | None = None, **keywords: Any,
    ) -> FarType:
        root = not any(isinstance(base, FarType) for base in bases)
        if root:
            return super().__new__(mcs, name, bases, namespace)
        if far is not None:
            cls = super().__new__(mcs, name, bases, namespace)
            link, oid = far
            type.__setattr__(cls, "_far_link", link)
            type.__setattr__(cls, "_far_named", False)
            link.hold(oid, cls)
            return cls
        return _derived(mcs, name, bases, namespace, keywords)

    def __init__(cls, name: str, bases: tuple[type, ...], namespace: dict[str, Any],
                 far: tuple[Link, str] | None = None, **keywords: Any) -> None:
        super().__init__(name, bases, namespace)

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        return cls._far_link.request("call", cls, args, kwargs)

    def __getattr__(cls, name: str) -> Any:
        if name.startswith("_far") or (_special(name) and name not in READABLE):
            raise AttributeError(f"type object {cls.__name__!r} has no attribute {name!r}")
        return cls._far_link.request("get", cls, name)

    def __setattr__(cls, name: str, value: Any) -> None:
        # abc and dataclasses write their own marks on classes; these stay here.
        if name.startswith(("_far", "_abc")) or _special(name):
            type.__setattr__(cls, name, value)
            return
        cls._far_link.request("set", cls, name, value)
        if name in vars(cls):
            type.__delattr__(cls, name)

    def __delattr__(cls, name: str) -> None:
        cls._far_link.request("delete", cls, name)

    def __iter__(cls) -> Any:
        return iter(cls._far_link.request("op", None, "__iter__", cls, (), {}))

    def __len__(cls) -> int:
        return int(cls._far_link.request("op", None, "__len__", cls, (), {}))

    def __bool__(cls) -> bool:
        return True

    def __getitem__(cls, key: Any) -> Any:
        return cls._far_link.request("op", None, "__getitem__", cls, (key,), {})

    def __contains__(cls, key: Any) -> bool:
        return bool(cls._far_link.request("op", None, "__contains__", cls, (key,), {}))

    def __repr__(cls) -> str:
        return f"<class {cls.__module__ + '.' + cls.__qualname__!r}>"

    def __dir__(cls) -> list[str]:
        names: list[str] = cls._far_link.request("op", None, "__dir__", cls, (), {})
        return names


def _special(name: str) -> bool:
    return name.startswith("__") and name.endswith("__")


def _derived(
    mcs: type[FarType], name: str, bases: tuple[type, ...], namespace: dict[str, Any],
    keywords: dict[str, Any],
) -> FarType:
    """A subclass that this side writes of a class the other side owns; it exists on both."""
    link: Link = next(base._far_link for base in bases if isinstance(base, FarType))
    shared = {
        key: value for key, value in namespace.items()
        if key not in ("__module__", "__qualname__", "__classcell__", "__dict__", "__weakref__")
        and (not _special(key) or key in OPERATIONS or key in ("__init__", "__new__", "__doc__",
                                                              "__post_init__", "__slots__"))
    }
    kept = {
        key: value for key, value in namespace.items()
        if isinstance(value, (types.FunctionType, property, classmethod, staticmethod))
        or key in ("__module__", "__qualname__", "__classcell__", "__doc__")
    }
    kept.setdefault("__slots__", ())
    cls = type.__new__(mcs, name, bases, kept)
    parts = [_part(key, value) for key, value in shared.items()]
    oid = link.request("subclass", name, bases, parts, keywords)
    type.__setattr__(cls, "_far_link", link)
    type.__setattr__(cls, "_far_named", True)
    link.hold(oid, cls)
    return cls


def _part(name: str, value: Object) -> tuple[Object, ...]:
    """One entry of a class body, its descriptor taken apart so that it can cross."""
    if isinstance(value, staticmethod):
        return (name, "staticmethod", value.__func__)
    if isinstance(value, classmethod):
        return (name, "classmethod", value.__func__)
    if isinstance(value, property):
        return (name, "property", value.fget, value.fset, value.fdel)
    return (name, "value", value)


def _body(parts: Iterable[tuple[Any, ...]]) -> dict[str, Object]:
    """The class body that `_part` took apart."""
    makers: dict[str, Callable[..., Object]] = {
        "staticmethod": staticmethod, "classmethod": classmethod, "property": property,
        "value": lambda value: value,
    }
    return {name: makers[kind](*rest) for name, kind, *rest in parts}


class Far(metaclass=FarType):
    """The base of all stand-ins. It has no state: the link knows which object it is."""

    __slots__ = ()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_far") or (_special(name) and name not in READABLE):
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

    def __eq__(self, other: object) -> bool:
        return type(self)._far_link.equal(self, other)

    def __ne__(self, other: object) -> bool:
        result = self.__eq__(other)
        return result if result is NotImplemented else not result

    def __hash__(self) -> int:
        base = builtin_base(type(self))
        if base is not None and not isinstance(self, tuple(MUTABLE)):
            return int(base.__hash__(self))
        return int(type(self)._far_link.operate(None, "__hash__", self, (), {}))

    def __str__(self) -> str:
        return str(type(self)._far_link.operate(None, "__str__", self, (), {}))

    def __repr__(self) -> str:
        return str(type(self)._far_link.operate(None, "__repr__", self, (), {}))

    def __format__(self, spec: str) -> str:
        return str(type(self)._far_link.operate(None, "__format__", self, (spec,), {}))

    def __dir__(self) -> list[str]:
        names: list[str] = type(self)._far_link.operate(None, "__dir__", self, (), {})
        return names

    def __copy__(self) -> Any:
        return type(self)._far_link.request("copy", self)

    def __deepcopy__(self, memo: Any) -> Any:
        return type(self)._far_link.request("deepcopy", self)

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise Unsettled(f"the test pickles a {type(self).__name__} of the solution")


class FarModule(types.ModuleType):
    """A module of the other side."""

    def __init__(self, name: str, link: Link) -> None:
        super().__init__(name)
        vars(self)["_far_link"] = link

    def __getattr__(self, name: str) -> Any:
        if _special(name) and name not in READABLE:
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        link: Link = vars(self)["_far_link"]
        return link.named(link.request("get", self, name))

    def __setattr__(self, name: str, value: Any) -> None:
        if _special(name):
            super().__setattr__(name, value)
            return
        vars(self)["_far_link"].request("set", self, name, value)

    def __delattr__(self, name: str) -> None:
        vars(self)["_far_link"].request("delete", self, name)

    def __dir__(self) -> list[str]:
        names: list[str] = vars(self)["_far_link"].request("op", None, "__dir__", self, (), {})
        return names


def builtin_base(cls: type) -> type | None:
    """The builtin class under a class whose instances cross with their content."""
    return next((kind for kind in cls.__mro__ if kind in DERIVABLE), None)


class _Held:
    """An object that both sides know by one id."""

    __slots__ = ("keep", "snapshot", "value")

    def __init__(self, value: Object, keep: bool) -> None:
        self.value = value
        self.snapshot: Object = None
        """What a container held when both sides last agreed; `None` for other objects."""
        self.keep = keep
        """Known until the link is reset, not until nobody here holds it."""


def _idle_references() -> int:
    held = _Held([], keep=False)
    return sys.getrefcount(held.value)


_IDLE = _idle_references()
"""The reference count of an object which nothing but its entry holds."""


class Link:
    """One end. `side` is "t" for the tests' end, which judges, or "s" for the solution's."""

    def __init__(self, channel: Channel, side: str, folder: str) -> None:
        self.judging = side == "t"
        self.broken = ""
        self.observed: list[str] = []
        """Where the solution's word was taken, in words."""
        self.refused: list[str] = []
        """Where an object of the solution was not allowed to judge itself, in words."""
        self.swallowed: list[BaseException] = []
        """Asserts that failed in a callback, so that the solution saw the failure first."""
        self.places: dict[int, str] = {}
        """Where an exception of the solution came from: by `id`, "line 7 (main.py)"."""
        self.last_call: tuple[str, str] = ("", "")
        """The latest call the test made: name, and source with the arguments it had."""
        self.in_assert: Callable[[BaseException], bool] = lambda error: False
        """Whether an exception came up while an assert of the test was being evaluated."""
        self.leave: tuple[type[BaseException], ...] = ()
        """Exceptions that end the test at once instead of crossing."""
        self.enclose: Callable[[], Message] = dict
        """Gives what else goes with every message."""
        self.unfold: Callable[[Message], None] = lambda message: None
        """Takes what else came with a message, before its values are read."""
        self.prepare: Callable[[], None] = lambda: None
        """Runs before each request that the test makes; may make requests itself."""
        self.handlers: dict[str, Callable[..., Object]] = {}
        """Further requests this side answers."""
        self._channel = channel
        self._side = side
        self._folder = os.path.join(folder, "")
        self._count = 0
        self._held: dict[str, _Held] = {}
        self._oids: dict[int, str] = {}
        self._fresh: list[str] = []
        self._lock = threading.RLock()
        self._serving = 0
        self._loop: Any = None
        self._preparing = False
        self._originals: dict[tuple[int, str], Object] = {}
        self._decoder = Decoder(self._adopt_theirs, self._settle, self._lookup, self._resolve)

    # ------------------------------------------------------------------ talking

    def request(self, verb: str, *args: Object) -> Any:
        """Asks the other side and gives its answer; serves its requests meanwhile."""
        if self.broken:
            raise Broken(self.broken)
        if not self.judging and not self._serving:
            raise RuntimeError("the test is not listening any more")
        with self._lock:
            self._prepare()
            number = os.urandom(8).hex()
            self._post({"id": number, "verb": verb}, "args", list(args))
            while True:
                message = self._next()
                if message is None:
                    raise self._break("the solution's process ended")
                if "verb" in message:
                    self._serve(message)
                    continue
                if message.get("id") != number:
                    raise self._break("the solution's process sent a reply nobody asked for")
                return self._answer(message)

    def _prepare(self) -> None:
        if not self._preparing:
            self._preparing = True
            try:
                self.prepare()
            finally:
                self._preparing = False

    def serve(self) -> None:
        """Answers requests until the other side is gone."""
        while (message := self._next()) is not None:
            self._serve(message)

    def _answer(self, message: Message) -> Any:
        if "ok" in message:
            return self._decode(message["ok"])
        if "raised" in message:
            error = self._decode(message["raised"])
            if not isinstance(error, BaseException):
                raise self._break("the solution's process raised what is no exception")
            place = message.get("place")
            if isinstance(place, str) and place:
                self.places[id(error)] = place[:300]
            raise error
        refused = message.get("refused")
        if isinstance(refused, str):
            raise Opaque(refused[:2000])
        raise self._break("the solution's process sent a reply without an answer")

    def _serve(self, message: Message) -> None:
        number, verb, args = message.get("id"), message.get("verb"), message.get("args")
        if not isinstance(number, str) or not isinstance(verb, str) or not isinstance(args, list):
            raise self._break("the solution's process sent what is no request")
        reply: Message = {"id": number}
        kind, value = "ok", None
        self._serving += 1
        try:
            values = [self._decode(arg) for arg in args]
            try:
                value = self._perform(verb, values)
            except self.leave:
                raise
            except (Broken, Unsettled):
                raise
            except BaseException as error:  # noqa: BLE001 - code we do not know raises anything
                kind, value = "raised", error
                reply["place"] = self._place(error)
                if self.judging and self._is_verdict(error):
                    self.swallowed.append(error)
                    if id(error) not in self._oids:
                        value = AssertionError("an assert of the test failed")
            with self._lock:
                try:
                    self._post(reply, kind, value)
                except CodecError as error:
                    self._post({"id": number}, "refused", None, refusal=str(error))
        finally:
            self._serving -= 1

    def _post(self, message: Message, key: str, value: Object, refusal: str = "") -> None:
        """Sends a message with what changed since the last one; undone if it cannot cross."""
        if self.judging:
            dropped = self._prune()
            if dropped:
                message["drop"] = dropped
        message.update(self.enclose())
        self._fresh = []
        encoder = Encoder(self._known, self._adopt_mine, self._refer)
        changed = self._changed()
        try:
            if changed:
                message["sync"] = [
                    [oid, encoder.content(self._held[oid].value)] for oid in changed
                ]
            if refusal:
                message[key] = refusal
            elif key == "args":
                message[key] = [encoder.encode(item) for item in value]
            else:
                message[key] = encoder.encode(value)
        except BaseException:
            for oid in self._fresh:
                self._forget(oid)
            raise
        for oid in (*changed, *self._fresh):
            self._settle(oid)
        try:
            self._channel.send(message)
        except Exception as error:  # the channel's own error class is not importable here
            raise self._break(f"the solution's process ended ({error})") from error

    def _next(self) -> Message | None:
        try:
            message = self._channel.receive()
        except self.leave:
            raise
        except Exception as error:  # as above
            raise self._break(f"the solution's process sent what is no message: {error}") from error
        if message is None:
            return None
        if not isinstance(message, dict):
            raise self._break("the solution's process sent what is no message")
        try:
            self.unfold(message)
            for oid in message.get("drop", ()):
                self._forget(oid)
            for oid, content in message.get("sync", ()):
                held = self._held[oid]
                if held.snapshot is None:
                    raise Garbled("a content for what is no container")
                self._decoder.refill(held.value, content)
                self._settle(oid)
        except (CodecError, LookupError, TypeError, ValueError) as error:
            raise self._break(f"the solution's process sent what is no message: {error}") from error
        return message

    def _decode(self, wire: Wire) -> Object:
        try:
            return self._decoder.decode(wire)
        except CodecError as error:
            raise self._break(f"the solution's process sent what is no value: {error}") from error

    def _break(self, why: str) -> Broken:
        self.broken = self.broken or why
        return Broken(self.broken)

    def reset(self) -> None:
        """Forgets every shared object and every note: the next test starts afresh."""
        for oid in [oid for oid in self._held]:
            self._forget(oid)
        self.observed, self.refused, self.swallowed = [], [], []
        self.places = {}
        self.last_call = ("", "")

    # ------------------------------------------------------------------ doing

    def _perform(self, verb: str, args: list[Any]) -> Object:
        if verb in self.handlers:
            return self.handlers[verb](*args)
        if self.judging:
            _permit(verb, args)
        match verb, args:
            case "get", [owner, name]:
                return getattr(owner, name)
            case "set", [owner, name, value]:
                return setattr(owner, name, value)
            case "delete", [owner, name]:
                return delattr(owner, name)
            case "call", [function, positional, named]:
                return function(*positional, **named)
            case "member", [cls, name, mine, positional, named]:
                return _member(cls, name, mine)(*positional, **named)
            case "op", [cls, name, mine, positional, named]:
                if cls is not None and _owner(mine, name) not in (cls, None):
                    return vars(cls)[name](mine, *positional, **named)
                return OPERATIONS[name](mine, *positional, **named)
            case "subclass", [name, bases, parts, keywords]:
                cls = types.new_class(
                    name, bases, keywords, lambda space: space.update(_body(parts))
                )
                return self._register(cls)
            case "await", [waited]:
                return self._await(waited)
            case "copy", [value]:
                import copy

                return copy.copy(value)
            case "deepcopy", [value]:
                import copy

                return copy.deepcopy(value)
        raise TypeError(f"there is no request {verb!r} of this form")

    def _await(self, waited: Any) -> Object:
        async def wait() -> Object:
            return await waited

        if self.judging:
            return _driven(wait())
        import asyncio

        if self._loop is None:
            self._loop = asyncio.new_event_loop()
        if self._loop.is_running():
            return _driven(wait())
        return self._loop.run_until_complete(wait())

    def _place(self, error: BaseException) -> str:
        """The last line on the traceback in a file of the program."""
        found = ""
        trace = error.__traceback__
        while trace is not None:
            name = trace.tb_frame.f_code.co_filename
            if name.startswith(self._folder):
                found = f"line {trace.tb_lineno} ({name[len(self._folder):]})"
            trace = trace.tb_next
        return found

    # ------------------------------------------------------------------ judging

    def named(self, value: Object) -> Object:
        """Notes that the test itself names this class, so its operators are what is tested."""
        if isinstance(value, FarType):
            type.__setattr__(value, "_far_named", True)
        return value

    def equal(self, mine: Object, other: object) -> bool:
        """`mine == other` for a stand-in."""
        if not self.judging or isinstance(other, (Far, FarType)):
            if self.judging:
                self._observe("its own objects are compared by the solution")
            return bool(self.request("op", None, "__eq__", mine, (other,), {}))
        base = builtin_base(type(mine))
        kind = type(mine).__name__
        own = getattr(type(mine), "_far_own_eq", False)
        if base is not None:
            same = base.__eq__(mine, other)
            if own and same is not True:
                self.refused.append(
                    f"what {kind} says of == is not taken: it is compared as {base.__name__}"
                )
            return same
        if own:
            self.refused.append(
                f"an object of the solution's class {kind} is never equal to a plain value"
                " on its own word"
            )
        return NotImplemented

    def operate(
        self, cls: type | None, name: str, mine: Object, args: tuple[Any, ...],
        kwargs: dict[str, Any],
    ) -> Any:
        """A special method of a stand-in."""
        if self.judging and name in JUDGING:
            far = any(isinstance(arg, (Far, FarType)) for arg in args)
            kind: Any = type(mine)
            base = builtin_base(kind)
            if base is not None and not far and (name in ORDER or not kind._far_named):
                # What the builtin underneath says is ours; the class may say more, unheard.
                return getattr(base, name)(mine, *args) if hasattr(base, name) else NotImplemented
            if not far and not kind._far_named:
                raise Opaque(
                    f"the result is an object of the solution's class {kind.__name__}, which the"
                    f" test does not name: its own {name} is no evidence"
                )
            if name in ORDER or name == "__contains__" or not far:
                self._observe(f"{name} of the solution's class {kind.__name__}")
        if name == "__exit__" and self.judging:
            return self._leave(cls, mine, args)
        return self.request("op", cls, name, mine, args, kwargs)

    def _leave(self, cls: type | None, mine: Object, args: tuple[Any, ...]) -> Object:
        """A `with` block ends; a failed assert of the test can not be suppressed by it."""
        error = args[1]
        if error is None:
            return self.request("op", cls, "__exit__", mine, (None, None, None), {})
        if isinstance(error, (*self.leave, Broken, Unsettled)):
            return None
        if self._is_verdict(error):
            told = error
            if id(error) not in self._oids:
                told = AssertionError("an assert of the test failed")
            self.request("op", cls, "__exit__", mine, (type(told), told, None), {})
            return None
        return self.request("op", cls, "__exit__", mine, (type(error), error, None), {})

    def _is_verdict(self, error: BaseException) -> bool:
        """Whether an exception decides an assert of the test: the solution may not hide it."""
        ours = id(error) not in self._oids and (
            isinstance(error, AssertionError) or type(error).__module__ == "_pytest.outcomes"
        )
        return ours or self.in_assert(error)

    def _observe(self, why: str) -> None:
        if why not in self.observed:
            self.observed.append(why)

    def _note_call(self, mine: Object, name: str, args: tuple[Any, ...],
                   kwargs: dict[str, Any]) -> None:
        if self.judging and self._serving == 0:
            shown = [_shown(arg) for arg in args]
            shown += [f"{key}={_shown(arg)}" for key, arg in kwargs.items()]
            self.last_call = (name, f"{name}({', '.join(shown)})"[:2000])

    # ------------------------------------------------------------------ shared objects

    def hold(self, oid: str, value: Object) -> None:
        """Knows `value` by an id of the other side, until reset."""
        self._held[oid] = _Held(value, keep=True)
        self._oids[id(value)] = oid

    def oid_of(self, value: Object) -> str | None:
        """The id both sides know this object by, if they do."""
        return self._oids.get(id(value))

    def _register(self, value: Object) -> str:
        oid = self._oids.get(id(value))
        if oid is None:
            oid = self._adopt_mine(value, keep=True)
        return oid

    def _known(self, value: Object) -> str | None:
        return self._oids.get(id(value))

    def _adopt_mine(self, value: Object, keep: bool | None = None) -> str:
        self._count += 1
        oid = f"{self._side}{self._count}"
        container = is_container(value)
        self._held[oid] = _Held(value, keep=not container if keep is None else keep)
        self._oids[id(value)] = oid
        self._fresh.append(oid)
        return oid

    def _adopt_theirs(self, oid: str, value: Object, keep: bool = False) -> None:
        if not isinstance(oid, str) or oid in self._held or oid.startswith(self._side):
            raise Garbled("an object under a wrong id")
        self._held[oid] = _Held(value, keep)
        self._oids[id(value)] = oid

    def _settle(self, oid: str) -> None:
        held = self._held.get(oid)
        if held is not None and is_container(held.value):
            held.snapshot = _snapshot(held.value)

    def _lookup(self, oid: str) -> Object:
        return self._held[oid].value

    def _forget(self, oid: str) -> None:
        held = self._held.pop(oid, None)
        if held is not None:
            self._oids.pop(id(held.value), None)

    def _changed(self) -> list[str]:
        return [
            oid for oid, held in list(self._held.items())
            if held.snapshot is not None and not _same(held.snapshot, _snapshot(held.value))
        ]

    def _prune(self) -> list[str]:
        """Forgets containers and stand-ins that nothing on this side holds any more."""
        dropped = []
        for oid in list(self._held):
            held = self._held[oid]
            if not held.keep and sys.getrefcount(held.value) <= _IDLE:
                dropped.append(oid)
                self._forget(oid)
        return dropped

    # ------------------------------------------------------------------ naming what is not plain

    def _refer(self, value: Object, encoder: Encoder) -> Wire:
        oid = self._oids.get(id(value))
        if oid is not None:
            return ["@", oid]
        if isinstance(value, type):
            library = self.judging and value.__module__.partition(".")[0] in sys.stdlib_module_names
            plain = f"{value.__module__}.{value.__qualname__}" in PLAIN_TYPES
            if library and not plain and _found(value.__module__, value.__qualname__) is value:
                return ["gf", value.__module__, value.__qualname__]
            return self._class_wire(value, encoder)
        if isinstance(value, BaseException):
            return self._exception_wire(value, encoder)
        if isinstance(value, types.ModuleType):
            if self.judging:
                return ["m", value.__name__]
            return ["M", self._adopt_mine(value), value.__name__]
        member = getattr(value, "_far_member", None) if isinstance(
            value, types.FunctionType) else None
        if member is not None:
            return ["mem", self._oids[id(member[0])], member[1]]
        if self.judging:
            path = _library_path(value)
            if path is not None:
                return ["gf", *path]
            if isinstance(value, (types.FunctionType, types.MethodType,
                                  types.BuiltinFunctionType)):
                return ["fn", self._adopt_mine(value, keep=True), value.__name__]
        kind = type(value)
        wire = self._class_wire(kind, encoder)
        base = builtin_base(kind)
        if base is None:
            keep = self.judging
            return ["R", self._adopt_mine(value, keep), wire]
        oid = self._adopt_mine(value, keep=self.judging)
        if base in MUTABLE:
            return ["R", oid, wire, encoder.content(value)]
        return ["R", oid, wire, encoder.encode(_bare(base, value))]

    def _class_wire(self, cls: type, encoder: Encoder) -> Wire:
        oid = self._oids.get(id(cls))
        if oid is not None:
            return ["@", oid]
        path = f"{cls.__module__}.{cls.__qualname__}"
        if PLAIN_TYPES.get(path) is cls:
            return ["g", path]
        if issubclass(cls, BaseException) and _found(cls.__module__, cls.__qualname__) is cls:
            if cls.__module__.partition(".")[0] in sys.stdlib_module_names or self.judging:
                return ["x", cls.__module__, cls.__qualname__]
            if not _inside(sys.modules.get(cls.__module__), self._folder):
                return ["x", cls.__module__, cls.__qualname__]
        bases = [self._class_wire(base, encoder) for base in cls.__bases__]
        oid = self._adopt_mine(cls, keep=True)
        space = vars(cls)
        members = [
            name for name, item in space.items()
            if isinstance(item, (types.FunctionType, types.MethodDescriptorType))
            and (not _special(name) or name in ("__init__", "__post_init__"))
        ]
        for name in members:
            self._originals[id(cls), name] = space[name]
        fields = [
            [field.name, field.init, field.repr, field.compare]
            for field in space.get("__dataclass_fields__", {}).values()
            if field._field_type.name == "_FIELD"
        ] if isinstance(space.get("__dataclass_fields__"), dict) else None
        description = {
            "name": str(cls.__name__), "qualname": str(cls.__qualname__),
            "module": str(cls.__module__), "bases": bases, "members": members,
            "special": [name for name in OPERATIONS if name in space],
            "unhashable": "__hash__" in space and space["__hash__"] is None,
            "awaitable": "__await__" in space, "fields": fields,
        }
        return ["C", oid, description]

    def _exception_wire(self, error: BaseException, encoder: Encoder) -> Wire:
        cls = self._class_wire(type(error), encoder)
        oid = self._adopt_mine(error)
        args = [self._or_text(arg, encoder) for arg in error.args]
        state = {
            str(name): self._or_text(item, encoder)
            for name, item in vars(error).items() if isinstance(name, str)
        } if hasattr(error, "__dict__") else {}
        if isinstance(error, OSError) and error.filename is not None:
            args = [*args[:2], self._or_text(error.filename, encoder)]
        cause = None if error.__cause__ is None else encoder.encode(error.__cause__)
        return ["E", oid, cls, args, state, cause]

    def _or_text(self, value: Object, encoder: Encoder) -> Wire:
        return encoder.encode(value)

    # ------------------------------------------------------------------ standing in

    def _resolve(self, wire: list[Wire], decoder: Decoder) -> Object:
        match wire:
            case ["g", str(path)]:
                return PLAIN_TYPES[path]
            case ["x", str(module), str(name)]:
                return self._exception_class(module, name)
            case ["C", str(oid), dict(description)]:
                return self._mirror(oid, description, decoder)
            case ["M", str(oid), str(name)]:
                module = FarModule(name, self)
                self._adopt_theirs(oid, module, keep=True)
                return module
            case ["E", str(oid), cls, list(args), dict(state), cause]:
                return self._exception(oid, cls, args, state, cause, decoder)
            case ["R", str(oid), cls]:
                return self._stand_in(oid, decoder._value(cls))
            case ["R", str(oid), cls, content]:
                return self._stand_in(oid, decoder._value(cls), content, decoder)
            case ["mem", str(oid), str(name)]:
                return self._original(self._held[oid].value, name)
            case ["fn", str(oid), str(name)] if not self.judging:
                return self._function(oid, name)
            case ["gf", str(module), str(name)] if not self.judging:
                found = _found(module, name, load=True)
                if found is None:
                    raise Garbled(f"there is no {module}.{name}")
                return found
            case ["m", str(name)] if not self.judging:
                return importlib.import_module(name)
        raise Garbled("a value that is none")

    def _exception_class(self, module: str, name: str) -> type:
        root = module.partition(".")[0]
        known = root in sys.stdlib_module_names
        # pytest's own outcomes steer pytest: the solution must not raise the real ones here.
        if self.judging and not known and root in ("pytest", "_pytest"):
            raise Garbled(f"an exception class of {root}")
        found = _found(module, name, load=known or not self.judging)
        if not isinstance(found, type) or not issubclass(found, BaseException):
            # A package this side has not imported: its name is all there is.
            return type(name.rpartition(".")[2], (Exception,), {"__module__": module})
        return found

    def _mirror(self, oid: str, description: dict[str, Any], decoder: Decoder) -> type:
        # Bases first: they come before the class on the wire as well.
        bases = [decoder._value(base) for base in description["bases"]]
        kept = [
            base for base in bases
            if isinstance(base, FarType) or base in DERIVABLE or (
                isinstance(base, type) and issubclass(base, BaseException))
        ]
        name = str(description["name"])
        if not any(isinstance(base, FarType) for base in kept):
            kept.insert(0, Far)
        space: dict[str, Any] = {
            "__slots__": (), "__module__": str(description["module"]),
            "__qualname__": str(description["qualname"]),
        }
        holder: list[type] = []
        for member in description["members"]:
            space[str(member)] = self._member(holder, str(member))
        special = set(description["special"]) & set(OPERATIONS)
        for operation in special - set(ALWAYS):
            space[operation] = self._operation(holder, operation)
        if "__exit__" in special and "__enter__" not in special:
            del space["__exit__"]
        if description["unhashable"]:
            space["__hash__"] = None
        real = REAL_TYPES.get(name) if description["module"] == "builtins" else None
        if real is not None:
            space["__class__"] = property(lambda mine: real)
        if description["awaitable"]:
            space.update(_awaiting(self))
        if oid in self._held or not isinstance(oid, str) or oid.startswith(self._side):
            raise Garbled("a class under a wrong id")
        try:
            cls = FarType(name, tuple(kept), space, far=(self, oid))
        except TypeError:
            # Bases that builtins forbid together; the builtin one goes.
            kept = [base for base in kept if isinstance(base, FarType)]
            cls = FarType(name, tuple(kept), space, far=(self, oid))
        holder.append(cls)
        own = "__eq__" in special or any(getattr(b, "_far_own_eq", False) for b in kept)
        type.__setattr__(cls, "_far_own_eq", own)
        if description["fields"] is not None:
            type.__setattr__(cls, "__dataclass_fields__", _fields(description["fields"]))
        return cls

    def _member(self, holder: list[type], name: str) -> Callable[..., Object]:
        def member(mine: Any, *args: Any, **kwargs: Any) -> Any:
            self._note_call(mine, name, args, kwargs)
            return self.request("member", holder[0], name, mine, args, kwargs)

        member.__name__ = member.__qualname__ = name
        member._far_member = _Lazy(holder, name)  # type: ignore[attr-defined]
        return member

    def _operation(self, holder: list[type], name: str) -> Callable[..., Object]:
        def operation(mine: Any, *args: Any, **kwargs: Any) -> Any:
            if name == "__call__" and self.judging:
                self._note_call(mine, _name_of(mine), args, kwargs)
            return self.operate(holder[0], name, mine, args, kwargs)

        operation.__name__ = operation.__qualname__ = name
        return operation

    def _original(self, cls: Any, name: str) -> Object:
        return self._originals.get((id(cls), name)) or vars(cls)[name]

    def _stand_in(
        self, oid: str, cls: Any, content: Wire = None, decoder: Decoder | None = None
    ) -> Object:
        if not isinstance(cls, type):
            raise Garbled("an object without a class")
        if not isinstance(cls, FarType):
            # Named, not mirrored: a class of the standard library whose instances stay there.
            cls = FarType(cls.__name__, (Far,), {"__slots__": ()}, far=(self, f"{oid}c"))
        base = builtin_base(cls)
        keep = not self.judging
        if base is None:
            value = object.__new__(cls) if not issubclass(cls, BaseException) else cls.__new__(cls)
            self._adopt_theirs(oid, value, keep)
            return value
        if decoder is None:
            raise Garbled("an object without its content")
        if base in MUTABLE:
            value = base.__new__(cls)
            self._adopt_theirs(oid, value, keep)
            decoder.refill(value, content)
            self._settle(oid)
            return value
        value = base.__new__(cls, decoder._value(content))
        self._adopt_theirs(oid, value, keep)
        return value

    def _exception(
        self, oid: str, cls: Wire, args: list[Wire], state: dict[str, Wire], cause: Wire,
        decoder: Decoder,
    ) -> BaseException:
        kind = decoder._value(cls)
        if not isinstance(kind, type) or not issubclass(kind, BaseException):
            raise Garbled("an exception without a class")
        values = [decoder._value(arg) for arg in args]
        error = _new_exception(kind, values)
        self._adopt_theirs(oid, error, keep=True)
        for name, item in state.items():
            if not _special(name) or name == "__notes__":
                BaseException.__setattr__(error, name, decoder._value(item))
        because = decoder._value(cause)
        if isinstance(because, BaseException):
            error.__cause__ = because
        return error

    def _function(self, oid: str, name: str) -> Callable[..., Object]:
        def stub(*args: Any, **kwargs: Any) -> Any:
            return self.request("call", stub, args, kwargs)

        stub.__name__ = stub.__qualname__ = name
        self._adopt_theirs(oid, stub, keep=True)
        return stub


class _Lazy:
    """The class and name a forwarding method stands for; the class is made after it."""

    def __init__(self, holder: list[type], name: str) -> None:
        self._holder = holder
        self._name = name

    def __getitem__(self, index: int) -> Object:
        return (self._holder[0], self._name)[index]


def is_container(value: Object) -> bool:
    """Whether both sides hold this object's content and keep it equal."""
    return isinstance(value, tuple(MUTABLE)) or array_content_possible(value)


def _snapshot(value: Object) -> Object:
    if isinstance(value, (list, dict, set, bytearray)) or not array_content_possible(value):
        return contents(value)
    return [value.tobytes()]


def _same(before: Object, now: Object) -> bool:
    """Whether two snapshots hold the very same objects; equality would run their code."""
    if len(before) != len(now):
        return False
    if before and type(before[0]) is bytes and len(before) == 1:
        return bool(type(now[0]) is bytes and before[0] == now[0])
    return all(map(operator.is_, before, now))


def _bare(base: type, value: Object) -> Object:
    """The content of an instance of a subclass, read by the builtin base itself."""
    if base is int:
        return int.__index__(value)
    if base is float:
        return float.fromhex(float.hex(value))
    if base is str:
        return str.__str__(value)
    if base is bytes:
        return bytes.__getitem__(value, slice(None))
    if base is tuple:
        return tuple(tuple.__iter__(value))
    if base is frozenset:
        return frozenset(frozenset.__iter__(value))
    return complex(complex.__getattribute__(value, "real"),
                   complex.__getattribute__(value, "imag"))


def _new_exception(kind: type[BaseException], args: list[Object]) -> BaseException:
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


def _awaiting(link: Link) -> dict[str, Object]:
    """What makes a stand-in for a coroutine one: it runs to its end where it lives."""

    def wait(mine: Any) -> Generator[None, None, Object]:
        yield from ()
        return link.request("await", mine)

    def send(mine: Any, value: Object) -> Object:
        raise StopIteration(link.request("await", mine))

    return {"__await__": wait, "send": send}


def _driven(coroutine: Coroutine[Any, Any, Object]) -> Object:
    """Runs a coroutine that never really waits."""
    try:
        while True:
            if coroutine.send(None) is not None:
                raise Unsettled("a coroutine of the test waits within one of the solution")
    except StopIteration as end:
        return end.value


def _fields(described: list[list[Any]]) -> dict[str, Object]:
    import dataclasses

    fields: dict[str, Object] = {}
    for name, init, shown, compare in described:
        field: Any = dataclasses.field(init=bool(init), repr=bool(shown), compare=bool(compare))
        field.name, field.type = str(name), "object"
        # asdict and replace look for this mark; there is no public way to set it.
        field._field_type = dataclasses._FIELD  # type: ignore[attr-defined]
        fields[str(name)] = field
    return fields


def _owner(mine: Object, name: str) -> type | None:
    return next((cls for cls in type(mine).__mro__ if name in vars(cls)), None)


def _member(cls: Any, name: str, mine: Object) -> Callable[..., Any]:
    """The method as `mine` finds it, or, where a subclass overrides it, that of `cls`."""
    if name == "__init__" or _owner(mine, name) not in (cls, None):
        function: Callable[..., Any] = vars(cls)[name].__get__(mine)
        return function
    found: Callable[..., Any] = getattr(mine, name)
    return found


def _library_path(value: Object) -> tuple[str, str] | None:
    """Module and name of a function that the standard library has on both sides."""
    module = getattr(value, "__module__", None)
    name = getattr(value, "__qualname__", None)
    if isinstance(value, types.MethodDescriptorType):
        module = value.__objclass__.__module__
    if isinstance(value, types.BuiltinFunctionType) and not isinstance(
        value.__self__, types.ModuleType | type(None)
    ):
        return None
    if not isinstance(module, str) or not isinstance(name, str):
        return None
    if module.partition(".")[0] not in sys.stdlib_module_names:
        return None
    kinds = (types.BuiltinFunctionType, types.MethodDescriptorType, types.FunctionType)
    return (module, name) if isinstance(value, kinds) and _found(module, name) is value else None


def _found(module: str, name: str, load: bool = False) -> Object:
    """What a module calls by a dotted name, or `None`."""
    try:
        found: Object = importlib.import_module(module) if load else sys.modules.get(module)
    except ImportError:
        return None
    for part in name.split("."):
        found = getattr(found, part, None)
    return found


def _inside(module: Object, folder: str) -> bool:
    name = getattr(module, "__file__", None)
    return isinstance(name, str) and name.startswith(folder)


def _name_of(mine: Any) -> str:
    name = mine.__name__ if type(mine).__name__ in ("function", "method") else ""
    return name if isinstance(name, str) else ""


def _shown(value: Object) -> str:
    """A short `repr` that asks the solution nothing."""
    if isinstance(value, (Far, FarType)):
        return f"<{value.__name__ if isinstance(value, FarType) else type(value).__name__}>"
    if isinstance(value, (list, tuple, dict, set, frozenset)):
        if any(isinstance(item, Far) for item in value):
            return f"<{type(value).__name__}>"
        if len(value) > 200:
            return f"<{type(value).__name__} of {len(value)}>"
    if isinstance(value, (str, bytes)) and len(value) > 2000:
        return f"<{type(value).__name__} of {len(value)}>"
    if isinstance(value, types.FunctionType):
        return value.__name__
    try:
        return repr(value)
    except (ValueError, RecursionError):  # more digits than allowed, or endless nesting
        return f"<{type(value).__name__}>"


def _permit(verb: str, args: list[Any]) -> None:
    """What the solution may do with objects of the test: use them, not look behind them."""
    if verb in ("call", "await", "copy", "deepcopy"):
        return
    if verb == "member" and len(args) == 5 and (not _special(args[1]) or args[1] == "__init__"):
        return
    if verb == "op" and len(args) == 5 and args[1] in OPERATIONS:
        return
    closed = (
        types.FunctionType, types.MethodType, types.GeneratorType, types.CoroutineType,
        types.FrameType, types.CodeType, types.TracebackType, types.ModuleType, types.CellType,
        types.AsyncGeneratorType,
    )
    if verb in ("get", "set", "delete") and len(args) >= 2 and isinstance(args[1], str):
        owner, name = args[0], args[1]
        if not name.startswith("_") and not isinstance(owner, closed):
            return
        if verb == "get" and name in ("__name__", "__qualname__", "__doc__"):
            return
    raise AttributeError("the test does not give this away")


__all__ = [
    "Broken", "Channel", "Far", "FarModule", "FarType", "Link", "Opaque", "Unsettled",
    "builtin_base", "builtins", "is_container", "refill",
]
