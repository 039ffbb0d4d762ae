"""Provides jobs with private folders, spare users, and a readable interpreter.

    <temp>/code-jails-<uid>/        only writable by this user; created once
        users-<first>               locked while a host uses that block of spare users
        host-<random>/              one for each host process, locked while it lives
            guest.pyc               the guest of plain jobs; guest.py for another Python
            code/                   the code of a fork server; code-text/ for another Python
            python-<n>/             links to an interpreter that is not readable for all users
            site-<n>/               the same for folders of packages
            <n>/work, <n>/tmp       one plain job
            server-<n>/             one fork server; its jobs' folders, unless it mounts its own

A plain job is a job of the backend `subprocess`. The kernel releases a lock when its holder ends,
so the next host recognises the files of a killed host by the missing lock and removes them.

If the host is root, each plain job gets its own spare user, a user id that nobody else has: jobs
cannot signal, trace or read each other, their processes can be counted, and all of them can be
found by their user. Otherwise the processes of a job are found by a tag in their arguments and
environment. A fork server shares one spare user with its children, which its jail isolates.
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
"""The oldest Python version that can run the guest."""
_QUERY_S = 20.0
_QUERY = """
import json, os, sys
print(json.dumps([
    list(sys.version_info[:2]), sys.executable, sys.base_prefix, os.path.dirname(os.__file__),
    getattr(sys, "platlibdir", "lib"),
]))
"""
_SPARE_USERS = range(60_706, 61_184)
"""Unused according to https://systemd.io/UIDS-GIDS."""
_BLOCK = 16
_CAPABILITIES = {"CHOWN": 0, "KILL": 5, "SETGID": 6, "SETUID": 7}
_INSIDE = Path(__file__).with_name("inside")
_A_FOLDER = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_CLOEXEC", 0)
_FLAGS = ("-S", "-s", "-B")
"""The flags of every interpreter that runs jobs. -I and -E would ignore the hash seed. Instead of
-P, which needs 3.11, the guest changes `sys.path`."""
_LOWEST_SOURCE = 16
_LEFT_OUT = (
    "test", "tests", "site-packages", "dist-packages", "idlelib", "ensurepip", "config-*",
    "*.opt-[12].pyc",
)


@dataclass(frozen=True)
class JailFolder:
    """The folder and user of a plain job or a fork server."""

    folder: str
    user: int | None
    """The spare user; `None` if jobs run as the host's user."""

    @property
    def process_tag(self) -> str:
        """The tag in the arguments and environment of a plain job's processes."""
        return "-".join(Path(self.folder).parts[-2:])


@dataclass(frozen=True)
class Python:
    """An interpreter for jobs."""

    executable: str
    """The base interpreter, not that of a virtual environment."""
    version: tuple[int, int]
    library: str
    """The folder of its standard library."""
    shared: str
    """The folder of its shared libraries, if it has any."""


@dataclass(frozen=True)
class JailPython:
    """An interpreter that a job's user can run and read."""

    executable: str
    library: str
    """Its standard library as visible to a job."""
    environment: Mapping[str, str] = field(default_factory=dict)
    shared: str = ""
    """The folder of its shared libraries if it is a copy."""

    def start(
        self, arguments: list[str], environment: Mapping[str, str], descriptors: list[int]
    ) -> int:
        """Starts it in a new session with copies of these descriptors from 0 on; returns the
        process id."""
        import fcntl  # missing on Windows, where this module must still be importable

        # Duplicated above all target numbers first, so that no target overwrites a source.
        moved = [fcntl.fcntl(one, fcntl.F_DUPFD_CLOEXEC, _LOWEST_SOURCE) for one in descriptors]
        try:
            return os.posix_spawn(
                self.executable,
                [self.executable, *_FLAGS, *arguments],
                {**environment, **self.environment},
                file_actions=[
                    (os.POSIX_SPAWN_DUP2, source, number) for number, source in enumerate(moved)
                ],
                setsid=True,
                setsigmask=(),
                setsigdef=signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP},
            )
        finally:
            for descriptor in moved:
                os.close(descriptor)


class Workspaces:
    """Manages folders and spare users; used from several threads."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self.has_spare_users = _may_change_user()
        self._home = _make_home_folder(self.has_spare_users)
        """The folder with the locks of spare users, shared by all hosts."""
        # A job with processes has a private `/tmp`, which would hide these files.
        in_tmp = os.path.dirname(self._home) == "/tmp"
        # The name is part of library paths and must not reveal the sandbox.
        self._hosts = (
            _make_home_folder(self.has_spare_users, "/var/tmp", "python") if in_tmp else self._home
        )
        self._lock_fds: list[int] = []
        self._folder = self._make_host_folder()
        self._free: deque[int] = deque()
        self._awaiting_reap: deque[int] = deque()
        self._package_folders: dict[str, str] = {}
        self._count = 0
        self._pid = os.getpid()
        self._guest = Path(self._folder, "guest.pyc")
        _compile(_INSIDE / "guest.py", self._guest)
        self._interpreters: dict[str, JailPython] = {}
        self.interpreter()
        if not self.has_spare_users:
            _make_undumpable()
        atexit.register(self.close)

    def close(self) -> None:
        """Removes this host's folder."""
        if os.getpid() != self._pid:
            return  # a forked copy of the host owns no folder
        remove(self._folder)
        for descriptor in self._lock_fds:
            os.close(descriptor)
        self._lock_fds.clear()
        atexit.unregister(self.close)

    def make(self, kind: str = "", inner: Sequence[str] = ("work", "tmp")) -> JailFolder:
        """A new workspace with folders named `inner` that belong to its user; the name of its own
        folder begins with `kind`."""
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
        """Removes a workspace without living processes and releases its user."""
        remove(workspace.folder)
        self.release_user(workspace)

    def release_user(self, workspace: JailFolder, has_orphans: bool = False) -> None:
        """Releases the user of a workspace whose folder is removed. With `has_orphans` some of its
        processes may still run, so the user is reused only once they have ended."""
        if workspace.user is not None:
            with self._lock:
                (self._awaiting_reap if has_orphans else self._free).append(workspace.user)

    def end_server(self, workspace: JailFolder) -> None:
        """Removes a fork server's folder and processes, and releases its user."""
        if workspace.user is not None:
            kill_all(_pids_of_user(workspace.user))
        self.release_user(workspace, has_orphans=True)
        with suppress(OSError):  # files of a dying child are removed with this host's folder
            remove(workspace.folder)

    def package_folders(self, folders: tuple[str, ...]) -> list[str]:
        """The paths at which a job can read these folders."""
        return [self._site(folder) for folder in folders]

    def _site(self, folder: str) -> str:
        path = os.path.realpath(folder)
        if not os.path.isdir(path):
            raise SandboxError(f"the folder of packages {folder!r} does not exist")
        if not self.has_spare_users or _open_to_all(path):
            return path
        with self._lock:
            key = f"{path}:{os.stat(path).st_mtime_ns}"
            if key not in self._package_folders:
                target = str(Path(self._folder, f"site-{len(self._package_folders)}"))
                _link_tree(path, target)
                self._package_folders[key] = target
            return self._package_folders[key]

    def _spare(self) -> int:
        """A user without processes. A user whose job left orphans is reused only after init has
        reaped them, since zombies count too."""
        if not self._free:
            for _ in range(len(self._awaiting_reap)):
                user = self._awaiting_reap.popleft()
                any_left = next(_pids_of_user(user, dead=True), None) is not None
                (self._awaiting_reap if any_left else self._free).append(user)
        if not self._free:
            self._free.extend(self._claim_block())
        return self._free.popleft()

    def _claim_block(self) -> range:
        for first in range(_SPARE_USERS.start, _SPARE_USERS.stop - _BLOCK, _BLOCK):
            path = str(Path(self._home, f"users-{first}"))
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            if not _try_lock(descriptor):
                os.close(descriptor)
                continue
            self._lock_fds.append(descriptor)
            block = range(first, first + _BLOCK)
            kill_all(_pids_of_user(*block))  # a daemon may have survived a killed host
            return block
        raise SandboxError(
            "all spare users for jobs are in use; end other programs that run jobs, or run fewer"
        )

    def _make_host_folder(self) -> str:
        """Creates this host's folder and removes those of hosts that have ended."""
        home = os.open(self._hosts, _A_FOLDER)
        try:
            _try_lock(home, waits=True)
            for name in os.listdir(self._hosts):
                if name.startswith("host-"):
                    _remove_if_abandoned(str(Path(self._hosts, name)))
            folder = tempfile.mkdtemp(prefix="host-", dir=self._hosts)
            os.chmod(folder, 0o711)
            lock = os.open(folder, _A_FOLDER)
            _try_lock(lock, waits=True)
            self._lock_fds.append(lock)
        finally:
            os.close(home)
        return folder

    def guest(self, python: str = "") -> str:
        """The guest's file for plain jobs: bytecode, or source for another Python."""
        if not python:
            return str(self._guest)
        text = self._guest.with_suffix(".py")
        if not text.exists():
            shutil.copyfile(_INSIDE / "guest.py", text)
            text.chmod(0o644)
        return str(text)

    def code(self, python: str = "") -> str:
        """A folder from which a fork server imports `sandbox.inside`: bytecode, or source for
        another Python. The package's folder itself is not visible in a jail."""
        folder = Path(self._folder, "code-text" if python else "code")
        package = folder.joinpath(*PACKAGE.split("."), "inside")
        with self._lock:
            if not folder.exists():
                package.mkdir(parents=True)
                for made in (package, *package.parents[: PACKAGE.count(".") + 2]):
                    made.chmod(0o755)
                texts = [] if python else [*_INSIDE.glob("[a-z]*.py")]
                for source in texts:
                    _compile(source, package / f"{source.stem}.pyc")
                for source in _INSIDE.glob("[a-z]*.*"):
                    if source not in texts and source.is_file():
                        shutil.copyfile(source, package / source.name)
                        (package / source.name).chmod(0o644)
        return str(folder)

    def interpreter(self, python: str = "") -> JailPython:
        """The Python at a path, or the host's, in a form that a job's user can run and read."""
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
        for folder in (prefix, prefix / "bin", libraries):
            folder.mkdir(mode=0o755)
            folder.chmod(0o755)
        linked = prefix / "bin" / os.path.basename(found.executable)
        image = libraries / os.path.basename(library)
        _link(found.executable, str(linked))
        _link_tree(library, str(image), left_out=_LEFT_OUT)
        for shared_object in Path(found.shared).glob("libpython*.so*"):
            _link(os.path.realpath(shared_object), str(libraries / shared_object.name))
        environment = {"LD_LIBRARY_PATH": str(libraries)}
        return JailPython(str(linked), str(image), environment, shared=str(libraries))


def _own() -> Python:
    # The base interpreter: that of a virtual environment would look for pyvenv.cfg.
    executable = os.path.realpath(getattr(sys, "_base_executable", "") or sys.executable)
    if not os.path.isfile(executable):
        raise SandboxUnavailable("the file of the Python interpreter was not found")
    return Python(
        executable, sys.version_info[:2], os.path.dirname(os.path.realpath(os.__file__)),
        os.path.join(sys.base_prefix, sys.platlibdir),
    )


@functools.cache
def python_at(path: str) -> Python:
    """The interpreter at a path; raises `SandboxError` if it does not answer or is too old."""
    try:
        answer = subprocess.run(
            [path, "-I", "-S", "-c", _QUERY], capture_output=True, text=True, timeout=_QUERY_S,
            check=True,
        ).stdout
        (major, minor), executable, prefix, library, platform = json.loads(answer)
    except (OSError, subprocess.SubprocessError, ValueError) as error:
        raise SandboxError(f"the Python at {path} does not answer: {error}") from error
    if (major, minor) < OLDEST:
        raise SandboxError(
            f"the Python at {path} is {major}.{minor}; {OLDEST[0]}.{OLDEST[1]} or newer is needed"
        )
    # In a virtual environment made with copies the file is not a link to its original.
    original = os.path.join(prefix, "bin", f"python{major}.{minor}")
    real = os.path.realpath(original if os.path.isfile(original) else executable)
    return Python(real, (major, minor), os.path.realpath(library), os.path.join(prefix, platform))


def workspaces() -> Workspaces:
    """The workspaces of this process; a forked copy of it gets its own."""
    return _workspaces_of(os.getpid())


@functools.cache
def _workspaces_of(pid: int) -> Workspaces:
    return Workspaces()


def survivors(workspace: JailFolder) -> list[int]:
    """The living processes of a workspace's job."""
    if sys.platform != "linux":
        return []
    user = workspace.user
    return list(_pids_of_user(user) if user is not None else _pids_of_tag(workspace.process_tag))


def kill_all(pids: Iterator[int] | list[int]) -> None:
    """Kills processes; ignores those that have ended."""
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
        if os.getpid() == 1:
            # The init process of a container must reap a job's orphans.
            with suppress(ChildProcessError):
                os.waitpid(pid, os.WNOHANG)


def _pids_of_user(*users: int, dead: bool = False) -> Iterator[int]:
    wanted = {str(user).encode() for user in users}
    for pid in _pids():
        status = _read(pid, "status")
        start = status.find(b"\nUid:")
        if start < 0 or (not dead and b"\nState:\tZ" in status):
            continue
        if wanted & {*status[start + 5 : status.index(b"\n", start + 1)].split()}:
            yield pid


def _pids_of_tag(tag: str) -> Iterator[int]:
    """Finds copies of the guest by their arguments, and programs that it ran by their environment.

    A program that erases both is not found, which `describe` mentions for an ordinary user.
    """
    me = os.getuid()
    wanted = f"CODE_JAIL={tag}\0".encode()
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
        return b""  # it ended meanwhile, or is not readable


def _may_change_user() -> bool:
    """Whether this process is root with the usual capabilities."""
    if os.geteuid() != 0:
        return False
    if sys.platform != "linux":
        return True
    status = Path("/proc/self/status").read_text()
    effective = int(next(line.split()[1] for line in status.splitlines() if "CapEff" in line), 16)
    if not all(effective >> bit & 1 for bit in _CAPABILITIES.values()):
        return False
    # In a user namespace only some numbers are mapped.
    return _mapped("/proc/self/uid_map") and _mapped("/proc/self/gid_map")


def _make_undumpable() -> None:
    """Makes this process's memory and environment unreadable for other processes of the same user,
    such as jobs. This also disables core dumps and debuggers of this process."""
    if sys.platform != "linux":
        return
    set_dumpable = 4
    library = ctypes.CDLL(None, use_errno=True)
    if library.prctl(set_dumpable, 0, 0, 0, 0) != 0:
        why = os.strerror(ctypes.get_errno())
        raise SandboxError(f"the kernel refused prctl, which protects this process: {why}")


def _mapped(path: str) -> bool:
    for line in Path(path).read_text().splitlines():
        first, _, count = map(int, line.split())
        if first <= _SPARE_USERS.start and _SPARE_USERS.stop <= first + count:
            return True
    return False


def _make_home_folder(for_spare_users: bool, first: str = "", name: str = "code-jails") -> str:
    """The shared folder of all hosts of this user; raises if others can write it."""
    places = [first or tempfile.gettempdir(), "/tmp", "/var/tmp", "/dev/shm"]
    for parent in places:
        if os.path.isdir(parent) and (not for_spare_users or _open_to_all(parent)):
            break
    else:
        raise SandboxUnavailable(
            "no temporary folder is readable for jobs; set TMPDIR to a folder that is"
        )
    home = str(Path(os.path.realpath(parent), f"{name}-{os.geteuid()}"))
    with suppress(FileExistsError):
        os.mkdir(home, 0o711)
    found = os.lstat(home)
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid() or found.st_mode & 0o022:
        raise SandboxUnavailable(f"{home} is writable for other users; remove it and try again")
    return home


def _remove_if_abandoned(folder: str) -> None:
    try:
        descriptor = os.open(folder, _A_FOLDER)
    except FileNotFoundError:
        return
    try:
        if _try_lock(descriptor):  # otherwise its host lives
            remove(folder)
    finally:
        os.close(descriptor)


def _try_lock(descriptor: int, waits: bool = False) -> bool:
    """Locks an open file until it is closed; false if another process holds the lock."""
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
    """Whether any user can reach and read `path`."""
    target = Path(path)
    if not os.stat(target).st_mode & 0o004:
        return False
    folders = [target, *target.parents] if target.is_dir() else list(target.parents)
    return all(os.stat(folder).st_mode & 0o001 for folder in folders)


def _link_tree(
    source: str, target: str, left_out: tuple[str, ...] = (), seen: frozenset[str] = frozenset()
) -> None:
    """Makes `target` a readable image of `source`; follows links except into a parent folder."""
    seen |= {os.path.realpath(source)}
    os.mkdir(target, 0o755)
    os.chmod(target, 0o755)
    with os.scandir(source) as entries:
        for entry in entries:
            image = f"{target}/{entry.name}"
            if any(fnmatch(entry.name, pattern) for pattern in left_out):
                continue
            if entry.is_file():
                _link(os.path.realpath(entry.path) if entry.is_symlink() else entry.path, image)
            elif entry.is_dir() and os.path.realpath(entry.path) not in seen:
                _link_tree(entry.path, image, left_out, seen)


def _link(real: str, target: str) -> None:
    """Creates a hard link to a regular file. Creates a copy instead if the file is on another file
    system, or its mode would allow a job to write it or not to read it."""
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
