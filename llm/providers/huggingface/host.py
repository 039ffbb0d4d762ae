"""The process's one worker: a thread with a queue, and the models that it has loaded.

One thread, because the random numbers of a sampled answer are the process's, two answers at once
are no faster than one after the other, and memory is bounded that way. It imports torch, which
takes seconds, so that the event loop does not.
"""

from __future__ import annotations

import atexit
import queue
import threading
from collections import Counter, deque
from collections.abc import Callable, Generator
from concurrent.futures import Future
from contextlib import closing, suppress
from contextvars import copy_context
from dataclasses import dataclass, field
from functools import cache, partial
from typing import TYPE_CHECKING

from llm.errors import LlmError, NoProvider, ProviderDown
from llm.keys import Secret
from llm.providers.huggingface import zerogpu
from llm.providers.huggingface.status import Description, Ended, State
from llm.types import Message, Request

if TYPE_CHECKING:
    from llm.providers.huggingface.decoding import LocalModel

Loader = Callable[[str, Secret, bool], "LocalModel"]
Emit = Callable[[str], None]

RECENT = 5
STOP_S = 10.0
"""How long the end of the process waits for the worker: a load cannot be interrupted."""
HELLO = Request("warming", "", (Message("user", "Hello"),), max_tokens=4)
"""Asked once after loading, since the first run of a network takes longer than others."""


@dataclass(frozen=True)
class Which:
    """A model as it is loaded; providers that name the same share it."""

    model: str
    four_bit: bool


@dataclass
class _Place:
    """What is known of one model. Written by the worker, read by all."""

    state: State = "waiting"
    fault: str = ""
    model: LocalModel | None = None
    recent: deque[Ended] = field(default_factory=lambda: deque(maxlen=RECENT))


class Host:
    """Loads each model once, and asks in the order in which it was asked."""

    def __init__(self, loader: Loader | None = None) -> None:
        self._loader = loader
        self._jobs: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self._calls: set[threading.Event] = set()
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._places: dict[Which, _Place] = {}
        self._holders: Counter[Which] = Counter()
        self._lent = zerogpu.lent(self._items)

    def hold(self, which: Which) -> None:
        """Says that a provider wants this model kept."""
        with self._lock:
            self._holders[which] += 1
            self._places.setdefault(which, _Place())

    def release(self, which: Which) -> None:
        """Takes that back. The model stays until another one needs its memory."""
        with self._lock:
            self._holders[which] -= 1

    def ask(
        self, which: Which, key: Secret, request: Request, emit: Emit, cancelled: threading.Event
    ) -> Future[Ended]:
        """The answer's end, some time; its text goes to `emit`, from the worker's thread. A future
        that is cancelled while it waits is never begun."""
        future: Future[Ended] = Future()

        def job() -> None:
            if cancelled.is_set():
                future.cancel()
            if not future.set_running_or_notify_cancel():
                self._calls.discard(cancelled)
                return
            try:
                ended = self._answer(which, self._loaded(which, key), request, emit, cancelled)
            except BaseException as error:  # noqa: BLE001 - raised where the future is waited for
                future.set_exception(error)
            else:
                if not ended.cancelled:
                    self._places[which].recent.append(ended)
                future.set_result(ended)
            finally:
                self._calls.discard(cancelled)

        with self._lock:
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, name="local model", daemon=True)
                self._thread.start()
                atexit.register(self.stop)
            self._calls.add(cancelled)
        # A lent GPU is of whoever asks: the library finds their request in the context.
        self._jobs.put(partial(copy_context().run, job))
        return future

    def warm(self, which: Which, key: Secret) -> None:
        """Loads a model before it is asked; what goes wrong is told by `describe`, and raised for
        whoever asks next, who tries again. Where GPUs are lent it is loaded in this thread, once,
        and never later."""
        if self._lent is None:
            self.ask(which, key, HELLO, lambda piece: None, threading.Event())
        elif self._places[which].state == "waiting":
            with suppress(LlmError):
                self._fetch(which, key)

    def stop(self) -> None:
        """Ends all calls, and the worker. A thread that is in the midst of torch when the process
        ends makes it abort."""
        with self._lock:
            for cancelled in list(self._calls):
                cancelled.set()
            thread, self._thread = self._thread, None
        if thread is not None:
            self._jobs.put(None)
            thread.join(STOP_S)

    def model(self, which: Which) -> LocalModel | None:
        """The model, where it is loaded."""
        place = self._places[which]
        return place.model if place.state == "loaded" else None

    def describe(self, which: Which) -> Description:
        """How the model is doing."""
        place = self._places[which]
        fitted = None if place.model is None else place.model.fitted
        return Description(which.model, place.state, place.fault, fitted, tuple(place.recent))

    def _work(self) -> None:
        while (job := self._jobs.get()) is not None:
            job()

    def _answer(
        self, which: Which, model: LocalModel, request: Request, emit: Emit,
        cancelled: threading.Event,
    ) -> Ended:
        if self._lent is None:
            return model.answer(request, emit, cancelled)
        items = zerogpu.borrowed(self._lent, which.model, which.four_bit, request)
        with closing(items):
            for item in items:
                if isinstance(item, Ended):
                    return item
                if isinstance(item, LlmError):
                    raise item
                emit(item)
                if cancelled.is_set():
                    return zerogpu.UNWANTED
        raise ProviderDown(f"the loan of a GPU to {which.model} ended before its answer did")

    def _items(
        self, model: str, four_bit: bool, request: Request
    ) -> Generator[zerogpu.Item, None, None]:
        there = self._places[Which(model, four_bit)].model
        assert there is not None
        yield from zerogpu.items(there, request)

    def _loaded(self, which: Which, key: Secret) -> LocalModel:
        place = self._places[which]
        if place.model is not None:
            return place.model
        if self._lent is not None:
            raise NoProvider(place.fault or (
                f"{which.model} was not loaded when this space started, and later none can be: set "
                "HF_MODEL to it"
            ))
        return self._fetch(which, key)

    def _fetch(self, which: Which, key: Secret) -> LocalModel:
        place = self._places[which]
        self._let_go()
        place.state, place.fault = "loading", ""
        try:
            place.model = self._load(which, key)
            if self._lent is None:  # a lent process is another one each time
                self._answer(which, place.model, HELLO, lambda piece: None, threading.Event())
        except BaseException as error:  # whatever it was, the next call may try again
            place.state, place.fault, place.model = "failed", str(error), None
            raise
        place.state = "loaded"
        return place.model

    def _load(self, which: Which, key: Secret) -> LocalModel:
        if self._loader is not None:
            return self._loader(which.model, key, which.four_bit)
        from llm.providers.huggingface.loading import load

        return load(which.model, key, which.four_bit)

    def _let_go(self) -> None:
        """Frees the models that no provider holds, before another is loaded."""
        with self._lock:
            for which, place in self._places.items():
                if self._holders[which] <= 0:
                    place.model, place.state = None, "waiting"


@cache
def this_process() -> Host:
    """The host that all providers of this process share."""
    return Host()
