"""Notes which rules of the jail a program runs against; it enforces none.

The kernel refuses without telling the host, so the interpreter's audit events are watched
instead. What they say is the program's own word: good for an explanation, for no verdict. The
rules it tells of are those of `types.DENIAL_MEANINGS`.
See https://docs.python.org/3/library/audit_events.html.
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
    """Calls `tell` once for each rule that is met."""

    def __init__(self, readable: tuple[str, ...]) -> None:
        self._readable = readable
        self._tell: Callable[[str], bool] | None = None
        self._own: tuple[str, ...] = ()
        self._relative = False
        self._told: dict[str, object] = {}
        self._handlers: dict[str, Callable[[Any], str]] = {
            **dict.fromkeys(_PROCESSES, lambda _: "processes"),
            **dict.fromkeys(_NETWORK, lambda _: "network"),
            **dict.fromkeys(_FILES, self._file),
            "os.symlink": lambda arguments: self._file(arguments[1:]),  # where, not whereto
            **dict.fromkeys(_SIGNALS, _signal),
            _SOCKET: _socket,
        }
        sys.addaudithook(self._note)

    def begin(
        self, tell: Callable[[str], bool], own: tuple[str, ...], relative: bool,
        granted: tuple[str, ...] = (),
    ) -> None:
        """Reports rules from now on, except those `granted`. `own` folders belong to the job; so,
        with `relative`, does every path that is not absolute. Paths under `own` are not reported:
        where files are closed altogether, a traceback looks there for lines all the same."""
        for rule in granted:
            self._told[rule] = None
        self._own = own
        self._relative = relative
        self._tell = tell

    def _note(self, event: str, arguments: Any) -> None:
        handler = self._handlers.get(event)
        if handler is None or self._tell is None:
            return
        rule = handler(arguments)
        if not rule:
            return
        # Of threads that meet a rule at once, one is the first, and it alone tells.
        mine = object()
        if self._told.setdefault(rule, mine) is mine and not self._tell(rule):
            del self._told[rule]

    def _file(self, arguments: Any) -> str:
        path = arguments[0]
        if isinstance(path, bytes):
            path = os.fsdecode(path)
        if not isinstance(path, str):
            return ""  # a descriptor, which the job holds already
        if not path.startswith("/"):
            return "" if self._relative else "files"
        return "" if path.startswith((*self._own, *self._readable)) else "files"


def _signal(arguments: Any) -> str:
    return "" if arguments[0] == os.getpid() else "signals"


def _socket(arguments: Any) -> str:
    return "" if arguments[1] in (_AF_UNIX, -1) else "network"
