"""Inside the solution's jail: holds the program, never a test or an expected value.

Serves the requests of the tests' process (`remote`). What the program prints during a request
goes along with the answer, so it appears where the test listens for it.
"""

from __future__ import annotations

import importlib
import io
import os
import sys
import types
from contextlib import suppress

from agent.judge.observed.remote import Link
from agent.judge.programs.loading import Program, begin
from agent.judge.programs.namesakes import forget_runners, hide_last_site

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

MOST_HELD = 1_000_000
"""Bytes of output held for one answer; the rest goes where the host counts it."""


class _Raw(io.BytesIO):
    """Takes output until it is fetched; beyond the limit it goes to the real descriptor."""

    def __init__(self, descriptor: int) -> None:
        super().__init__()
        self._descriptor = descriptor

    def write(self, part: Any) -> int:
        if self.tell() + len(part) > MOST_HELD:
            # It takes so many, and then none. That is no error of the program's: under pytest there
            # is none.
            with suppress(PermissionError):
                os.write(self._descriptor, part)
            return len(part)
        return super().write(part)

    def fetch(self) -> bytes:
        held = self.getvalue()
        self.seek(0)
        self.truncate()
        return held


class Served:
    """The program as it is asked for from outside, with what it prints and where it stands."""

    def __init__(
        self, forget: Callable[[], None], payload: dict[str, Any], folder: str
    ) -> None:
        self._forget = forget
        """Drops what is known of the module loaded before."""
        self._program = Program(payload, folder)
        self._stdin: str = payload["stdin"]
        self._raw = (_Raw(1), _Raw(2))

    def loaded(self) -> tuple[types.ModuleType, tuple[str, ...]]:
        """The program loaded afresh, and its names."""
        module = self.load()
        return module, tuple(dir(module))

    def load(self) -> types.ModuleType:
        """The program with its streams, afresh."""
        self._forget()
        self._fresh_streams()
        return self._program.load()

    def surroundings(self, folder: str | None, changes: dict[str, str | None]) -> None:
        """Takes over the test's current folder ("" is home) and its changes of the environment."""
        if folder is not None:
            os.chdir(folder or self._program.folder)
        for name, value in changes.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value

    def printed(self) -> dict[str, Any]:
        """What was printed since the last message."""
        message: dict[str, Any] = {}
        for key, raw, stream in zip(
            ("out", "err"), self._raw, (sys.__stdout__, sys.__stderr__), strict=True
        ):
            if stream is not None and not stream.closed:
                stream.flush()
            held = raw.fetch()
            if held:
                message[key] = held.decode("utf-8", "surrogatepass")
        return message

    def _fresh_streams(self) -> None:
        data = io.BytesIO(self._stdin.encode("utf-8", "surrogatepass"))
        # Declared final, but a program that is loaded afresh has all streams afresh.
        system: Any = sys
        system.stdin = system.__stdin__ = io.TextIOWrapper(data, "utf-8", "surrogatepass")
        self._raw = (_Raw(1), _Raw(2))
        out, err = (
            io.TextIOWrapper(raw, "utf-8", "surrogatepass", write_through=True)
            for raw in self._raw
        )
        system.stdout = system.__stdout__ = out
        system.stderr = system.__stderr__ = err


def main(jail: Any) -> None:
    """Serves until the tests' process is gone."""
    if jail.payload["last_site_is_ours"]:
        hide_last_site()
    forget_runners()
    begin(jail)
    link = Link(jail.peer, "s", jail.folder)
    program = Served(link.reset, jail.payload, jail.folder)
    link.handlers = {
        "load": program.loaded, "module": importlib.import_module,
        "surroundings": program.surroundings,
    }
    link.enclose = program.printed
    link.serve()
