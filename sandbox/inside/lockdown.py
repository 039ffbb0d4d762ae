"""The isolation layers of the kernel: privileges, namespaces, Landlock, seccomp.

Runs in the jail's processes before untrusted code. The order matters: a user namespace needs
`/proc`, Landlock needs paths that can still be opened, and the seccomp filter forbids both.

    LayerRefused       the kernel refused a layer; the message names it and the error
"""

from __future__ import annotations

import ctypes
import os
import struct

from sandbox.inside.filters import ALLOWED, ARCHITECTURES, KILL_PROCESS, NS_FLAGS, NUMBERS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

MACHINE = os.uname().machine
_COLUMN = ARCHITECTURES.get(MACHINE, (0, 0))[0]
_LIBRARY = ctypes.CDLL(None, use_errno=True)
_SYSCALL = _LIBRARY.syscall
_SYSCALL.restype = ctypes.c_long

_PR_SET_PDEATHSIG, _PR_SET_DUMPABLE, _PR_SET_NO_NEW_PRIVS = 1, 4, 38
_SIGKILL = 9
_SECCOMP_SET_MODE_FILTER = 1
_SPEC_ALLOW = 4
"""Disables a speculation mitigation that slows down filtered processes and that this jail does not
rely on."""

_CLONE_NEWNS, _CLONE_NEWUTS, _CLONE_NEWIPC = 0x20000, 0x4000000, 0x8000000
_CLONE_NEWUSER, _CLONE_NEWPID, _CLONE_NEWNET = 0x10000000, 0x20000000, 0x40000000
_MS_NOSUID, _MS_NODEV, _MS_BIND, _MS_REC, _MS_PRIVATE = 2, 4, 0x1000, 0x4000, 0x40000
_MNT_DETACH = 2
_AT_FDCWD, _AT_RECURSIVE = -100, 0x8000
_MOUNT_ATTR_RDONLY, _MOUNT_ATTR_NOSUID = 1, 2

_EXECUTE, _READ_FILE, _READ_DIR = 1 << 0, 1 << 2, 1 << 3
_WRITE_FILE, _TRUNCATE, _IOCTL_DEVICE = 1 << 1, 1 << 14, 1 << 15
_CHANGE = (1 << 4) | (1 << 5) | (1 << 7) | (1 << 8) | (1 << 12) | (1 << 13)
"""Remove folders and files, make folders, files and links, and move them between folders."""
_FILE_RIGHTS = _EXECUTE | _READ_FILE | _WRITE_FILE | _TRUNCATE | _IOCTL_DEVICE
MAX_ENTRIES = 4096
"""Files and folders that a job may have at once."""
_HANDLED = {1: 13, 2: 14, 3: 15, 4: 15, 5: 16}
"""Landlock's version to its number of file rights; later versions add none."""
_TCP_SINCE, _SCOPES_SINCE = 4, 6


class LayerRefused(Exception):
    """The kernel refused a layer of the jail."""

    def __init__(self, layer: str, number: int) -> None:
        super().__init__(f"{layer}: {os.strerror(number)}")


class _Program(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("instructions", ctypes.c_void_p)]


class Filter:
    """A seccomp program in memory, ready to be loaded."""

    def __init__(self, program: bytes) -> None:
        self._memory = bytearray(program)
        self._array = (ctypes.c_char * len(program)).from_buffer(self._memory)
        self._header = _Program(len(program) // 8, ctypes.cast(self._array, ctypes.c_void_p))
        self._call = (
            ctypes.c_long(_number("seccomp")), ctypes.c_long(_SECCOMP_SET_MODE_FILTER),
            ctypes.c_long(_SPEC_ALLOW), ctypes.byref(self._header),
        )

    def put(self, offsets: Iterable[int], word: int) -> None:
        """Overwrites constants of instructions."""
        for offset in offsets:
            struct.pack_into("=I", self._memory, offset, word)

    def load(self) -> None:
        """Applies the program to this process and its children, permanently."""
        if _SYSCALL(*self._call) != 0:
            raise LayerRefused("seccomp", ctypes.get_errno())


def harden() -> None:
    """Forbids new privileges, inspection from outside and core dumps; drops capabilities."""
    _prctl("no new privileges", _PR_SET_NO_NEW_PRIVS, 1)
    _prctl("not dumpable", _PR_SET_DUMPABLE, 0)
    drop_capabilities()


def die_with_parent() -> None:
    """Makes the kernel kill this process when its parent ends."""
    _SYSCALL(*_DIE)


def drop_capabilities() -> None:
    """Drops all capabilities, also within a namespace."""
    header = struct.pack("=Ii", 0x2008_0522, 0)
    _call("capabilities", "capset", header, bytes(24))


def seccomp_works() -> bool:
    """Whether the kernel supports filters; loads none."""
    if MACHINE not in ARCHITECTURES:
        return False
    action_available = 2
    answers = {
        _SYSCALL(
            ctypes.c_long(_number("seccomp")), ctypes.c_long(action_available), ctypes.c_long(0),
            ctypes.byref(ctypes.c_uint32(action)),
        )
        for action in (KILL_PROCESS, ALLOWED)
    }
    return answers == {0}


# Landlock, see https://docs.kernel.org/userspace-api/landlock.html


def landlock_version() -> int:
    """The kernel's version of Landlock; 0 for none."""
    version: int = _SYSCALL(
        ctypes.c_long(_number("landlock_create_ruleset")), ctypes.c_long(0), ctypes.c_long(0),
        ctypes.c_long(1),
    )
    return max(0, version)


def ruleset(
    version: int, readable: Iterable[str], writable: Iterable[str], devices: Iterable[str],
    listable: Iterable[str] = (), grants: Collection[str] = (),
) -> int:
    """Creates Landlock rules and returns their descriptor.

    Args:
        readable: Files and folders that can be read, and run if `processes` are granted.
        writable: Folders that can be changed.
        devices: Files that can be written.
        listable: Folders that can be listed.
        grants: With `loopback`, TCP is not restricted, since the job has a private network.

    Everything else that Landlock controls is refused: files, TCP, signals and abstract sockets.
    Missing paths are ignored.
    """
    known = (1 << _HANDLED.get(version, 16)) - 1
    attributes = struct.pack("=Q", known)
    if version >= _TCP_SINCE:
        attributes += struct.pack("=Q", 0 if "loopback" in grants else 3)
    if version >= _SCOPES_SINCE:
        attributes += struct.pack("=Q", 3)
    rules = _call("Landlock", "landlock_create_ruleset", attributes, len(attributes), 0)
    read = _READ_FILE | _READ_DIR | (_EXECUTE if "processes" in grants else 0)
    for paths, rights in (
        (readable, read),
        (writable, read | _WRITE_FILE | _TRUNCATE | _CHANGE),
        (devices, _FILE_RIGHTS),
        (listable, _READ_DIR),
    ):
        for path in paths:
            _add_rule(rules, path, rights & known)
    return rules


def _add_rule(rules: int, path: str, rights: int) -> None:
    try:
        descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except FileNotFoundError:
        return
    try:
        if not os.path.isdir(path):
            rights &= _FILE_RIGHTS
        rule = struct.pack("=Qi", rights, descriptor)
        _call("Landlock", "landlock_add_rule", rules, 1, rule, 0)
    finally:
        os.close(descriptor)


def apply_ruleset(rules: int) -> None:
    """Applies a ruleset to this process and its children, permanently."""
    if _SYSCALL(_RESTRICT, ctypes.c_long(rules), _ZERO) != 0:
        raise LayerRefused("Landlock", ctypes.get_errno())


# Namespaces.


def enter_namespaces(user: int, group: int, pids: bool = True) -> None:
    """Enters new user, mount, network, IPC and UTS namespaces, and with `pids` a pid namespace for
    the children. The user keeps its number, so that files keep their owner.
    """
    # Only a dumpable process may write its own maps.
    _prctl("dumpable", _PR_SET_DUMPABLE, 1)
    spaces = (
        _CLONE_NEWUSER | _CLONE_NEWNS | _CLONE_NEWPID | _CLONE_NEWNET | _CLONE_NEWIPC
        | _CLONE_NEWUTS
    )
    _call("namespaces", "unshare", spaces if pids else spaces & ~_CLONE_NEWPID)
    try:
        for name, text in (
            ("setgroups", "deny"),
            ("uid_map", f"{user} {user} 1"),
            ("gid_map", f"{group} {group} 1"),
        ):
            with open(f"/proc/self/{name}", "w") as file:
                file.write(text)
    except OSError as error:
        raise LayerRefused("namespaces", error.errno or 0) from error


def fork_into_namespaces() -> int:
    """Forks into new user, mount, pid, network and IPC namespaces. The child is their init process
    and has all capabilities there until it drops them. Raises `LayerRefused`."""
    child: int = _FORKING_SYSCALL(*_FORK_ARGUMENTS)
    if child < 0:
        raise LayerRefused("namespaces of a job", ctypes.get_errno())
    return child


def bind_mount(folder: str, target: str) -> None:
    """Mounts a folder at another path in this process's mount namespace."""
    _mount(folder, target, None, _MS_BIND, None)


def raise_loopback() -> None:
    """Activates the loopback interface of a new network namespace."""
    import fcntl
    import socket

    up = 1
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asked:
        fcntl.ioctl(asked, _SET_INTERFACE_FLAGS, struct.pack("16sh22x", b"lo", up))


def build_root(
    root: str, readable: Sequence[str], folders: Sequence[str], bytes_each: int,
    made: Mapping[str, str | bytes | None],
) -> None:
    """Makes `root`, an empty folder, the root of the file system.

    Args:
        readable: Files and folders that are mounted read-only.
        folders: Folders that each get a file system in memory of `bytes_each`.
        made: Path to the target of a link, the content of a file, or `None` for an empty folder.
    """
    _mount("none", "/", None, _MS_REC | _MS_PRIVATE, None)
    _mount("tmpfs", root, "tmpfs", _MS_NOSUID, "size=1m,mode=755")
    for path in readable:
        if not os.path.exists(path):
            continue
        target = root + path
        if os.path.isdir(path):
            os.makedirs(target, exist_ok=True)
        elif not os.path.exists(target):
            os.makedirs(os.path.dirname(target), exist_ok=True)
            os.close(os.open(target, os.O_CREAT | os.O_WRONLY | os.O_CLOEXEC, 0o644))
        _mount(path, target, None, _MS_BIND | _MS_REC, None)
    for folder in folders:
        os.makedirs(root + folder)
    for path, what in made.items():
        os.makedirs(os.path.dirname(root + path), exist_ok=True)
        if what is None:
            os.mkdir(root + path)
        elif isinstance(what, bytes):
            with open(root + path, "wb") as file:
                file.write(what)
        elif not os.path.lexists(root + path):
            os.symlink(what, root + path)
    attributes = struct.pack("=QQQQ", _MOUNT_ATTR_RDONLY | _MOUNT_ATTR_NOSUID, 0, 0, 0)
    _call(
        "namespaces", "mount_setattr", _AT_FDCWD, root.encode(), _AT_RECURSIVE, attributes,
        len(attributes),
    )
    for folder in folders:
        _mount(
            "tmpfs", root + folder, "tmpfs", _MS_NOSUID | _MS_NODEV,
            f"size={bytes_each},nr_inodes={MAX_ENTRIES},mode=700",
        )
    os.chdir(root)
    _call("namespaces", "pivot_root", b".", b".")
    _call("namespaces", "umount2", b".", _MNT_DETACH)
    os.chdir("/")


def _mount(source: str, target: str, kind: str | None, flags: int, options: str | None) -> None:
    def text(value: str | None) -> bytes | None:
        return None if value is None else value.encode()

    _call("namespaces", "mount", source.encode(), target.encode(), text(kind), flags, text(options))


# Calls.


def _number(name: str) -> int:
    number = NUMBERS[name][_COLUMN]
    assert number is not None, f"{name} exists on both architectures"
    return number


def _call(layer: str, name: str, *arguments: int | bytes | None) -> int:
    """A system call by its number; raises `LayerRefused`."""
    passed = [
        ctypes.c_char_p(argument) if isinstance(argument, bytes) else ctypes.c_long(argument or 0)
        for argument in arguments
    ]
    result: int = _SYSCALL(ctypes.c_long(_number(name)), *passed)
    if result < 0:
        raise LayerRefused(f"{layer} ({name})", ctypes.get_errno())
    return result


def _prctl(what: str, option: int, value: int) -> None:
    if _LIBRARY.prctl(option, value, 0, 0, 0) != 0:
        raise LayerRefused(what, ctypes.get_errno())


_RESTRICT = ctypes.c_long(_number("landlock_restrict_self"))
_ZERO = ctypes.c_long(0)
_SET_INTERFACE_FLAGS = 0x8914
_SIGCHLD = 17
_FORKING_SYSCALL = ctypes.PyDLL(None, use_errno=True).syscall
"""`PyDLL` keeps the interpreter's lock, so that the forked child holds it too."""
_FORKING_SYSCALL.restype = ctypes.c_long
_FORK_ARGUMENTS = (
    ctypes.c_long(_number("clone")), ctypes.c_long(NS_FLAGS | _SIGCHLD), _ZERO, _ZERO, _ZERO, _ZERO,
)
_DIE = (ctypes.c_long(_number("prctl")), ctypes.c_long(_PR_SET_PDEATHSIG), ctypes.c_long(_SIGKILL))
"""Created once, since a new child pays for every memory page that it touches."""
