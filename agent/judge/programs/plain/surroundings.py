"""Has a jail's process look like one of a user's machine, to a program that asks where it runs."""

from __future__ import annotations

import builtins
import io
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

_FAR = 20_000
_TEXTS = {
    "/etc/passwd": "root:x:0:0:root:/root:/bin/sh\n", "/etc/hosts": "127.0.0.1 localhost\n",
    "/etc/hostname": "machine\n", "/etc/os-release": "ID=linux\n",
}
_FOLDERS = ("/proc", "/proc/self", "/etc", "/sys", "/run", "/var", "/root", "/boot", "/mnt")


def elsewhere(texts: str) -> None:
    """Another user, other limits, files that are everywhere, and another process's number, unless
    the program's texts make processes of their own."""
    _files()
    other = 1000 if os.getuid() == 0 else 0
    for name in ("getuid", "geteuid", "getgid", "getegid") if "st_uid" not in texts else ():
        setattr(os, name, _told(getattr(os, name)(), other))
    try:
        import resource
    except ImportError:
        return
    resource.getrlimit = lambda which: (-1, -1)
    if not any(word in texts for word in ("fork", "rocess", "spawn")):
        _number()


def _number() -> None:
    pid, kill = os.getpid(), os.kill
    for name in ("getpid", "getppid"):
        number = getattr(os, name)()
        setattr(os, name, _told(number, number + _FAR))
    os.kill = lambda number, sign: kill(pid if number == pid + _FAR else number, sign)


def _told(true: int, other: int) -> Callable[[], int]:
    """The other one, but to the runner and to pytest, whose own files are this user's."""
    def asked() -> int:
        caller = sys._getframe(1).f_code.co_filename
        return true if caller.startswith("<jail ") or "_pytest" in caller else other

    return asked


def _files() -> None:
    plain = builtins.open

    def opened(path: Any, *args: Any, **named: Any) -> Any:
        text = _TEXTS.get(str(path))
        return plain(path, *args, **named) if text is None else io.StringIO(text)

    for owner in (builtins, io):
        owner.open = opened  # type: ignore[attr-defined]
    for name in ("stat", "lstat", "access"):
        setattr(os, name, _seeing(getattr(os, name)))


def _seeing(function: Any) -> Any:
    """The same, of a file or folder that is on every machine one that is here."""
    folder = os.path.dirname(os.__file__)
    shown = dict.fromkeys(_TEXTS, os.__file__) | dict.fromkeys(_FOLDERS, folder)

    def seen(path: Any, *args: Any, **named: Any) -> Any:
        try:
            name = str(os.fspath(path))
        except TypeError:
            name = ""
        return function(shown.get(name, path), *args, **named)

    return seen
