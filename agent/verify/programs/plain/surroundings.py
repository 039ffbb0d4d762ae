"""Has a jail's process look like one of a user's machine, to a program that asks where it runs."""

from __future__ import annotations

import builtins
import contextlib
import faulthandler
import gc
import io
import os
import sys
import threading
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

_RUNNERS = ("<frozen _judge", "<frozen guest", "<frozen zygote")
_FAR = 20_000
_TEXTS = {
    "/etc/passwd": "root:x:0:0:root:/root:/bin/sh\n", "/etc/hosts": "127.0.0.1 localhost\n",
    "/etc/hostname": "machine\n", "/etc/os-release": "ID=linux\n", "/etc/group": "root:x:0:\n",
    "/proc/cpuinfo": "processor\t: 0\n", "/proc/meminfo": "MemTotal:       16000000 kB\n",
    "/proc/uptime": "90000.00 80000.00\n", "/proc/version": "Linux version 6\n",
    "/proc/self/status": "Name:\tpython\nSeccomp:\t0\n", "/proc/self/cgroup": "0::/\n",
    "/proc/1/cgroup": "0::/\n", "/proc/mounts": "/dev/vda / ext4 rw 0 0\n",
    "/proc/self/uid_map": "0 0 4294967295\n",
    "/proc/self/mountinfo": "22 1 254:0 / / rw,relatime - ext4 /dev/vda rw\n",
}
_FOLDERS = (
    "/proc", "/proc/self", "/etc", "/sys", "/run", "/var", "/var/tmp", "/root", "/boot", "/mnt",
    "/usr", "/usr/bin", "/bin", "/home", "/opt", "/tmp", "/dev", "/proc/self/fd", "/dev/fd",
)
_TOOLS = frozenset(
    "awk basename cat chmod chown cp cut date dd df dirname du echo env expr false find grep head "
    "id kill ln ls mkdir mv od ps pwd rm rmdir sed sh sleep sort tail tar tee test touch tr true "
    "uname uniq wc which who whoami xargs".split()
)
"""Commands of every system, which stand in both folders of commands."""
_OURS = ("PYTHONHASHSEED", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS",
         "MALLOC_ARENA_MAX")
"""What a jail's environment has and a user's has not."""
_CONVERTS = ("fromtimestamp", "timestamp()", "mktime", "astimezone", "localtime", "tz", "utc",
             "UTC", "zone", "gmt")
"""Words of texts to which the time zone is part of the question."""
_HALF_A_DAY_S = 11 * 3600
_WORKED_S = 3
_FREE_BYTES, _BLOCK = 1 << 36, 4096


def elsewhere(texts: str, words: str) -> None:
    """Another user, other limits, another hour, the files and commands that are everywhere, and
    another process's number unless the program's `texts` make processes of their own. The tests'
    own `words` may ask for a time zone."""
    _files()
    _space()
    for name in _OURS:
        os.environ.pop(name, None)
    if "TMPDIR" in os.environ:
        os.environ["HOME"] = os.environ["TMPDIR"]
        if os.access("/tmp", os.W_OK):
            _temporary(os.environ.pop("TMPDIR"))
    os.environ["USER"] = os.environ["LOGNAME"] = "user"
    sys.dont_write_bytecode = False
    if not any(word in text for word in _CONVERTS for text in (texts, words)):
        # The hour differs by so much, east where a day is young: its date stays the same.
        east = time.localtime().tm_hour < _HALF_A_DAY_S // 3600 + 1
        offset = (time.timezone if not time.daylight else time.altzone) // 3600
        hours = offset + (-11 if east else 11)
        os.environ["TZ"] = f"<away>{hours:+d}"
        time.tzset()
    other = 1000 if os.getuid() == 0 else 0
    for name in ("getuid", "geteuid", "getgid", "getegid") if "st_uid" not in texts else ():
        setattr(os, name, _told(getattr(os, name)(), other))
    gc.get_freeze_count = lambda: 0
    os.environ |= {"PWD": os.getcwd(), "SHLVL": "1", "SHELL": "/bin/bash", "TERM": "xterm"}
    with contextlib.suppress(ImportError):
        import socket
        socket.if_nameindex = lambda: [(1, "lo"), (2, "eth0")]
    faulthandler.enable(sys.__stderr__ or 2)
    for name in ("process_time", "process_time_ns"):
        setattr(time, name, _later(getattr(time, name)))
    with contextlib.suppress(OSError):
        for name in os.listdir():
            os.utime(name, times=(os.stat(name).st_mtime - _HALF_A_DAY_S,) * 2)
    if not any(word in texts for word in ("fork", "rocess", "spawn")):
        _number()
    try:
        import resource
    except ImportError:
        return
    files = resource.RLIMIT_NOFILE
    resource.getrlimit = lambda which: (1024, 1 << 20) if which == files else (-1, -1)
    import pwd

    def found(user: int) -> pwd.struct_passwd:
        name = "user" if user else "root"
        return pwd.struct_passwd((name, "x", user, user, name, f"/home/{name}", "/bin/sh"))

    pwd.getpwuid = found


def _number() -> None:
    pid, kill = os.getpid(), os.kill
    for name in ("getpid", "getppid"):
        number = getattr(os, name)()
        setattr(os, name, _told(number, number + _FAR))
    thread = threading.get_native_id
    threading.get_native_id = lambda: thread() + _FAR
    others = os.getppid()

    def killed(number: int, sign: int) -> None:
        if sign or number not in (others, others + _FAR):
            kill(pid if number == pid + _FAR else number, sign)

    os.kill = killed


def _later(clock: Callable[[], Any]) -> Callable[[], Any]:
    """A clock of a process that has worked for some time."""
    ahead = _WORKED_S * (10**9 if clock.__name__.endswith("_ns") else 1)
    return lambda: clock() + ahead


def _told(true: int, other: int) -> Callable[[], int]:
    """The other one, but to the runner and to pytest, whose own files are this user's."""
    # No program is loaded yet, so that whatever is on the stack is the runner, wherever it lies.
    frame, runners = sys._getframe(), set[str]()
    while frame is not None:
        runners.add(frame.f_code.co_filename)
        frame = frame.f_back  # type: ignore[assignment]

    def asked() -> int:
        caller = sys._getframe(1).f_code.co_filename
        ours = caller in runners or caller.startswith(_RUNNERS)
        return true if ours or "_pytest" in caller else other

    return asked


def _temporary(folder: str) -> None:
    """Has files move between `/tmp`, which is mounted, and the project as on one file system."""
    for name in ("rename", "replace", "link"):
        setattr(os, name, _by_folder(getattr(os, name), folder))


def _by_folder(function: Any, folder: str) -> Any:
    def called(*paths: Any, **named: Any) -> Any:
        texts = [os.fsdecode(one) if isinstance(one, str | os.PathLike) else one for one in paths]
        return function(*(
            folder + one[4:] if isinstance(one, str) and one.startswith("/tmp/") else one
            for one in texts
        ), **named)

    return called


def _space() -> None:
    """Room on each disk, as on a machine's own."""
    plain = os.statvfs

    def asked(path: Any) -> Any:
        found = [*plain(path)]
        found[0:5] = [_BLOCK, _BLOCK, *(_FREE_BYTES // _BLOCK * times for times in (2, 1, 1))]
        return os.statvfs_result(found)

    os.statvfs = asked


def _files() -> None:
    plain, low = builtins.open, os.open
    for number, name, parent in ((os.getpid(), "python", os.getppid()), (os.getppid(), "bash", 1)):
        for place in {str(number), str(number + _FAR)}:
            _TEXTS[f"/proc/{place}/stat"] = f"{place} ({name}) S {parent} {number} 0\n"
    os.open = lambda path, *args, **named: low(
        os.devnull if path == "/dev/tty" else path, *args, **named
    )

    def opened(path: Any, *args: Any, **named: Any) -> Any:
        text = _TEXTS.get(str(path))
        return plain(path, *args, **named) if text is None else io.StringIO(text)

    for owner in (builtins, io):
        owner.open = opened  # type: ignore[attr-defined]
    for name in ("stat", "lstat", "access"):
        setattr(os, name, _seeing(getattr(os, name)))
    listed, shown = os.listdir, {*_TEXTS, *_FOLDERS, *(f"/usr/bin/{name}" for name in _TOOLS)}

    def listing(path: Any = ".") -> list[Any]:
        if path in ("/proc/self/fd", "/dev/fd"):
            return [str(one) for one in range(1024) if _is_open(one)]
        try:
            return listed(path)
        except OSError:
            below = [os.path.basename(one) for one in shown if os.path.dirname(one) == path]
            if not below:
                raise
            return below

    os.listdir = listing


def _is_open(descriptor: int) -> bool:
    try:
        os.fstat(descriptor)
    except OSError:
        return False
    return True


def _seeing(function: Any) -> Any:
    """The same, of a file or folder that is on every machine one that is here."""
    folder = os.path.dirname(os.__file__)
    shown = dict.fromkeys(_TEXTS, os.__file__) | {
        one: folder for one in _FOLDERS if not os.path.isdir(one)
    } | {f"{place}/{name}": sys.executable for place in ("/bin", "/usr/bin") for name in _TOOLS}

    def seen(path: Any, *args: Any, **named: Any) -> Any:
        try:
            name = str(os.fspath(path))
        except TypeError:
            name = ""
        return function(shown.get(name, path), *args, **named)

    return seen
