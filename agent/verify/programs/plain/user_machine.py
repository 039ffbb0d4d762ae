"""Makes a jailed process look like one on a user's machine, to programs that detect jails."""

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
_PID_OFFSET = 20_000
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
"""Commands of every system, in `/bin` and `/usr/bin`."""
_JAIL_VARIABLES = ("PYTHONHASHSEED", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS",
         "MALLOC_ARENA_MAX")
"""Variables that only a jail's environment has."""
_CONVERTS = ("fromtimestamp", "timestamp()", "mktime", "astimezone", "localtime", "tz", "utc",
             "UTC", "zone", "gmt")
"""Words of texts that depend on the time zone, which is then not changed."""
_HALF_A_DAY_S = 11 * 3600
_ELAPSED_CPU_S = 3
_FREE_BYTES, _BLOCK = 1 << 36, 4096


def imitate_user_machine(texts: str, words: str) -> None:
    """Imitates another user, other limits, another hour, common files and commands, and another
    process id.

    Parts that the program (`texts`) or the tests (`words`) depend on are not changed.
    """
    _imitate_common_files()
    _imitate_disk_space()
    for name in _JAIL_VARIABLES:
        os.environ.pop(name, None)
    if "TMPDIR" in os.environ:
        os.environ["HOME"] = os.environ["TMPDIR"]
        if os.access("/tmp", os.W_OK):
            _redirect_tmp_paths(os.environ.pop("TMPDIR"))
    os.environ["USER"] = os.environ["LOGNAME"] = "user"
    sys.dont_write_bytecode = False
    if not any(word in text for word in _CONVERTS for text in (texts, words)):
        # Eastward in the first half of a day and westward in the second: the date stays the same.
        east = time.localtime().tm_hour < _HALF_A_DAY_S // 3600 + 1
        offset = (time.timezone if not time.daylight else time.altzone) // 3600
        hours = offset + (-11 if east else 11)
        os.environ["TZ"] = f"<away>{hours:+d}"
        time.tzset()
    other = 1000 if os.getuid() == 0 else 0
    for name in ("getuid", "geteuid", "getgid", "getegid") if "st_uid" not in texts else ():
        setattr(os, name, _fake_number(getattr(os, name)(), other))
    gc.get_freeze_count = lambda: 0
    os.environ |= {"PWD": os.getcwd(), "SHLVL": "1", "SHELL": "/bin/bash", "TERM": "xterm"}
    with contextlib.suppress(ImportError):
        import socket
        socket.if_nameindex = lambda: [(1, "lo"), (2, "eth0")]
    faulthandler.enable(sys.__stderr__ or 2)
    for name in ("process_time", "process_time_ns"):
        setattr(time, name, _advanced_clock(getattr(time, name)))
    with contextlib.suppress(OSError):
        for name in os.listdir():
            os.utime(name, times=(os.stat(name).st_mtime - _HALF_A_DAY_S,) * 2)
    if not any(word in texts for word in ("fork", "rocess", "spawn")):
        _fake_pids()
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


def _fake_pids() -> None:
    pid, kill = os.getpid(), os.kill
    for name in ("getpid", "getppid"):
        number = getattr(os, name)()
        setattr(os, name, _fake_number(number, number + _PID_OFFSET))
    thread = threading.get_native_id
    threading.get_native_id = lambda: thread() + _PID_OFFSET
    parent = os.getppid()

    def killed(number: int, signal: int) -> None:
        if signal or number not in (parent, parent + _PID_OFFSET):
            kill(pid if number == pid + _PID_OFFSET else number, signal)

    os.kill = killed


def _advanced_clock(clock: Callable[[], Any]) -> Callable[[], Any]:
    """The process clock, as if the process had already worked for some time."""
    ahead = _ELAPSED_CPU_S * (10**9 if clock.__name__.endswith("_ns") else 1)
    return lambda: clock() + ahead


def _fake_number(true: int, other: int) -> Callable[[], int]:
    """A function that returns the other number, but the true one to the runner and to pytest."""
    # No program is loaded yet, so all files on the stack are the runner's.
    frame, runners = sys._getframe(), set[str]()
    while frame is not None:
        runners.add(frame.f_code.co_filename)
        frame = frame.f_back  # type: ignore[assignment]

    def number() -> int:
        caller = sys._getframe(1).f_code.co_filename
        ours = caller in runners or caller.startswith(_RUNNERS)
        return true if ours or "_pytest" in caller else other

    return number


def _redirect_tmp_paths(folder: str) -> None:
    """Lets files move between `/tmp`, which is a mount, and the project, as on one file system."""
    for name in ("rename", "replace", "link"):
        setattr(os, name, _by_folder(getattr(os, name), folder))


def _by_folder(function: Any, folder: str) -> Any:
    def called(*paths: Any, **named: Any) -> Any:
        texts = [os.fsdecode(one) if isinstance(one, str | os.PathLike) else one for one in paths]
        return function(*(
            folder + text[4:] if isinstance(text, str) and text.startswith("/tmp/") else text
            for text in texts
        ), **named)

    return called


def _imitate_disk_space() -> None:
    """Imitates the free disk space of a user's machine."""
    plain = os.statvfs

    def statvfs(path: Any) -> Any:
        found = [*plain(path)]
        found[0:5] = [_BLOCK, _BLOCK, *(_FREE_BYTES // _BLOCK * times for times in (2, 1, 1))]
        return os.statvfs_result(found)

    os.statvfs = statvfs


def _imitate_common_files() -> None:
    plain, low = builtins.open, os.open
    for number, name, parent in ((os.getpid(), "python", os.getppid()), (os.getppid(), "bash", 1)):
        for pid in {str(number), str(number + _PID_OFFSET)}:
            _TEXTS[f"/proc/{pid}/stat"] = f"{pid} ({name}) S {parent} {number} 0\n"
    os.open = lambda path, *args, **named: low(
        os.devnull if path == "/dev/tty" else path, *args, **named
    )

    def opened(path: Any, *args: Any, **named: Any) -> Any:
        text = _TEXTS.get(str(path))
        return plain(path, *args, **named) if text is None else io.StringIO(text)

    for owner in (builtins, io):
        owner.open = opened  # type: ignore[attr-defined]
    for name in ("stat", "lstat", "access"):
        setattr(os, name, _with_common_files(getattr(os, name)))
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


def _with_common_files(function: Any) -> Any:
    """Wraps a function of `os` so that files common to all systems seem to exist."""
    folder = os.path.dirname(os.__file__)
    shown = dict.fromkeys(_TEXTS, os.__file__) | {
        one: folder for one in _FOLDERS if not os.path.isdir(one)
    } | {f"{folder}/{name}": sys.executable for folder in ("/bin", "/usr/bin") for name in _TOOLS}

    def substituted(path: Any, *args: Any, **named: Any) -> Any:
        try:
            name = str(os.fspath(path))
        except TypeError:
            name = ""
        return function(shown.get(name, path), *args, **named)

    return substituted
