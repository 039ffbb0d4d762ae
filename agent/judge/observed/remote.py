"""Objects of one jailed process as seen from the other.

The tests run in one process, the solution in another. A plain value crosses as itself
(`codec`). Any other object stays where it was made; the other side gets a stand-in
(`standins`, `naming`) whose every use is a request to the owner. So state, identity,
generators, context managers, callbacks, subclasses and exceptions behave as in one process,
and yet no object of the solution ever exists where its answers are judged.

Mutable containers exist on both sides. Every message first brings what changed in those that
both sides hold (`sharing`), so a list sorted over there is seen sorted here.

Requests nest strictly: while one side waits it serves the other's requests. Each carries a
random number that its reply must repeat; anything else ends the link.

On the judging side (the tests'), a stand-in has no say on its own judgement:

- it never equals a plain value;
- its other operators on plain values are followed only where the test itself names its class,
  and that is noted in `observed`, as is equality between the solution's own objects;
- it cannot hide that an assert of the test failed, or was never decided.

    Broken        the link is of no more use: the other process ended or sent what is no message
    Unfollowable  the test needs what cannot cross (`standins`)

Both are no `Exception`, so that no test takes them for what the solution raised, and each is
remembered in `stopped`: a test that catches them anyway does not pass.
"""

from __future__ import annotations

import os
import threading
import types
from collections.abc import Callable, Iterator, Sequence
from operator import itemgetter

from agent.judge.observed.codec import CodecError, Decoder, Encoder, Garbled
from agent.judge.observed.naming import FUNCTION_KINDS, Names
from agent.judge.observed.operations import JUDGING, OPERATIONS, ORDER
from agent.judge.observed.sharing import Table
from agent.judge.observed.standins import (
    BUILTIN,
    StandIn,
    StandInType,
    Unfollowable,
)
from agent.judge.signs import ACTING

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Protocol

    from agent.judge.observed.codec import Object, Wire

    Message = dict[str, Any]

    class Channel(Protocol):
        """Carries JSON messages; `receive` gives `None` once the other end is gone."""

        def send(self, value: Any) -> None: ...

        def receive(self) -> Any: ...


PREDICATES = frozenset({
    name for kind in BUILTIN for name in dir(kind)
    if name.startswith("is") or name in (
        "startswith", "endswith", "count", "index", "find", "rindex", "rfind", "difference",
        "symmetric_difference", "intersection", "union", "partition", "rpartition",
    )
})
"""Methods of builtins that judge what they are given: is it, is it there, how often, what else."""

class LinkLost(BaseException):
    """The other process is gone, or what it sent is no message."""


class Link:
    """One end. `side` is "t" for the tests' end, which judges, or "s" for the solution's."""

    def __init__(self, channel: Channel, side: str, folder: str) -> None:
        self.judging = side == "t"
        self.table = Table(side)
        self.names = Names(self, folder)
        self.broken = ""
        self.leave: tuple[type[BaseException], ...] = ()
        """Exceptions that end the test at once instead of crossing."""
        self.in_assert: Callable[[BaseException], bool] = lambda error: False
        """Whether an exception came up while an assert of the test was being evaluated."""
        self.enclose: Callable[[], Message] = dict
        """Gives what else goes with every message."""
        self.unfold: Callable[[Message], None] = lambda message: None
        """Takes what else came with a message, before its values are read."""
        self.prepare: Callable[[], None] = lambda: None
        """Runs before each request; may make requests itself."""
        self.checks_something: Callable[[types.CodeType], bool] = lambda code: False
        """Whether code of the test holds an assert."""
        self.expects_stop = False
        """The test itself speaks of the end of an iteration."""
        self.handlers: dict[str, Callable[..., Object]] = {}
        """Further requests this side answers."""
        self.functions: dict[str, str] = {}
        """The modules of the other side's functions, by id."""
        self._channel = channel
        self._decoder = Decoder(self.table, self.names.resolve)
        self._lock = threading.RLock()
        self._serving = 0
        self._preparing = False
        self._refilled = self._emptied = False
        """What the solution did to containers of the test, during the request that runs."""
        self.knows_classes = False
        self.aliased = ""
        """That names of the solution's which the test tells apart are one object, in words."""
        self._names_of: dict[str, str] = {}
        """Objects of the solution, by id, to the name under which the test took them."""
        self._made: set[str] = set()
        """Objects that the test made, by the solution's classes, and has not handed over since."""
        self._states: dict[str, list[tuple[str, object]]] = {}
        """What objects of this side held when the other last had to do with them, by id."""
        self.common = ""
        """What went beyond plain calls before any test began, and is there in each of them."""
        self.forget_notes()

    @property
    def _ends(self) -> tuple[type[BaseException], ...]:
        """What ends a test and is no word of the solution's."""
        return (*self.leave, LinkLost, Unfollowable)

    def forget_notes(self) -> None:
        """A new test begins."""
        self.observed: list[str] = []
        """Where the solution's word was taken, in words."""
        self.calls = 0
        """Uses of the solution by the test."""
        self.signs: list[str] = []
        """What the solution was seen doing to the test, in words."""
        classes = "the test uses classes of the program" if self.knows_classes else ""
        self.beyond = self.common or classes
        """What of the test goes beyond plain calls with plain answers, in words."""
        self.handed: dict[int, object] = {}
        """Functions of the test that check something, handed to the solution and not called
        since, by `id` of their code."""
        self.swallowed: dict[int, BaseException] = {}
        """What kept an assert in a callback from holding; the solution saw it first. By `id` of
        the callback's code: what holds when it is called again was not hidden."""
        self.unvouched = self.aliased
        """Why a pass rests on objects that the solution has a hand in all the while, in words."""
        self.stopped: BaseException | None = None
        """The first error of this link."""

    def reset(self) -> None:
        """Forgets every shared object; the other side must do the same."""
        self.table.clear()
        self.functions.clear()
        self.knows_classes = False
        self.aliased = ""
        self._names_of.clear()
        self._made.clear()
        self._states.clear()
        self.forget_notes()

    # ---------------------------------------------------------------- talking

    def request(self, verb: str, *args: Object) -> Any:
        """Asks the other side and gives its answer; serves its requests meanwhile."""
        if self.broken:
            raise self._stop(LinkLost(self.broken))
        if not self.judging and not self._serving:
            raise RuntimeError("the test is not listening any more")
        with self._lock:
            self._prepare()
            if self.judging and verb == "get":
                self._note_predicate(args[0], args[1])
            if self.judging and self._made and verb != "get":
                self._note_handed(args[1:] if verb == "call" else args[2:])
            number = os.urandom(8).hex()
            self._refilled = self._emptied = False
            try:
                self._post({"id": number, "verb": verb}, "args", list(args))
            except CodecError as error:
                raise self.unfollowable(str(error)) from error
            while True:
                message = self._next()
                if message is None:
                    raise self.give_up("the solution's process ended")
                if "verb" in message:
                    self._serve(message)
                elif message.get("id") == number:
                    if self.judging and "raised" in message:
                        self._note_beyond(verb, args, None)
                    answer = self._answer(message, _is_call(verb, args))
                    if self.judging:
                        self._note_beyond(verb, args, answer)
                        self._note_objects(verb, args, answer)
                    return answer
                else:
                    raise self.give_up("the solution's process sent a reply nobody asked for")

    def serve(self) -> None:
        """Answers requests until the other side is gone."""
        while (message := self._next()) is not None:
            self._serve(message)

    def _prepare(self) -> None:
        if not self._preparing:
            self._preparing = True
            try:
                self.prepare()
            finally:
                self._preparing = False

    def _note_beyond(self, verb: str, args: tuple[Any, ...], answer: Any) -> None:
        """Keeps in mind what a contradiction cannot rest on."""
        self.knows_classes = self.knows_classes or isinstance(answer, StandInType)
        if self.beyond or verb in ("load", "module") or (
            verb == "get" and isinstance(args[0], types.ModuleType)
            and (type(answer) in _ATOMS or _is_function(answer))
        ):
            return
        self.calls += 1
        if not _is_call(verb, args):
            self.beyond = _FEATURES.get(verb, "the test uses objects of the program")
        elif not (_is_all_plain(args[2]) and _is_all_plain(args[3])):
            self.beyond = "the test hands objects of its own to the program"
        elif not _is_all_plain(answer):
            self.beyond = "the test uses objects of the program"

    def _note_objects(self, verb: str, args: tuple[Any, ...], answer: Any) -> None:
        """Keeps in mind where the solution had a hand in what the test compares."""
        if self._refilled and (answer is not None or self._emptied):
            self._vouch_no_more("the program changes what it is handed, and answers besides")
        oid = self.table.oid(answer) if isinstance(answer, StandIn | StandInType) else None
        if oid is None:
            return
        if verb == "get" and isinstance(args[0], types.ModuleType | StandInType):
            if self._names_of.setdefault(oid, args[1]) != args[1] and not _is_function(answer):
                self.aliased = "names of the program that the test tells apart are one object"
                self._vouch_no_more(self.aliased)
        elif oid in self._made and _is_call(verb, args):
            self._vouch_no_more("the program answers with an object that the test has made")

    def _vouch_no_more(self, why: str) -> None:
        self.unvouched = self.unvouched or why

    def _note_handed(self, args: tuple[Any, ...]) -> None:
        """What the test hands over may come back to it."""
        for one in _parts(args):
            if isinstance(one, StandIn):
                self._made.discard(self.table.oid(one) or "")

    def _answer(self, message: Message, is_call: bool) -> Any:
        if "ok" in message:
            return self._decode(message["ok"])
        if "raised" in message:
            error = self._decode(message["raised"])
            if not isinstance(error, BaseException):
                raise self.give_up("the solution's process raised what is no exception")
            if self.judging:
                self._note_raised(error, is_call)
            raise error
        if "refused" in message:
            raise self.unfollowable(str(message["refused"])[:1000])
        raise self.give_up("the solution's process sent a reply without an answer")

    def _note_raised(self, error: BaseException, is_call: bool) -> None:
        if type(error).__module__ != "builtins":
            self.beyond = self.beyond or "the program raises exceptions of its own"
        elif isinstance(error, OSError):
            self.beyond = self.beyond or "the program meets other files than the test's process has"
        if is_call and not self.expects_stop and isinstance(
            error, StopIteration | StopAsyncIteration
        ):
            self.signs.append(ACTING["stop-iteration"])
        if type(error).__module__ in ("unittest.case", "_pytest.outcomes", "_pytest.runner"):
            self.signs.append(ACTING["control-flow"])

    def _serve(self, message: Message) -> None:
        if self.judging:
            self.beyond = self.beyond or "the program calls back into the test"
        number, verb, args = message.get("id"), message.get("verb"), message.get("args")
        if not isinstance(number, str) or not isinstance(verb, str) or not isinstance(args, list):
            raise self.give_up("the solution's process sent what is no request")
        reply: Message = {"id": number}
        kind, value = "ok", None
        self._serving += 1
        try:
            values = [self._decode(arg) for arg in args]
            try:
                value = self._perform(verb, values)
            except self._ends:
                raise
            except BaseException as error:  # noqa: BLE001 - code we do not know raises anything
                kind, value = "raised", self._disclosed(error)
            if not self.judging:
                self._note_states(values)
            with self._lock:
                try:
                    self._post(reply, kind, value)
                except CodecError as error:
                    self._post({"id": number, "refused": str(error)}, "note", None)
        finally:
            self._serving -= 1

    def _disclosed(self, error: BaseException) -> BaseException:
        """What the other side hears of an exception: nothing of a failed assert's message."""
        if not self.judging or not self._decides(error):
            return error
        self.swallowed[_code_id(error)] = error
        known = self.table.oid(error) is not None
        return error if known else AssertionError("an assert of the test failed")

    def _post(self, message: Message, key: str, value: Object) -> None:
        """Sends a message with what changed since the last one; undone if it cannot cross."""
        if self.judging:
            dropped = self.table.prune()
            if dropped:
                message["drop"] = dropped
        message.update(self.enclose())
        self.table.fresh = []
        encoder = Encoder(self.table, self.names.refer)
        changed = self.table.changed()
        try:
            if changed:
                message["sync"] = [
                    [oid, encoder.content(self.table.value(oid))] for oid in changed
                ]
            if key == "args":
                message[key] = [encoder.encode(item) for item in value]
            else:
                message[key] = encoder.encode(value)
        except BaseException:
            for oid in self.table.fresh:
                self.table.forget(oid)
            raise
        for oid in (*changed, *self.table.fresh):
            self.table.settle(oid)
        if not self.judging:
            self._note_states([self.table.value(oid) for oid in self.table.fresh])
        try:
            self._channel.send(message)
        except Exception as error:  # the channel's own error class is not importable here
            raise self.give_up(f"the solution's process ended ({error})") from error

    def _next(self) -> Message | None:
        try:
            message = self._channel.receive()
            if message is None:
                return None
            self.unfold(message)
            if self.judging and "drop" in message:
                raise Garbled("the solution would have the tests forget")
            for oid in message.get("drop", ()):
                self.table.forget(oid)
                self._states.pop(oid, None)
            for oid, content in message.get("sync", ()):
                if not self.table.is_settled(oid):
                    raise Garbled("a content for what is no container")
                value = self.table.value(oid)
                self._decoder.refill(value, content)
                self._refilled, self._emptied = True, self._emptied or not value
                self.table.settle(oid)
        except Exception as error:  # whatever a forged message makes go wrong, it is forged
            why = f"{type(error).__name__}: {error}"[:300]
            raise self.give_up(f"the solution's process sent what is no message: {why}") from error
        if not isinstance(message, dict):
            raise self.give_up("the solution's process sent what is no message")
        return message

    def _decode(self, wire: Wire) -> Object:
        try:
            return self._decoder.value(wire)
        except Unfollowable as error:
            raise self._stop(error) from None
        except Exception as error:  # as above
            why = f"{type(error).__name__}: {error}"[:300]
            raise self.give_up(f"the solution's process sent what is no value: {why}") from error

    def unfollowable(self, why: str) -> BaseException:
        """The test cannot be followed any further; the error to raise for that."""
        return self._stop(Unfollowable(why))

    def give_up(self, why: str) -> BaseException:
        """The link is of no more use; the error to raise for that."""
        self.broken = self.broken or why
        return self._stop(LinkLost(self.broken))

    def _stop(self, error: BaseException) -> BaseException:
        self.stopped = self.stopped or error
        return error

    # ---------------------------------------------------------------- doing

    def _perform(self, verb: str, args: list[Any]) -> Object:
        if verb in self.handlers:
            return self.handlers[verb](*args)
        if self.judging:
            if verb == "call" or (verb == "op" and args[0] in ("__call__", "__next__")):
                for one in args[:2]:
                    self.handed.pop(id(code_of(one)), None)
            # str.format, say, reads any attribute of what it is given.
            known = self.table.oid(args[1 if verb == "op" else 0]) is not None
            if not known or not _permitted(verb, args):
                raise AttributeError("the test does not give this away")
        match verb, args:
            case "get", [owner, name]:
                return getattr(owner, name)
            case "set", [owner, name, value]:
                return setattr(owner, name, value)
            case "delete", [owner, name]:
                return delattr(owner, name)
            case "owns", [owner, name]:
                return name in vars(owner)
            case "call", [function, positional, named]:
                answer = function(*positional, **named)
                self.swallowed.pop(id(code_of(function)), None)
                return answer
            case "op", [name, mine, positional, named]:
                return OPERATIONS[name](mine, *positional, **named)
            case "alike", [mine, other]:
                same = self._as_it_was(mine) and self._as_it_was(other)
                return bool(mine == other), same and alike(mine, other)
        raise TypeError(f"there is no request {verb!r} of this form")

    def _note_states(self, values: list[Any]) -> None:
        for one in _parts(values):
            oid = self.table.oid(one)
            if oid is not None and not isinstance(one, (type, *_CLOSED)):
                self._states[oid] = _state(one)

    def _as_it_was(self, mine: Any) -> bool:
        """Whether an object holds what it held when the test last had to do with it."""
        oid = self.table.oid(mine) or ""
        return oid not in self._states or self._states[oid] == _state(mine)

    # ---------------------------------------------------------------- judging

    def named(self, value: Object) -> Object:
        """Notes that the test itself names this class, so its operators are what is tested."""
        if isinstance(value, StandInType):
            type.__setattr__(value, "_far_named", True)
        return value

    def equal(self, mine: Object, other: object) -> Any:
        """`mine == other` for a stand-in; `NotImplemented` lets the plain value answer."""
        if not self.judging or isinstance(other, (StandIn, StandInType)):
            if not self.judging or mine is other or isinstance(mine, type):
                return bool(self.request("op", "__eq__", mine, (other,), {}))
            self._observe("its own objects are compared by the solution")
            equal, alike = self.request("alike", mine, other)
            if equal is True and alike is not True:
                raise self.unfollowable(
                    f"objects of the program's class {type(mine).__name__} say that they are equal,"
                    " though they hold different things, or have changed by themselves"
                )
            return bool(equal)
        return NotImplemented

    def made(self, cls: StandInType, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """A new object of the solution; one that is none must speak for itself."""
        known = self.table.taken
        value = self.request("call", cls, args, kwargs)
        if self.judging and isinstance(value, StandIn):
            self._made.add(self.table.oid(value) or "")
        if self.judging and isinstance(value, StandIn) and not self.table.is_new(value, known):
            raise self.unfollowable(
                f"the program's class {type(value).__name__} gives an object again where a new one"
                " is asked for"
            )
        return value

    def contains(self, cls: StandInType, key: Object) -> bool:
        """`key in cls`, as for an enumeration."""
        if self.judging:
            self._may_judge(cls, "__contains__")
            self._observe(f"__contains__ of the solution's class {cls.__name__}")
        return bool(self.request("op", "__contains__", cls, (key,), {}))

    def operate(
        self, name: str, mine: Object, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        """A special method of a stand-in."""
        if name == "__exit__" and self.judging:
            return self._leave(mine, args)
        if self.judging and name in JUDGING:
            among_themselves = any(isinstance(arg, (StandIn, StandInType)) for arg in args)
            if not among_themselves:
                self._may_judge(type(mine), name)
            if not among_themselves or name in ORDER or name == "__contains__":
                self._observe(f"{name} of the solution's class {type(mine).__name__}")
        return self.request("op", name, mine, args, kwargs)

    def _may_judge(self, kind: Any, name: str) -> None:
        """What an object makes of a value of the test may be its own word on that value."""
        if not kind._far_named:
            raise self.unfollowable(
                f"an object of the solution's class {kind.__name__}, which the test does not"
                f" name, would judge itself by its own {name}"
            )

    def _leave(self, mine: Object, args: tuple[Any, ...]) -> Object:
        """A `with` block ends; it cannot hide what kept an assert of the test from holding."""
        error = args[1]
        if error is None:
            return self.request("op", "__exit__", mine, (None, None, None), {})
        if isinstance(error, self._ends):
            return None
        disclosed = error
        decides = self._decides(error)
        if decides and self.table.oid(error) is None:
            disclosed = AssertionError("an assert of the test failed")
        error_type = type(disclosed)
        result = self.request("op", "__exit__", mine, (error_type, disclosed, None), {})
        if result and not decides:
            self._vouch_no_more("a `with` of the program hides an exception")
        return None if decides else result

    def _decides(self, error: BaseException) -> bool:
        """Whether an exception kept an assert of the test from holding."""
        ours = self.table.oid(error) is None and (
            isinstance(error, AssertionError) or is_outcome(error)
        )
        return ours or self.in_assert(error)

    def _observe(self, why: str) -> None:
        if why not in self.observed:
            self.observed.append(why)

    def _note_predicate(self, mine: Object, name: Any) -> None:
        """`text.startswith("x")`, where text is no string of ours, leaves the answer to it."""
        if name in PREDICATES and isinstance(mine, StandIn) and not type(mine)._far_named:
            self._observe(f"{name} of the solution's class {type(mine).__name__}")

    def hand_over(self, value: Any) -> None:
        """The solution is given an object of the test."""
        code = None if isinstance(value, (StandIn, StandInType)) else code_of(value)
        if code is not None and self.checks_something(code):
            self.handed[id(code)] = value


def _code_id(error: BaseException) -> int:
    """The `id` of the code in which an exception was passed on last, on this side."""
    trace = error.__traceback__
    while trace is not None and trace.tb_frame.f_code.co_filename.startswith("<frozen _judge"):
        trace = trace.tb_next
    return 0 if trace is None else id(trace.tb_frame.f_code)


def code_of(value: Any) -> types.CodeType | None:
    """The code of a function, a method or a coroutine."""
    code = getattr(getattr(value, "__func__", value), "__code__", None)
    code = code or getattr(value, "cr_code", None) or getattr(value, "gi_code", None)
    return code if isinstance(code, types.CodeType) else None


def alike(mine: object, other: object) -> bool:
    """Whether two objects hold the same, whatever they say of themselves; what holds nothing that
    can be seen is like itself alone."""
    if mine is other:
        return True
    held = [*_held(mine)]
    return type(mine) is type(other) and bool(held) and bool(
        sorted(held, key=itemgetter(0)) == sorted(_held(other), key=itemgetter(0))
    )


def _slots(value: object) -> list[str]:
    return [
        name for cls in type(value).__mro__
        for slots in (getattr(cls, "__slots__", ()),)
        for name in ((slots,) if isinstance(slots, str) else slots)
    ]


def _held(value: object) -> Iterator[tuple[str, object]]:
    """What an object has of its own; its own code is not asked."""
    own: dict[str, object] = _own(value, "__dict__")
    yield from (own if type(own) is dict else {}).items()
    for name in _slots(value):
        if name not in ("__dict__", "__weakref__"):
            yield name, _own(value, name)


def _own(value: object, name: str) -> Any:
    try:
        return object.__getattribute__(value, name)
    except AttributeError:
        return None


def _state(value: object) -> list[tuple[str, object]]:
    """The same, to be compared later without running any code of it."""
    return [
        (name, repr(one) if _is_all_plain(one) else id(one)) for name, one in _held(value)
    ]


def _parts(values: Sequence[Any]) -> Iterator[Any]:
    """Values, those within the lists, tuples and dictionaries of them, and whose methods they
    are."""
    waiting, seen = [*values], 0
    while waiting and seen < _MOST_PARTS:
        one = waiting.pop()
        seen += 1
        if type(one) in (list, tuple):
            waiting += one
        elif type(one) is dict:
            waiting += one.values()
        elif type(one) is types.MethodType:
            waiting.append(one.__self__)
        else:
            yield one


def is_outcome(error: BaseException) -> bool:
    """Whether an exception is pytest's own: failed, skipped. Its classes hide their module."""
    return any(cls.__module__ == "_pytest.outcomes" for cls in type(error).__mro__)


_ATOMS = (type(None), bool, int, float, complex, str, bytes)
_FEATURES = {
    "set": "the test changes the program's own state",
    "delete": "the test changes the program's own state",
    "surroundings": "the test changes the folder or the environment",
}
_MOST_PARTS = 2_000


def _is_function(value: object) -> bool:
    return isinstance(value, StandIn) and type(value).__name__ in FUNCTION_KINDS


def _is_call(verb: str, args: tuple[Any, ...]) -> bool:
    """Whether a request is the call of a function."""
    return verb == "op" and args[0] == "__call__" and _is_function(args[1])


def _is_all_plain(value: Any) -> bool:
    """Whether a value and all in it are of Python's exact plain types."""
    waiting, seen = [value], 0
    while waiting:
        one = waiting.pop()
        seen += 1
        if type(one) in (list, tuple, set, frozenset):
            waiting += one
        elif type(one) is dict:
            waiting += [*one, *one.values()]
        elif type(one) not in _ATOMS:
            return False
        if seen > _MOST_PARTS:
            return False
    return True


_CLOSED = (
    types.FunctionType, types.MethodType, types.GeneratorType, types.CoroutineType,
    types.FrameType, types.CodeType, types.TracebackType, types.ModuleType, types.CellType,
    types.AsyncGeneratorType,
)


_CONFIGURES = ("configure_mock", "mock_add_spec", "attach_mock", "reset_mock")
"""Ways to change what a mock says was done with it, other than doing it."""


def _permitted(verb: str, args: list[Any]) -> bool:
    """Whether the solution may do this with objects of the test: use them, not look behind them,
    nor change what they are."""
    if verb == "get" and len(args) == 2 and isinstance(args[1], str):
        owner, name = args
        inside = name.startswith("_") or name in _CONFIGURES or isinstance(owner, (*_CLOSED, str))
        return not inside or name in ("__name__", "__qualname__", "__doc__")
    return verb == "call" or (verb == "op" and len(args) == 4 and args[0] in OPERATIONS)

