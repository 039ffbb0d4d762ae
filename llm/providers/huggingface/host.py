"""The process's worker thread with its queue and the models that it has loaded.

There is one thread because the random state belongs to the process, two answers at
once are no faster than one after the other, and memory stays bounded. The thread also imports
torch, which takes seconds and would block the event loop.
"""

from __future__ import annotations

import atexit
import queue
import threading
from collections import Counter
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Literal

from llm.keys import Secret
from llm.types import Finish, Message, Request, Usage

if TYPE_CHECKING:
    from llm.providers.huggingface.decoding import LocalModel

Loader = Callable[[str, Secret, bool], "LocalModel"]
Emit = Callable[[str], None]

STOP_S = 10.0
"""How long the process waits for the worker at exit, since a load cannot be interrupted."""
WARM_UP = Request("warming", "", (Message("user", "Hello"),), max_tokens=4)
"""The warm-up request after loading, since the first forward pass is slower than others."""


@dataclass(frozen=True)
class FinishedAnswer:
    """How an answer ended, with its usage and time."""

    finish: Finish
    usage: Usage
    note: str
    wall_s: float
    cancelled: bool = False


@dataclass(frozen=True)
class ModelVariant:
    """A model and its format; providers with the same values share the loaded model."""

    model: str
    four_bit: bool


@dataclass
class ModelState:
    """The state of one model. Written by the worker, read from all threads."""

    state: Literal["waiting", "loading", "loaded", "failed"] = "waiting"
    fault: str = ""
    """Why it could not be loaded."""
    model: LocalModel | None = None
    last: FinishedAnswer | None = None
    """The last call that was not cancelled."""


class ModelHost:
    """Loads each model once and runs requests in order."""

    def __init__(self, loader: Loader | None = None) -> None:
        self._loader = loader
        self._jobs: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self._calls: set[threading.Event] = set()
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._states: dict[ModelVariant, ModelState] = {}
        self._holders: Counter[ModelVariant] = Counter()

    def hold(self, which: ModelVariant) -> ModelState:
        """Registers a provider that uses this model, so that it stays loaded."""
        with self._lock:
            self._holders[which] += 1
            return self._states.setdefault(which, ModelState())

    def release(self, which: ModelVariant) -> None:
        """Undoes one `hold`. The model stays loaded until another one is loaded."""
        with self._lock:
            self._holders[which] -= 1

    def ask(
        self, which: ModelVariant, key: Secret, request: Request, emit: Emit,
        cancelled: threading.Event,
    ) -> Future[FinishedAnswer]:
        """Queues a request. `emit` receives the text in the worker's thread; the future resolves at
        the end of the answer. A future that is cancelled while it waits is not run."""
        future: Future[FinishedAnswer] = Future()

        def job() -> None:
            if cancelled.is_set():
                future.cancel()
            if not future.set_running_or_notify_cancel():
                self._calls.discard(cancelled)
                return
            try:
                ended = self._loaded(which, key).answer(request, emit, cancelled)
            except BaseException as error:  # noqa: BLE001 - raised where the future is waited for
                future.set_exception(error)
            else:
                if not ended.cancelled:
                    self._states[which].last = ended
                future.set_result(ended)
            finally:
                self._calls.discard(cancelled)

        with self._lock:
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, name="local model", daemon=True)
                self._thread.start()
                atexit.register(self.stop)
            self._calls.add(cancelled)
        self._jobs.put(job)
        return future

    def stop(self) -> None:
        """Ends all calls and the worker. A thread that still runs torch at exit would make the
        process abort."""
        with self._lock:
            for cancelled in list(self._calls):
                cancelled.set()
            thread, self._thread = self._thread, None
        if thread is not None:
            self._jobs.put(None)
            thread.join(STOP_S)

    def _work(self) -> None:
        while (job := self._jobs.get()) is not None:
            job()

    def _loaded(self, which: ModelVariant, key: Secret) -> LocalModel:
        model_state = self._states[which]
        if model_state.model is not None:
            return model_state.model
        self._unload_unused()
        model_state.state, model_state.fault = "loading", ""
        try:
            model = self._load(which, key)
            model.answer(WARM_UP, lambda piece: None, threading.Event())
        except BaseException as error:  # the next call may try again
            model_state.state, model_state.fault = "failed", str(error)
            raise
        model_state.model, model_state.state = model, "loaded"
        return model

    def _load(self, which: ModelVariant, key: Secret) -> LocalModel:
        if self._loader is not None:
            return self._loader(which.model, key, which.four_bit)
        from llm.providers.huggingface.loading import load

        return load(which.model, key, which.four_bit)

    def _unload_unused(self) -> None:
        """Frees the models that no provider uses, before another is loaded."""
        with self._lock:
            for which, model_state in self._states.items():
                if self._holders[which] <= 0:
                    model_state.model, model_state.state = None, "waiting"


@cache
def shared_host() -> ModelHost:
    """The host that all providers of this process share."""
    return ModelHost()
