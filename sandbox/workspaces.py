"""Where jobs live: private folders, spare users, and an interpreter they may read.

    <temp>/code-jails-<uid>/        ours alone to write; made once and kept
        users-<first>               locked while a host uses that block of spare users
        host-<random>/              one for each host process, locked while it lives
            guest.pyc               what a plain job runs, one file; guest.py for another Python
            code/                   what a fork server runs; code-text/ for another Python
            python-<n>/             readable links to an interpreter, where it is hidden
            site-<n>/               the same for folders of packages
            <n>/work, <n>/tmp       one plain job
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
import json
import os
import py_compile
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import threading
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from fnmatch import fnmatch
from pathlib import Path

from sandbox import __name__ as PACKAGE
from sandbox.inside.removal import remove
from sandbox.types import SandboxError, SandboxUnavailable

OLDEST = (3, 10)
"""The first with all that runs inside: `os.pidfd_open`, `str.removeprefix`, `ast.unparse`."""
_ASKED_S = 20.0
_ASK = """
import json, os, sys
print(json.dumps([
    list(sys.version_info[:2]), sys.executable, sys.base_prefix, os.path.dirname(os.__file__),
    getattr(sys, "platlibdir", "lib"),
]))
"""
_SPARE_USERS = range(60_706, 61_184)
"""Unused by the allocation that systemd documents; see https://systemd.io/UIDS-GIDS."""
_BLOCK = 16
_CAPABILITIES = {"CHOWN": 0, "KILL": 5, "SETGID": 6, "SETUID": 7}
_INSIDE = Path(__file__).with_name("inside")
_A_FOLDER = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_CLOEXEC", 0)
_FLAGS = ("-S", "-s", "-B")
"""Of every interpreter that runs jobs. Not -I or -E: both would have it ignore the hash seed. What
-P would leave out of `sys.path` is taken from it by what runs there: 3.11 was first to know it."""
_LOWEST_SOURCE = 16
_LEFT_OUT = (
    "test", "tests", "site-packages", "dist-packages", "idlelib", "ensurepip", "config-*",
    "*.opt-[12].pyc",
)


@dataclass(frozen=True)
class JailFolder:
    """A folder and whose it is: of a plain job, or of a fork server."""

    folder: str
    user: int | None
    """The spare user; `None` when jobs run as the user of the host."""

    @property
    def mark(self) -> str:
        """By what the processes of a plain job are known."""
        return "-".join(Path(self.folder).parts[-2:])


@dataclass(frozen=True)
class Python:
    """An interpreter that jobs may run on."""

    executable: str
    """The file itself, which belongs to no virtual environment."""
    version: tuple[int, int]
    library: str
    """The folder of its standard library."""
    shared: str
    """The folder in which its own shared libraries lie, if it has any."""


@dataclass(frozen=True)
class JailPython:
    """A Python that a job's user may run and read."""

    executable: str
    library: str
    """Its standard library as a job sees it."""
    environment: Mapping[str, str] = field(default_factory=dict)
    shared: str = ""
    """The folder of its own shared libraries, where that is a copy."""

    def start(
        self, arguments: list[str], environment: Mapping[str, str], descriptors: list[int]
    ) -> int:
        """Starts it in a session of its own, with copies of these descriptors from 0 on; returns
        its process."""
        import fcntl  # not on Windows, where this module is still imported to say so

        # Out of the way of the places that they are given.
        moved = [fcntl.fcntl(one, fcntl.F_DUPFD_CLOEXEC, _LOWEST_SOURCE) for one in descriptors]
        try:
            return os.posix_spawn(
                self.executable,
                [self.executable, *_FLAGS, *arguments],
                {**environment, **self.environment},
                file_actions=[
                    (os.POSIX_SPAWN_DUP2, source, place) for place, source in enumerate(moved)
                ],
                setsid=True,
                setsigmask=(),
                setsigdef=signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP},
            )
        finally:
            for descriptor in moved:
                os.close(descriptor)


class Workspaces:
    """Hands out folders and users and takes them back; used from many threads."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self.has_spare_users = _may_change_user()
        self._home = _make_home_folder(self.has_spare_users)
        """Where hosts agree on spare users: one folder for all of them."""
        # A job that may start processes has a `/tmp` of its own, which would hide what lies there.
        in_tmp = os.path.dirname(self._home) == "/tmp"
        # Its name, which stands in paths of the library, tells no program where it runs.
        self._hosts = (
            _make_home_folder(self.has_spare_users, "/var/tmp", "python") if in_tmp else self._home
        )
        self._lock_fds: list[int] = []
        self._folder = self._settle()
        self._free: deque[int] = deque()
        self._resting: deque[int] = deque()
        self._sites: dict[str, str] = {}
        self._count = 0
        self._pid = os.getpid()
        self._guest = Path(self._folder, "guest.pyc")
        _compile(_INSIDE / "guest.py", self._guest)
        self._interpreters: dict[str, JailPython] = {}
        self.interpreter()
        if not self.has_spare_users:
            _refuse_readers()
        atexit.register(self.close)

    def close(self) -> None:
        """Removes this host's folder; its jobs' folders are gone already unless jobs still run."""
        if os.getpid() != self._pid:
            return  # a forked copy of the host owns nothing here
        remove(self._folder)
        for descriptor in self._lock_fds:
            os.close(descriptor)
        self._lock_fds.clear()
        atexit.unregister(self.close)

    def make(self, kind: str = "", inner: Sequence[str] = ("work", "tmp")) -> JailFolder:
        """A fresh workspace of that kind, with folders in it that are its user's."""
        with self._lock:
            self._count += 1
            user = self._spare() if self.has_spare_users else None
            workspace = JailFolder(f"{self._folder}/{kind}{self._count}", user)
        try:
            os.mkdir(workspace.folder, 0o711)
            for name in inner:
                os.mkdir(f"{workspace.folder}/{name}", 0o700)
                if user is not None:
                    os.chown(f"{workspace.folder}/{name}", user, user)
        except BaseException:
            self.remove(workspace)
            raise
        return workspace

    def remove(self, workspace: JailFolder) -> None:
        """Removes a workspace of which no process lives, and takes it back."""
        remove(workspace.folder)
        self.take_back(workspace)

    def take_back(self, workspace: JailFolder, has_orphans: bool = False) -> None:
        """Takes a workspace back once its folder is removed and none of its processes lives."""
        if workspace.user is not None:
            with self._lock:
                (self._resting if has_orphans else self._free).append(workspace.user)

    def end_server(self, workspace: JailFolder) -> None:
        """Takes a fork server's folder back; its children may still be dying."""
        if workspace.user is not None:
            kill_all(_of_user(workspace.user))
        self.take_back(workspace, has_orphans=True)
        with suppress(OSError):  # what a dying child just made goes with this host's folder
            remove(workspace.folder)

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

    def _claim_block(self) -> range:
        for first in range(_SPARE_USERS.start, _SPARE_USERS.stop - _BLOCK, _BLOCK):
            path = str(Path(self._home, f"users-{first}"))
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            if not _locked(descriptor):
                os.close(descriptor)
                continue
            self._lock_fds.append(descriptor)
            block = range(first, first + _BLOCK)
            kill_all(_of_user(*block))  # a daemon may have outlived a host that was killed
            return block
        raise SandboxError(
            "all spare users for jobs are taken; end other programs that run jobs, or run fewer"
        )

    def _settle(self) -> str:
        """Makes this host's folder and removes those of hosts that are gone."""
        home = os.open(self._hosts, _A_FOLDER)
        try:
            _locked(home, waits=True)
            for name in os.listdir(self._hosts):
                if name.startswith("host-"):
                    _remove_if_left(str(Path(self._hosts, name)))
            folder = tempfile.mkdtemp(prefix="host-", dir=self._hosts)
            os.chmod(folder, 0o711)
            own = os.open(folder, _A_FOLDER)
            _locked(own, waits=True)
            self._lock_fds.append(own)
        finally:
            os.close(home)
        return folder

    def guest(self, python: str = "") -> str:
        """The file that a plain job runs: code, or text for another Python than ours."""
        if not python:
            return str(self._guest)
        text = self._guest.with_suffix(".py")
        if not text.exists():
            shutil.copyfile(_INSIDE / "guest.py", text)
            text.chmod(0o644)
        return str(text)

    def code(self, python: str = "") -> str:
        """A folder from which a fork server imports what runs inside, as code alone, or text for
        another Python than ours: a jail never sees this package's folder."""
        folder = Path(self._folder, "code-text" if python else "code")
        package = folder.joinpath(*PACKAGE.split("."), "inside")
        with self._lock:
            if not folder.exists():
                package.mkdir(parents=True)
                for place in (package, *package.parents[: PACKAGE.count(".") + 2]):
                    place.chmod(0o755)
                texts = [] if python else [*_INSIDE.glob("[a-z]*.py")]
                for source in texts:
                    _compile(source, package / f"{source.stem}.pyc")
                for source in _INSIDE.glob("[a-z]*.*"):
                    if source not in texts and source.is_file():
                        shutil.copyfile(source, package / source.name)
                        (package / source.name).chmod(0o644)
        return str(folder)

    def interpreter(self, python: str = "") -> JailPython:
        """Ours, or the Python at that path, where a job's user may run and read it."""
        with self._lock:
            if python not in self._interpreters:
                self._interpreters[python] = self._readable(python_at(python) if python else _own())
            return self._interpreters[python]

    def _readable(self, found: Python) -> JailPython:
        library = found.library
        if not self.has_spare_users or (_open_to_all(found.executable) and _open_to_all(library)):
            return JailPython(found.executable, library)
        prefix = Path(self._folder, f"python-{len(self._interpreters)}")
        libraries = prefix / os.path.basename(found.shared)
        for place in (prefix, prefix / "bin", libraries):
            place.mkdir(mode=0o755)
            place.chmod(0o755)
        linked = prefix / "bin" / os.path.basename(found.executable)
        image = libraries / os.path.basename(library)
        _link(found.executable, str(linked))
        _link_tree(library, str(image), left_out=_LEFT_OUT)
        for shared_object in Path(found.shared).glob("libpython*.so*"):
            _link(os.path.realpath(shared_object), str(libraries / shared_object.name))
        environment = {"LD_LIBRARY_PATH": str(libraries)}
        return JailPython(str(linked), str(image), environment, shared=str(libraries))


def _own() -> Python:
    # The base interpreter: a virtual environment's own would look for its pyvenv.cfg.
    executable = os.path.realpath(getattr(sys, "_base_executable", "") or sys.executable)
    if not os.path.isfile(executable):
        raise SandboxUnavailable("there is no Python interpreter file to run jobs with")
    return Python(
        executable, sys.version_info[:2], os.path.dirname(os.path.realpath(os.__file__)),
        os.path.join(sys.base_prefix, sys.platlibdir),
    )


@functools.cache
def python_at(path: str) -> Python:
    """What the interpreter at a path says of itself; raises `SandboxError` where it does not
    answer, or is too old."""
    try:
        said = subprocess.run(
            [path, "-I", "-S", "-c", _ASK], capture_output=True, text=True, timeout=_ASKED_S,
            check=True,
        ).stdout
        (major, minor), executable, prefix, library, platform = json.loads(said)
    except (OSError, subprocess.SubprocessError, ValueError) as error:
        raise SandboxError(f"the Python at {path} does not answer: {error}") from error
    if (major, minor) < OLDEST:
        raise SandboxError(
            f"the Python at {path} is {major}.{minor}; {OLDEST[0]}.{OLDEST[1]} or newer is needed"
        )
    # In an environment that was made with copies the file is no link to the one it came from.
    own = os.path.join(prefix, "bin", f"python{major}.{minor}")
    real = os.path.realpath(own if os.path.isfile(own) else executable)
    return Python(
        real, (major, minor), os.path.realpath(library), os.path.join(prefix, platform),
    )


def workspaces() -> Workspaces:
    """The workspaces of this process; a forked copy of it makes its own."""
    return _workspaces_of(os.getpid())


@functools.cache
def _workspaces_of(pid: int) -> Workspaces:
    return Workspaces()


def survivors(workspace: JailFolder) -> list[int]:
    """The living processes that belong to a workspace's job."""
    if sys.platform != "linux":
        return []
    user = workspace.user
    return list(_of_user(user) if user is not None else _of_mark(workspace.mark))


def kill_all(pids: Iterator[int] | list[int]) -> None:
    """Kills each process; the dead are no error."""
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
        if os.getpid() == 1:
            # As the first process of a container we are heir to a job's orphans.
            with suppress(ChildProcessError):
                os.waitpid(pid, os.WNOHANG)


def _of_user(*users: int, dead: bool = False) -> Iterator[int]:
    wanted = {str(user).encode() for user in users}
    for pid in _pids():
        status = _read(pid, "status")
        start = status.find(b"\nUid:")
        if start < 0 or (not dead and b"\nState:\tZ" in status):
            continue
        if wanted & {*status[start + 5 : status.index(b"\n", start + 1)].split()}:
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


def _make_home_folder(for_spare_users: bool, first: str = "", name: str = "code-jails") -> str:
    """The folder all hosts of this user share; refuses one that someone else could change."""
    places = [first or tempfile.gettempdir(), "/tmp", "/var/tmp", "/dev/shm"]
    for place in places:
        if os.path.isdir(place) and (not for_spare_users or _open_to_all(place)):
            break
    else:
        raise SandboxUnavailable("no temporary folder can be reached by jobs; set TMPDIR to one")
    home = str(Path(os.path.realpath(place), f"{name}-{os.geteuid()}"))
    with suppress(FileExistsError):
        os.mkdir(home, 0o711)
    found = os.lstat(home)
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid() or found.st_mode & 0o022:
        raise SandboxUnavailable(f"{home} is not ours alone to write; remove it and try again")
    return home


def _remove_if_left(folder: str) -> None:
    try:
        descriptor = os.open(folder, _A_FOLDER)
    except FileNotFoundError:
        return
    try:
        if _locked(descriptor):  # else its host lives
            remove(folder)
    finally:
        os.close(descriptor)


def _locked(descriptor: int, waits: bool = False) -> bool:
    """Whether a file could be locked for as long as it is open."""
    import fcntl

    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if waits else fcntl.LOCK_NB))
    except BlockingIOError:
        return False
    return True


def _compile(source: Path, target: Path) -> None:
    py_compile.compile(str(source), str(target), dfile=f"<frozen {source.stem}>", doraise=True)
    target.chmod(0o644)


def _open_to_all(path: str) -> bool:
    """Whether any user may reach and read `path`."""
    place = Path(path)
    if not os.stat(place).st_mode & 0o004:
        return False
    folders = [place, *place.parents] if place.is_dir() else list(place.parents)
    return all(os.stat(folder).st_mode & 0o001 for folder in folders)


def _link_tree(
    source: str, target: str, left_out: tuple[str, ...] = (), seen: frozenset[str] = frozenset()
) -> None:
    """Makes `target` a readable image of `source`, following links, and no folder into itself."""
    seen |= {os.path.realpath(source)}
    os.mkdir(target, 0o755)
    os.chmod(target, 0o755)
    with os.scandir(source) as entries:
        for entry in entries:
            place = f"{target}/{entry.name}"
            if any(fnmatch(entry.name, pattern) for pattern in left_out):
                continue
            if entry.is_file():
                _link(os.path.realpath(entry.path) if entry.is_symlink() else entry.path, place)
            elif entry.is_dir() and os.path.realpath(entry.path) not in seen:
                _link_tree(entry.path, place, left_out, seen)


def _link(real: str, target: str) -> None:
    """A hard link to a file that is no link; or a copy, where the file lies on another file system,
    and where its mode would let a job write it or keep a job from reading it."""
    mode = os.stat(real).st_mode
    if mode & 0o006 == 0o004:
        try:
            os.link(real, target)
            return
        except OSError as error:
            if error.errno not in (errno.EXDEV, errno.EPERM, errno.EMLINK):
                raise
    shutil.copyfile(real, target)
    os.chmod(target, 0o755 if mode & 0o111 else 0o644)
