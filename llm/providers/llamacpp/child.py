"""The server of a model as a child process: started when it is first asked, and shared by all
providers of this process that name the same model.

Downloading, loading and waiting happen in a thread, so that providers of several event loops can
wait for the same child.
"""

from __future__ import annotations

import atexit
import json
import os
import re
import secrets
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Literal

from llm.errors import NoProvider, UnknownModel
from llm.keys import Secret
from llm.providers.llamacpp.files import fetched
from llm.providers.machine import cores, free_mib

State = Literal["waiting", "downloading", "loading", "loaded", "failed"]
BATCH = 256
"""Tokens of a question that are read in one step."""
CACHE_MIB = 512
"""Memory for the beginnings of questions that were asked before."""
OVERHEAD_MIB = 400
"""What a server takes beside the weights and the context: buffers, and the library itself."""
CONTEXT_BYTES = 40 * 2**10
"""Of a token of context, in a model of about 3B parameters that shares its heads."""
STOP_S = 5.0
DYING_S = 0.2
PASSED_ON = re.compile(
    r"(PATH|HOME|LD_LIBRARY_PATH|PYTHONPATH|LANG|TMPDIR|(CUDA|GGML|LLAMA|HIP|ROCR?|VK|OMP)_\w+)"
)
"""The variables of the environment that a child gets: no key is among them."""


@dataclass(frozen=True)
class ServedModel:
    """A model as it is served; providers that name the same share it."""

    model: str
    threads: int
    """0 is as many as there are cores."""
    context: int
    """Tokens that question and answer of one call may have together."""
    slots: int
    """Calls that are answered side by side."""
    idle_s: int
    """Seconds without a call after which the process is ended; the next call starts another."""

    def needed_mib(self, path: Path) -> int:
        """Memory that serving a file takes, about."""
        context = self.context * self.slots * CONTEXT_BYTES
        return (path.stat().st_size + context) // 2**20 + OVERHEAD_MIB

    def orders(self, path: Path, key: str) -> dict[str, object]:
        """What `serve.py` is given."""
        return {
            "path": str(path), "key": key, "threads": self.threads or cores(), "slots": self.slots,
            "context": self.context, "batch": BATCH, "cache_mib": CACHE_MIB,
        }


@dataclass(frozen=True)
class Address:
    """Where a child listens."""

    url: str
    key: Secret


class ModelServer:
    """One process of a child, and what its library complains of."""

    def __init__(self) -> None:
        self._complaints = tempfile.TemporaryFile()  # noqa: SIM115 - as long as the process
        self.process = subprocess.Popen(
            [sys.executable, "-P", str(Path(__file__).with_name("serve.py"))],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._complaints, text=True,
            env={name: value for name, value in os.environ.items() if PASSED_ON.fullmatch(name)},
            start_new_session=True,  # Ctrl+C is for us, who end it
        )

    def asked(self, orders: Mapping[str, object]) -> dict[str, str]:
        """What it answers to its orders, once it is loaded; empty where it dies first."""
        process = self.process
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            process.stdin.write(json.dumps(orders) + "\n")
            process.stdin.flush()
            reply: dict[str, str] = json.loads(process.stdout.readline() or "{}")
        except (OSError, ValueError):
            return {}
        return reply

    def complaint(self) -> str:
        """The first reason that the library gave; empty where it gave none."""
        self._complaints.seek(0)
        text = self._complaints.read().decode("utf-8", "replace")
        found = re.search(r"error loading model: (.*)", text) or re.search(r" E \S+ *(.*)", text)
        return " ".join(found[1].split())[:200] if found else ""

    def end_in_words(self) -> str:
        """How it ended; empty while it lives."""
        status = self.process.poll()
        if status is None:
            return ""
        if status == -signal.SIGKILL:
            return "its process was killed, probably for want of memory: choose a smaller model"
        return f"its process ended with status {status}: {self.complaint()}".removesuffix(": ")

    def end(self) -> None:
        """Ends it; waits until it has."""
        process = self.process
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                with suppress(OSError):  # it is gone already
                    pipe.close()
        try:
            process.wait(STOP_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        self._complaints.close()


@dataclass
class Child:
    """One model's server. Its methods may be called from any thread."""

    which: ServedModel
    make_room: Callable[[], None]
    """Called before it is started, in the thread that starts it."""
    state: State = "waiting"
    fault: str = ""
    """Why it could not be started."""
    share: float = 0.0
    """Of the download that is here."""
    memory_mib: int = 0
    tokens_per_s: float = 0.0
    """How fast the last answer was written."""
    holders: int = 0
    _calls: int = 0
    _idle: threading.Timer | None = None
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _server: ModelServer | None = None
    _start: Future[Address] | None = None

    def started(self, key: Secret) -> Future[Address]:
        """Where it listens, once it does; raises an `LlmError` there. A start that failed, and a
        child that has died, are followed by a new start. `key` is the Hub's, if any."""
        with self._lock:
            start = self._start
            alive = self._server is not None and not self._server.end_in_words()
            over = start is not None and start.done()
            if start is not None and (not over or (start.exception() is None and alive)):
                return start
            self._start = start = Future()
            threading.Thread(
                target=self._begin, args=(start, key), name="llama.cpp", daemon=True
            ).start()
            return start

    def listening(self) -> Address | None:
        """Where it listens, if it does."""
        start = self._start
        is_over = start is not None and start.done() and start.exception() is None
        return start.result() if start is not None and is_over and self.state == "loaded" else None

    def end_in_words(self) -> str:
        """How its process ended; empty while it lives. Waits a moment for one that is ending."""
        server = self._server
        if server is None:
            return ""
        with suppress(subprocess.TimeoutExpired):
            server.process.wait(DYING_S)
        return server.end_in_words()

    @contextmanager
    def in_use(self) -> Iterator[None]:
        """A call, during which the process is not idle."""
        with self._lock:
            self._calls += 1
            if self._idle is not None:
                self._idle.cancel()
        try:
            yield
        finally:
            with self._lock:
                self._calls -= 1
                self._idle = threading.Timer(self.which.idle_s, self._end_idle)
                self._idle.daemon = True
                self._idle.start()

    def stop(self) -> None:
        """Ends the process; the next call starts another."""
        with self._lock:
            self._start = None
            self._end()

    def _end_idle(self) -> None:
        with self._lock:
            if not self._calls:
                self._start = None
                self._end()

    def _end(self) -> None:
        """Ends the process, if there is one; the lock is held."""
        server, self._server = self._server, None
        self.state = "waiting"
        if self._idle is not None:
            self._idle.cancel()
        if server is not None:
            server.end()

    def _begin(self, start: Future[Address], key: Secret) -> None:
        try:
            self.make_room()
            with self._lock:
                self._end()
            self.fault = ""
            self.state, self.share = "downloading", 0.0
            path = fetched(self.which.model, key, self._came)
            self.state = "loading"
            address = self._served(path)
        except BaseException as error:  # noqa: BLE001 - raised where the start is waited for
            self.state, self.fault = "failed", str(error)
            start.set_exception(error)
            return
        self.state = "loaded"
        start.set_result(address)

    def _came(self, here: int, whole: int) -> None:
        self.share = here / whole if whole else 0.0

    def _served(self, path: Path) -> Address:
        self.memory_mib = self.which.needed_mib(path)
        free = free_mib()
        if free is not None and self.memory_mib > free:
            raise NoProvider(
                f"{self.which.model} needs about {self.memory_mib:,} MiB, and {free:,} MiB are "
                "free: choose a smaller GGUF_MODEL, or a smaller GGUF_CONTEXT"
            )
        key = secrets.token_urlsafe(24)
        self._server = server = ModelServer()
        reply = server.asked(self.which.orders(path, key))
        if "address" in reply:
            return Address(f"{reply['address'].rstrip('/')}/v1", Secret(key))
        server.process.wait(STOP_S)
        complaint = server.complaint()
        why = f"{complaint}; set GGUF_MODEL to another file" if complaint else (
            reply.get("fault", "") or server.end_in_words()
        )
        raise UnknownModel(f"{self.which.model} cannot be loaded: {why}")


class Children:
    """The servers of this process, by what they serve."""

    def __init__(self) -> None:
        self._all: dict[ServedModel, Child] = {}
        self._lock = threading.Lock()
        atexit.register(self.stop)

    def held(self, which: ServedModel) -> Child:
        """The child of a model, kept for a provider until it is released."""
        with self._lock:
            if which not in self._all:
                self._all[which] = Child(which, self._end_unused)
            child = self._all[which]
            child.holders += 1
        return child

    def release(self, child: Child) -> None:
        """Takes that back. The server stays until another model is loaded."""
        with self._lock:
            child.holders -= 1

    def _end_unused(self) -> None:
        """Ends the servers that no provider holds, before another model is loaded."""
        with self._lock:
            unused = [one for one in self._all.values() if not one.holders]
        for child in unused:
            child.stop()

    def stop(self) -> None:
        """Ends all of them."""
        for child in [*self._all.values()]:
            child.stop()


@cache
def children() -> Children:
    """The children that all providers of this process share."""
    return Children()
