"""Runs the llama.cpp server of a model as a child process.

The child is started by the first call and shared by all providers of this process with the same
model. It is downloaded, loaded and awaited in a thread, so that several event loops can share it.
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
from llm.providers.llamacpp.files import fetch_file
from llm.providers.machine import cores, free_mib

State = Literal["waiting", "downloading", "loading", "loaded", "failed"]
BATCH = 256
"""Tokens of a request that are processed in one step."""
CACHE_MIB = 512
"""Memory of the cache of prompt prefixes."""
OVERHEAD_MIB = 400
"""Memory of the server without weights and context: buffers and the library itself."""
CONTEXT_BYTES = 40 * 2**10
"""Memory per token of context for a model of about 3B parameters with grouped-query attention."""
STOP_S = 5.0
DYING_S = 0.2
ENV_PATTERN = re.compile(
    r"(PATH|HOME|LD_LIBRARY_PATH|PYTHONPATH|LANG|TMPDIR|(CUDA|GGML|LLAMA|HIP|ROCR?|VK|OMP)_\w+)"
)
"""The environment variables that a child inherits; none holds a key."""


@dataclass(frozen=True)
class ServedModel:
    """A model and its server settings; providers with the same values share the server."""

    model: str
    threads: int
    """0 uses all cores."""
    context: int
    """The context window: tokens of request and answer of one call."""
    slots: int
    """The number of concurrent calls."""
    idle_s: int
    """Seconds without a call after which the process ends; the next call starts another."""
    server: str = ""
    """The address, `URL#KEY`, of the server of another process, which is used instead of one."""

    def needed_mib(self, path: Path) -> int:
        """The approximate memory for serving a file."""
        context = self.context * self.slots * CONTEXT_BYTES
        return (path.stat().st_size + context) // 2**20 + OVERHEAD_MIB

    def settings(self, path: Path, key: str) -> dict[str, object]:
        """The settings that `serve.py` reads from standard input."""
        return {
            "path": str(path), "key": key, "threads": self.threads or cores(), "slots": self.slots,
            "context": self.context, "batch": BATCH, "cache_mib": CACHE_MIB,
        }


@dataclass(frozen=True)
class Address:
    """The URL and key of a child's server."""

    url: str
    key: Secret


class ModelServer:
    """The process of a child and its error output."""

    def __init__(self) -> None:
        self._stderr_file = tempfile.TemporaryFile()  # noqa: SIM115 - lives with the process
        self.process = subprocess.Popen(
            [sys.executable, "-P", str(Path(__file__).with_name("serve.py"))],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._stderr_file, text=True,
            env={name: value for name, value in os.environ.items() if ENV_PATTERN.fullmatch(name)},
            start_new_session=True,  # Ctrl+C must only reach this process, which ends the child
        )

    def load(self, settings: Mapping[str, object]) -> dict[str, str]:
        """Sends the settings and returns the reply after loading; empty if the process dies."""
        process = self.process
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            process.stdin.write(json.dumps(settings) + "\n")
            process.stdin.flush()
            reply: dict[str, str] = json.loads(process.stdout.readline() or "{}")
        except (OSError, ValueError):
            return {}
        return reply

    def library_error(self) -> str:
        """The first error message of the library; empty without one."""
        self._stderr_file.seek(0)
        text = self._stderr_file.read().decode("utf-8", "replace")
        found = re.search(r"error loading model: (.*)", text) or re.search(r" E \S+ *(.*)", text)
        return " ".join(found[1].split())[:200] if found else ""

    def exit_message(self) -> str:
        """How the process ended; empty while it runs."""
        status = self.process.poll()
        if status is None:
            return ""
        if status == -signal.SIGKILL:
            return "its process was killed, probably out of memory: choose a smaller model"
        message = f"its process ended with status {status}: {self.library_error()}"
        return message.removesuffix(": ")

    def end(self) -> None:
        """Ends the process and waits for it."""
        process = self.process
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                with suppress(OSError):  # the process has ended
                    pipe.close()
        try:
            process.wait(STOP_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        self._stderr_file.close()


@dataclass
class Child:
    """The server of one model. Its methods may be called from any thread."""

    which: ServedModel
    make_room: Callable[[], None]
    """Frees memory before a start, in the thread of the start."""
    state: State = "waiting"
    fault: str = ""
    """Why it could not be started."""
    share: float = 0.0
    """The finished share of the download, 0 to 1."""
    memory_mib: int = 0
    tokens_per_s: float = 0.0
    """The speed of the last answer."""
    holders: int = 0
    _calls: int = 0
    _idle: threading.Timer | None = None
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _server: ModelServer | None = None
    _start: Future[Address] | None = None

    def started(self, key: Secret) -> Future[Address]:
        """A future of the server's address, which may raise an `LlmError`.

        Starts the server unless it runs or is starting. `key` is the Hub's key, if any.
        """
        with self._lock:
            start = self._start
            alive = bool(self.which.server) or (
                self._server is not None and not self._server.exit_message()
            )
            over = start is not None and start.done()
            if start is not None and (not over or (start.exception() is None and alive)):
                return start
            self._start = start = Future()
            threading.Thread(
                target=self._begin, args=(start, key), name="llama.cpp", daemon=True
            ).start()
            return start

    def loaded_address(self) -> Address | None:
        """The server's address if it is loaded."""
        start = self._start
        is_over = start is not None and start.done() and start.exception() is None
        return start.result() if start is not None and is_over and self.state == "loaded" else None

    def exit_message(self) -> str:
        """How the process ended; waits shortly for its end. Empty if it still runs."""
        server = self._server
        if server is None:
            return ""
        with suppress(subprocess.TimeoutExpired):
            server.process.wait(DYING_S)
        return server.exit_message()

    @contextmanager
    def in_use(self) -> Iterator[None]:
        """Keeps the process from being ended as idle."""
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
        """Ends the process, if there is one; the caller holds the lock."""
        server, self._server = self._server, None
        self.state = "waiting"
        if self._idle is not None:
            self._idle.cancel()
        if server is not None:
            server.end()

    def _begin(self, start: Future[Address], key: Secret) -> None:
        try:
            if self.which.server:
                url, _, shared_key = self.which.server.partition("#")
                self.state = "loaded"
                start.set_result(Address(url, Secret(shared_key)))
                return
            self.make_room()
            with self._lock:
                self._end()
            self.fault = ""
            self.state, self.share = "downloading", 0.0
            path = fetch_file(self.which.model, key, self._report_progress)
            self.state = "loading"
            address = self._start_server(path)
        except BaseException as error:  # noqa: BLE001 - raised where the start is waited for
            self.state, self.fault = "failed", str(error)
            start.set_exception(error)
            return
        self.state = "loaded"
        start.set_result(address)

    def _report_progress(self, done: int, total: int) -> None:
        self.share = done / total if total else 0.0

    def _start_server(self, path: Path) -> Address:
        self.memory_mib = self.which.needed_mib(path)
        free = free_mib()
        if free is not None and self.memory_mib > free:
            raise NoProvider(
                f"{self.which.model} needs about {self.memory_mib:,} MiB, and {free:,} MiB are "
                "free: choose a smaller GGUF_MODEL, or a smaller GGUF_CONTEXT"
            )
        key = secrets.token_urlsafe(24)
        self._server = server = ModelServer()
        reply = server.load(self.which.settings(path, key))
        if "address" in reply:
            return Address(f"{reply['address'].rstrip('/')}/v1", Secret(key))
        server.process.wait(STOP_S)
        error = server.library_error()
        why = f"{error}; set GGUF_MODEL to another file" if error else (
            reply.get("fault", "") or server.exit_message()
        )
        raise UnknownModel(f"{self.which.model} cannot be loaded: {why}")


class Children:
    """The model servers of this process."""

    def __init__(self) -> None:
        self._all: dict[ServedModel, Child] = {}
        self._lock = threading.Lock()
        atexit.register(self.stop)

    def reserve(self, which: ServedModel) -> Child:
        """The child of a model, reserved for a provider until `release`."""
        with self._lock:
            if which not in self._all:
                self._all[which] = Child(which, self._end_unused)
            child = self._all[which]
            child.holders += 1
        return child

    def release(self, child: Child) -> None:
        """Undoes one `reserve`. The server runs until another model is loaded."""
        with self._lock:
            child.holders -= 1

    def _end_unused(self) -> None:
        """Ends the servers that no provider uses, before another model is loaded."""
        with self._lock:
            unused = [one for one in self._all.values() if not one.holders]
        for child in unused:
            child.stop()

    def stop(self) -> None:
        """Ends all servers."""
        for child in [*self._all.values()]:
            child.stop()


@cache
def children() -> Children:
    """The children that all providers of this process share."""
    return Children()
