"""A few attacks that test at every start which layers of the jail are effective.

Each runs twice: before any restriction, where it must succeed (the control), and inside a jailed
child, where it must fail. Runs in the jail's processes.
"""

from __future__ import annotations

import ctypes
import errno
import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

_LIBRARY = ctypes.CDLL(None, use_errno=True)
_UNSHARE = {"x86_64": 272, "aarch64": 97}
_PTRACE = {"x86_64": 101, "aarch64": 117}


def _read_a_file() -> None:
    os.close(os.open("/etc/passwd", os.O_RDONLY))


def _list_a_folder() -> None:
    os.listdir("/etc")


def _write(path: str) -> None:
    os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
    os.unlink(path)


def _open_a_socket() -> None:
    import socket

    socket.socket(socket.AF_INET, socket.SOCK_DGRAM).close()


def _start_a_process() -> None:
    child = os.fork()
    if child == 0:
        os._exit(0)
    os.waitpid(child, 0)


def _run_a_program() -> None:
    os.execv("/nothing/of/this/name", ["nothing"])


def _signal_another() -> None:
    os.kill(os.getppid(), 0)


def _trace_another() -> None:
    _syscall(_PTRACE, 16, 2**22 + 1, 0, 0)


def _enter_a_namespace() -> None:
    _syscall(_UNSHARE, 0)


def _see_the_file_system() -> None:
    os.stat("/etc/passwd")


def _see_the_parent() -> None:
    if os.getppid() == 0:
        raise OSError(errno.ESRCH, "the parent process is not visible")


def _syscall(numbers: dict[str, int], *arguments: int) -> None:
    result = _LIBRARY.syscall(
        ctypes.c_long(numbers[os.uname().machine]), *[ctypes.c_long(one) for one in arguments]
    )
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


CANARIES: dict[str, Callable[[], None]] = {
    "open a socket": _open_a_socket,
    "start a process": _start_a_process,
    "run a program": _run_a_program,
    "signal another process": _signal_another,
    "trace another process": _trace_another,
    "enter a namespace": _enter_a_namespace,
    "read a file": _read_a_file,
    "list a folder": _list_a_folder,
    # A job may have a private `/tmp`.
    "write a file": lambda: _write(f"/var/tmp/jail-canary-{os.getpid()}"),
    "write outside its folder": lambda: _write("../canary"),
    "see the file system": _see_the_file_system,
    "see the parent process": _see_the_parent,
}


def tried() -> dict[str, str]:
    """Runs all canaries; returns the name of each one's error, empty if it succeeded."""
    met: dict[str, str] = {}
    for name, attack in CANARIES.items():
        try:
            attack()
        except OSError as error:
            met[name] = errno.errorcode.get(error.errno or 0, str(error.errno))
        else:
            met[name] = ""
    return met
