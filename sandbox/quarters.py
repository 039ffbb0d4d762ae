"""Where jobs live: private folders, spare users, and an interpreter they may read.

    <temp>/code-jails-<uid>/        ours alone to write; made once and kept
        users-<first>               locked while a host uses that block of spare users
        host-<random>/              one for each host process, locked while it lives
            guest.pyc               what a plain job runs, one file
            code/                   what a fork server runs
            python/                 readable links to the interpreter, where it is hidden
            site-<n>/               the same for folders of packages
            <n>/work, <n>/tmp       one plain job
            common-<n>              what two of them share
            server-<n>/             one fork server; its jobs' folders, unless it mounts its own

A lock is the kernel's and ends with its holder, so what a killed host left behind is known
by being unlocked, and the next host removes it.

Run as root, each plain job gets a spare user to itself: two jobs cannot signal, trace or read
each other, a count of its processes means something, and whatever it started can be found by its
user at the end, however it hid. Run as an ordinary user, none of that is possible; what a job
started is found by a mark in its arguments and environment. A fork server gets one spare user for
itself and all its children, which its jail keeps apart.
"""

from __future__ import annotations

import atexit
import ctypes
import errno
import functools
import os
import py_compile
import shutil
import signal
import stat
import sys
import tempfile
import threading
from collections import deque
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from fnmatch import fnmatch
from pathlib import Path, PurePosixPath

from sandbox.guest import in_bytes
from sandbox.removal import remove
from sandbox.types import SandboxError, SandboxUnavailable

_SPARE_USERS = range(60_706, 61_184)
"""Unused by the allocation that systemd documents; see https://systemd.io/UIDS-GIDS."""
_BLOCK = 16
_CAPABILITIES = {"CHOWN": 0, "KILL": 5, "SETGID": 6, "SETUID": 7}
INSIDE = (
    "guest", "syscalls", "filters", "lockdown", "locks", "canaries", "removal", "semaphores",
    "unopened", "watch", "zygote",
)
"""Our modules that a fork server runs; they find each other and the standard library, no more."""
_LEFT_OUT = ("test", "tests", "site-packages", "dist-packages", "idlelib", "ensurepip", "config-*")


@dataclass
class Room:
    """The private place of one job."""

    folder: str
    work: str
    tmp: str
    user: int | None
    """The spare user, or `None` when jobs run as the user of the host."""
    mark: str
    groups: tuple[int, ...] = ()


@dataclass(frozen=True)
class Common:
    """A folder for several rooms."""

    folder: str
    group: int | None
    """Whose members may use it, or `None` when jobs run as the user of the host."""


@dataclass(frozen=True)
class ServerPlace:
    """The folders of one fork server."""

    folder: str
    user: int | None
    slots: str
    """Where it makes its jobs' folders, unless it has a file system of its own."""
    root: str
    """An empty folder on which it may mount that file system."""
    control: str
    """A folder of its own to try the canaries in, before anything is held back."""


@dataclass(frozen=True)
class Interpreter:
    """A Python that a job's user may run and read."""

    executable: str
    environment: Mapping[str, str] = field(default_factory=dict)
    library: str = ""
    """Its standard library, where that is a copy of the host's."""
    shared: str = ""
    """The folder of its own shared libraries, likewise."""


class Quarters:
    """Hands out rooms and takes them back; used from many threads."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self.has_spare_users = _may_change_user()
        self._home = _make_home(self.has_spare_users)
        self._lock_fds: list[int] = []
        self._folder = self._settle()
        self._free: deque[int] = deque()
        self._resting: deque[int] = deque()
        self._sites: dict[str, str] = {}
        self._count = 0
        self._pid = os.getpid()
        self.guest = str(Path(self._folder, "guest.pyc"))
        source = str(Path(__file__).with_name("guest.py"))
        py_compile.compile(source, self.guest, dfile="<jail>", doraise=True)
        os.chmod(self.guest, 0o644)
        self.code = self._compile_guests()
        """A folder from which a jail's interpreter imports our part of it."""
        self.interpreter = self._find_interpreter()
        if not self.has_spare_users:
            _refuse_readers()
        atexit.register(self.close)

    def close(self) -> None:
        """Removes this host's folder; its rooms are gone already unless jobs still run."""
        if os.getpid() != self._pid:
            return  # a forked copy of the host owns nothing here
        remove(self._folder)
        for descriptor in self._lock_fds:
            os.close(descriptor)
        self._lock_fds.clear()
        atexit.unregister(self.close)

    def enter(self, files: Mapping[str, str], common: Common | None = None) -> Room:
        """A fresh room with `files` in it, whose job may also use the `common` folder.

        That the paths lie within it is for `orders` to check.
        """
        with self._lock:
            self._count += 1
            number = self._count
            user = self._spare() if self.has_spare_users else None
        folder = str(Path(self._folder, str(number)))
        room = Room(
            folder=folder,
            work=str(Path(folder, "work")),
            tmp=str(Path(folder, "tmp")),
            user=user,
            mark=f"{Path(self._folder).name}-{number}",
            groups=(common.group,) if common is not None and common.group is not None else (),
        )
        try:
            os.mkdir(folder, 0o711)
            for place in (room.work, room.tmp):
                os.mkdir(place, 0o700)
                _give(place, user)
            for path, text in files.items():
                _lay(room.work, path, text, user)
        except BaseException:
            remove(folder)
            self.leave(room)
            raise
        return room

    def leave(self, room: Room, left_orphans: bool = False) -> None:
        """Takes a room back once its folder is removed and none of its processes lives."""
        with self._lock:
            if room.user is not None:
                (self._resting if left_orphans else self._free).append(room.user)

    def share(self) -> Common:
        """A folder that rooms may have in common."""
        with self._lock:
            self._count += 1
            number = self._count
            group = self._spare() if self.has_spare_users else None
        common = Common(str(Path(self._folder, f"common-{number}")), group)
        try:
            os.mkdir(common.folder, 0o700)
            if group is not None:
                os.chown(common.folder, -1, group)
                # What is made in it belongs to the group too, whichever job makes it.
                os.chmod(common.folder, 0o2770)
        except BaseException:
            self.unshare(common)
            raise
        return common

    def unshare(self, common: Common) -> None:
        """Removes a common folder, once no process of its rooms lives."""
        remove(common.folder)
        if common.group is not None:
            with self._lock:
                self._free.append(common.group)

    def settle_server(self) -> ServerPlace:
        """A place for a fork server."""
        with self._lock:
            self._count += 1
            number = self._count
            user = self._spare() if self.has_spare_users else None
        folder = Path(self._folder, f"server-{number}")
        place = ServerPlace(
            str(folder), user, str(folder / "slots"), str(folder / "root"),
            str(folder / "control" / "inner"),
        )
        os.mkdir(folder, 0o711)
        for path in (place.slots, place.root, os.path.dirname(place.control), place.control):
            os.mkdir(path, 0o755)
            _give(path, user)
        return place

    def leave_server(self, place: ServerPlace) -> None:
        """Takes a fork server's place back; its children may still be dying."""
        if place.user is not None:
            kill_all(_of_user(place.user))
            with self._lock:
                self._resting.append(place.user)
        with suppress(OSError):  # what a dying child just made goes with this host's folder
            remove(place.folder)

    def sites(self, folders: tuple[str, ...]) -> list[str]:
        """The same folders where a job can read them."""
        return [self._site(folder) for folder in folders]

    def _site(self, folder: str) -> str:
        path = os.path.realpath(folder)
        if not os.path.isdir(path):
            raise SandboxError(f"the folder of packages {folder!r} does not exist")
        if not self.has_spare_users or _open_to_all(path):
            return path
        with self._lock:
            key = f"{path}:{os.stat(path).st_mtime_ns}"
            if key not in self._sites:
                target = str(Path(self._folder, f"site-{len(self._sites)}"))
                _link_tree(path, target)
                self._sites[key] = target
            return self._sites[key]

    def _spare(self) -> int:
        """A user with no process. The dead count until their new parent, the system's first
        process, takes note of them, so a user whose job left orphans rests until then."""
        if not self._free:
            for _ in range(len(self._resting)):
                user = self._resting.popleft()
                any_left = next(_of_user(user, dead=True), None) is not None
                (self._resting if any_left else self._free).append(user)
        if not self._free:
            self._free.extend(self._claim_block())
        return self._free.popleft()

    def _claim_block(self) -> Iterator[int]:
        import fcntl

        for first in range(_SPARE_USERS.start, _SPARE_USERS.stop - _BLOCK, _BLOCK):
            path = str(Path(self._home, f"users-{first}"))
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                os.close(descriptor)
                continue
            self._lock_fds.append(descriptor)
            block = range(first, first + _BLOCK)
            for user in block:  # a daemon may have outlived a host that was killed
                kill_all(_of_user(user))
            return iter(block)
        raise SandboxError(
            "all spare users for jobs are taken; end other programs that run jobs, or run fewer"
        )

    def _settle(self) -> str:
        """Makes this host's folder and removes those of hosts that are gone."""
        import fcntl

        home = os.open(self._home, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            fcntl.flock(home, fcntl.LOCK_EX)
            for name in os.listdir(self._home):
                if name.startswith("host-"):
                    _remove_if_left(str(Path(self._home, name)))
            folder = tempfile.mkdtemp(prefix="host-", dir=self._home)
            os.chmod(folder, 0o711)
            own = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            fcntl.flock(own, fcntl.LOCK_EX)
            self._lock_fds.append(own)
        finally:
            os.close(home)
        return folder

    def _compile_guests(self) -> str:
        """Our modules that run inside, as code alone: a jail never sees this package's folder."""
        folder = Path(self._folder, "code")
        package = folder.joinpath(*__package__.split("."))
        package.mkdir(parents=True)
        for place in (package, *package.parents[: len(__package__.split("."))]):
            place.chmod(0o755)
        for name in INSIDE:
            source = Path(__file__).with_name(f"{name}.py")
            target = package / f"{name}.pyc"
            py_compile.compile(str(source), str(target), dfile=f"<jail {name}>", doraise=True)
            target.chmod(0o644)
        return str(folder)

    @property
    def library(self) -> str:
        """The standard library's folder as a job sees it."""
        if self.interpreter.library:
            return self.interpreter.library
        return os.path.dirname(os.path.realpath(os.__file__))

    def _find_interpreter(self) -> Interpreter:
        # The base interpreter: a virtual environment's own would look for its pyvenv.cfg.
        executable = os.path.realpath(getattr(sys, "_base_executable", "") or sys.executable)
        if not os.path.isfile(executable):
            raise SandboxUnavailable("there is no Python interpreter file to run jobs with")
        library = os.path.dirname(os.path.realpath(os.__file__))
        if not self.has_spare_users or (_open_to_all(executable) and _open_to_all(library)):
            return Interpreter(executable)
        prefix = Path(self._folder, "python")
        libraries = prefix / sys.platlibdir
        for place in (prefix, prefix / "bin", libraries):
            place.mkdir(mode=0o755)
            place.chmod(0o755)
        _link(executable, str(prefix / "bin" / os.path.basename(executable)))
        _link_tree(library, str(libraries / os.path.basename(library)), left_out=_LEFT_OUT)
        for shared_object in Path(sys.base_prefix, sys.platlibdir).glob("libpython*.so*"):
            _link(str(shared_object), str(libraries / shared_object.name))
        return Interpreter(
            str(prefix / "bin" / os.path.basename(executable)),
            {"LD_LIBRARY_PATH": str(libraries)},
            library=str(libraries / os.path.basename(library)),
            shared=str(libraries),
        )


def quarters() -> Quarters:
    """The quarters of this process; a forked copy of it makes its own."""
    return _quarters_of(os.getpid())


@functools.cache
def _quarters_of(pid: int) -> Quarters:
    return Quarters()


def survivors(room: Room) -> list[int]:
    """The living processes that belong to a room's job."""
    if sys.platform != "linux":
        return []
    return list(_of_user(room.user) if room.user is not None else _of_mark(room.mark))


def kill_all(pids: Iterator[int] | list[int]) -> None:
    """Kills each process; the dead are no error."""
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
        if os.getpid() == 1:
            # As the first process of a container we are heir to a job's orphans.
            with suppress(ChildProcessError):
                os.waitpid(pid, os.WNOHANG)


def _of_user(user: int, dead: bool = False) -> Iterator[int]:
    wanted = str(user).encode()
    for pid in _pids():
        status = _read(pid, "status")
        start = status.find(b"\nUid:")
        if start < 0 or (not dead and b"\nState:\tZ" in status):
            continue
        if wanted in status[start + 5 : status.index(b"\n", start + 1)].split():
            yield pid


def _of_mark(mark: str) -> Iterator[int]:
    """Finds a copy of the guest by its arguments, and what it executed by its environment.

    A program that goes to the length of erasing both is not found; `describe` names no such
    promise for an ordinary user.
    """
    me = os.getuid()
    wanted = f"CODE_JAIL={mark}\0".encode()
    for pid in _pids():
        status = _read(pid, "status")
        if b"\nState:\tZ" in status or f"\nUid:\t{me}\t".encode() not in status:
            continue
        if wanted in _read(pid, "cmdline") + _read(pid, "environ"):
            yield pid


def _pids() -> list[int]:
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]


def _read(pid: int, name: str) -> bytes:
    try:
        with open(f"/proc/{pid}/{name}", "rb") as file:
            return file.read()
    except (FileNotFoundError, ProcessLookupError, PermissionError):
        return b""  # it ended meanwhile, or is none of ours to read


def _may_change_user() -> bool:
    """Whether this process is root with the powers that root usually has."""
    if os.geteuid() != 0:
        return False
    if sys.platform != "linux":
        return True
    status = Path("/proc/self/status").read_text()
    effective = int(next(line.split()[1] for line in status.splitlines() if "CapEff" in line), 16)
    if not all(effective >> bit & 1 for bit in _CAPABILITIES.values()):
        return False
    # In a user namespace only some numbers stand for a user.
    return _mapped("/proc/self/uid_map") and _mapped("/proc/self/gid_map")


def _refuse_readers() -> None:
    """Closes this process's memory and environment to others of the same user, jobs among them.

    It also turns off core dumps and debuggers of this process; its own doings are unchanged.
    """
    if sys.platform != "linux":
        return
    set_dumpable = 4
    library = ctypes.CDLL(None, use_errno=True)
    if library.prctl(set_dumpable, 0, 0, 0, 0) != 0:
        raise SandboxError(f"the kernel refused prctl: {os.strerror(ctypes.get_errno())}")


def _mapped(path: str) -> bool:
    for line in Path(path).read_text().splitlines():
        first, _, count = map(int, line.split())
        if first <= _SPARE_USERS.start and _SPARE_USERS.stop <= first + count:
            return True
    return False


def _make_home(for_spare_users: bool) -> str:
    """The folder all hosts of this user share; refuses one that someone else could change."""
    places = [tempfile.gettempdir(), "/tmp", "/var/tmp", "/dev/shm"]
    for place in places:
        if os.path.isdir(place) and (not for_spare_users or _open_to_all(place)):
            break
    else:
        raise SandboxUnavailable("no temporary folder can be reached by jobs; set TMPDIR to one")
    home = str(Path(os.path.realpath(place), f"code-jails-{os.geteuid()}"))
    with suppress(FileExistsError):
        os.mkdir(home, 0o711)
    found = os.lstat(home)
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid() or found.st_mode & 0o022:
        raise SandboxUnavailable(f"{home} is not ours alone to write; remove it and try again")
    return home


def _remove_if_left(folder: str) -> None:
    import fcntl

    try:
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except FileNotFoundError:
        return
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        remove(folder)
    except BlockingIOError:
        pass  # its host lives
    finally:
        os.close(descriptor)


def _open_to_all(path: str) -> bool:
    """Whether any user may reach and read `path`."""
    place = Path(path)
    if not os.stat(place).st_mode & 0o004:
        return False
    folders = [place, *place.parents] if place.is_dir() else list(place.parents)
    return all(os.stat(folder).st_mode & 0o001 for folder in folders)


def _give(path: str, user: int | None) -> None:
    if user is not None:
        os.chown(path, user, user)


def _lay(work: str, path: str, text: str, user: int | None) -> None:
    *parents, name = PurePosixPath(path).parts
    folder = work
    try:
        for parent in parents:
            folder = str(Path(folder, parent))
            if not os.path.isdir(folder):
                os.mkdir(folder, 0o700)
                _give(folder, user)
        target = str(Path(folder, name))
        with open(target, "wb") as file:
            file.write(in_bytes(text))
    except OSError as error:
        raise SandboxError(f"the job's file {path!r} cannot be written: {error}") from error
    _give(target, user)


def _link_tree(source: str, target: str, left_out: tuple[str, ...] = ()) -> None:
    """Makes `target` a readable image of `source`, following links, each folder once."""
    seen: set[str] = set()
    for folder, folders, files in os.walk(source, followlinks=True):
        place = Path(target, os.path.relpath(folder, source))
        place.mkdir(mode=0o755)
        place.chmod(0o755)
        for name in files:
            if os.path.isfile(path := str(Path(folder, name))):
                _link(path, str(place / name))
        seen.add(os.path.realpath(folder))
        folders[:] = [
            name
            for name in folders
            if not any(fnmatch(name, pattern) for pattern in left_out)
            and os.path.realpath(str(Path(folder, name))) not in seen
        ]


def _link(source: str, target: str) -> None:
    """A hard link; or a copy, where the file lies on another file system, and where its mode
    would let a job write it or keep a job from reading it."""
    real = os.path.realpath(source)
    if os.stat(real).st_mode & 0o006 == 0o004:
        try:
            os.link(real, target)
            return
        except OSError as error:
            if error.errno not in (errno.EXDEV, errno.EPERM, errno.EMLINK):
                raise
    shutil.copyfile(real, target)
    executable = os.stat(real).st_mode & 0o111
    os.chmod(target, 0o755 if executable else 0o644)
