"""Records which rules of the jail a program violates; enforces none.

The kernel does not report refused calls to the host, so the interpreter's audit events are used.
The program can forge them, so they are only good for explanations. The rules are those of
`types.DENIAL_MEANINGS`. See https://docs.python.org/3/library/audit_events.html.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

_PROCESSES = (
    "os.fork", "os.forkpty", "os.exec", "os.posix_spawn", "os.spawn", "os.system",
    "subprocess.Popen", "pty.spawn",
)
_NETWORK = (
    "socket.connect", "socket.bind", "socket.getaddrinfo", "socket.gethostbyname",
    "socket.gethostbyaddr", "socket.sendto",
)
_FILES = (
    "open", "os.listdir", "os.scandir", "os.chdir", "os.chmod", "os.chown", "os.link", "os.mkdir",
    "os.remove", "os.rename", "os.rmdir", "os.truncate", "os.utime",
)
_SIGNALS = ("os.kill", "os.killpg")
_SOCKET = "socket.__new__"
_AF_UNIX = 1


class RuleWatch:
    """Reports each violated rule once."""

    def __init__(self, readable: tuple[str, ...]) -> None:
        self._readable = readable
        self._report: Callable[[str], bool] | None = None
        self._own: tuple[str, ...] = ()
        self._relative = False
        self._reported: dict[str, object] = {}
        self._handlers: dict[str, Callable[[Any], str]] = {
            **dict.fromkeys(_PROCESSES, lambda _: "processes"),
            **dict.fromkeys(_NETWORK, lambda _: "network"),
            **dict.fromkeys(_FILES, self._file),
            "os.symlink": lambda arguments: self._file(arguments[1:]),  # the link, not its target
            **dict.fromkeys(_SIGNALS, _signal),
            _SOCKET: _socket,
        }
        sys.addaudithook(self._on_event)

    def begin(
        self, report_rule: Callable[[str], bool], own: tuple[str, ...], relative: bool,
        granted: tuple[str, ...] = (),
    ) -> None:
        """Starts to report rules, except those `granted`. Paths in `own` folders are allowed, and
        with `relative` all relative paths. `own` also applies where no file can be opened, since a
        traceback looks for source lines there."""
        for rule in granted:
            self._reported[rule] = None
        self._own = own
        self._relative = relative
        self._report = report_rule

    def _on_event(self, event: str, arguments: Any) -> None:
        handler = self._handlers.get(event)
        if handler is None or self._report is None:
            return
        rule = handler(arguments)
        if not rule:
            return
        # If several threads violate a rule at once, only the first one reports it.
        mine = object()
        if self._reported.setdefault(rule, mine) is mine and not self._report(rule):
            del self._reported[rule]

    def _file(self, arguments: Any) -> str:
        path = arguments[0]
        if isinstance(path, bytes):
            path = os.fsdecode(path)
        if not isinstance(path, str):
            return ""  # an open descriptor
        if not path.startswith("/"):
            return "" if self._relative else "files"
        return "" if path.startswith((*self._own, *self._readable)) else "files"


def _signal(arguments: Any) -> str:
    return "" if arguments[0] == os.getpid() else "signals"


def _socket(arguments: Any) -> str:
    return "" if arguments[1] in (_AF_UNIX, -1) else "network"
