"""The fork server: a jailed interpreter that forks a child for each job.

It starts with a fixed environment, its settings on standard input, and a socket to the host. Before
the first fork it has dropped its user, its capabilities, access to most of the file system, and all
system calls that are not on a list. Imports are done once for all children.

The host sends `FORK` with a number and the descriptors of a worker: standard input, output and
error, and a channel. The child takes the descriptors, drops what only the fork server needs, and
waits on its channel for a job. No job and no secret passes through the fork server.

It answers `READY` once, then `ENDED` with the wait status of each worker, and `FREE` for each slot
whose folder is empty again. Any unexpected message of the host ends it, and the kernel then ends
its children.

If jobs are granted processes or sockets, a worker is not a child of this process but of the init
process of its own namespaces (`_become_init`). The init process only waits, and when it ends the
kernel ends all other processes in its namespaces.

Children are made with `fork` of the C library. `os.fork` would run hooks for threads and locks that
do not exist here, which takes half a millisecond.
"""

from __future__ import annotations

import _thread
import array
import atexit
import contextlib
import ctypes
import fcntl
import gc
import json
import marshal
import os
import resource
import select
import signal
import socket
import struct
import sys

from sandbox.inside import canaries, guest, lockdown
from sandbox.inside.filters import OWN_PID, places, stage_one, stage_two
from sandbox.inside.memory_imports import JobFileFinder, load_library, register_source_lines
from sandbox.inside.one_process import FileLocks, OneProcess
from sandbox.inside.removal import remove
from sandbox.inside.watch import RuleWatch

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, NoReturn

FORK, KILL = 1, 2
"""Requests: `REQUEST` packs kind, worker, slot, and whether the worker is started in advance."""
READY, ENDED, FREE = 1, 2, 3
REQUEST = struct.Struct("=BIH?")
ANSWER = struct.Struct("=BIid")
"""Answers except `READY`: kind, worker or slot, wait status, seconds of CPU time."""

EXIT_JOB_FAILED = 97
"""The exit code of a child that failed outside of its job's program."""

_HIGH = 200
"""The descriptor of the control socket, above those of a child."""
_RESERVED_FOR_FORKS = 128
_FIRST_FREE = guest.CHANNEL + 1
_MAX_DESCRIPTORS = 1024
_MAX_PENDING = 4096
_PRELOADED_MODULES = """
abc ast bisect collections collections.abc contextlib copy dataclasses datetime decimal enum
fractions functools heapq inspect io itertools json linecache math operator pathlib random re
statistics string textwrap threading time traceback types typing warnings weakref
""".split()
"""Frequently imported modules, which are preloaded. Each compiled module makes every fork a little
slower, so rarer ones are not preloaded."""

WORK_NAMES = ("app", "code", "project", "python", "scripts", "src")
WORK = WORK_NAMES[os.urandom(1)[0] % len(WORK_NAMES)]
"""The name of a job's folder, one of several names that are usual among users."""


class _JobFolders:
    """The folders and rules of a slot, created before its first child."""

    def __init__(self, base: str, rules: int) -> None:
        self.work = f"{base}/{WORK}"
        self.home = self.work.encode()
        self.tmp = f"{base}/tmp".encode()
        self.memory = f"{base}/shm"
        self.rules = rules
        self.prefixes = (f"{base}/",)
        self.folder = os.open(self.work, os.O_PATH | os.O_CLOEXEC) if rules >= 0 else -1


class Zygote:
    """The state of the fork server: folders, rules and living children."""

    def __init__(self, settings: dict[str, Any], control: socket.socket) -> None:
        self._settings = settings
        self._control = control
        self._level: str = settings["level"]
        self._files = self._level != "L2"
        shown = [settings["library"], *settings["readable"], sys.executable]
        self._temporary = () if any(one.startswith("/tmp/") for one in shown) else ("/tmp",)
        """Mount points of the temporary folder of a job with processes; empty if files that the job
        needs are there."""
        self._base: str = settings["base"]
        self._grants: tuple[str, ...] = tuple(settings["grants"])
        self._letter = "b" if self._grants else "a"
        """A part of the folder names, which differs for jobs with grants."""
        self._slots: list[str] = settings["slots"]
        self._fork = ctypes.PyDLL(None).fork
        self._warm_ups: list[Callable[[], None]] = []
        """The `warm_up` functions of trusted modules."""
        self._poll = select.poll()
        self._alive: dict[int, tuple[int, int, int, int]] = {}
        """Pidfd of a child to its process, worker, slot, and the pipe with its job's status."""
        self._pids: dict[int, int] = {}
        self._job_folders: list[_JobFolders] = []
        """By slot."""
        self._channel = guest.HostChannel()
        """Copied into each child."""
        self._recvmsg = control.recvmsg

    def enter_jail(self) -> dict[str, Any]:
        """Drops all privileges; returns the base folder and the canaries' results before that."""
        settings = self._settings
        os.chdir(settings["control"])
        controls = canaries.tried()
        os.chdir("/")
        for name in _PRELOADED_MODULES:
            __import__(name)
        guest.raise_oom_score()
        if settings["user"] is not None:
            guest.change_user(settings["user"])
        user, group = os.getuid(), os.getgid()
        readable = [*settings["readable"], *_libraries(), *_SOURCES]
        if "processes" in self._grants:
            readable.append(sys.executable)
        if not self._files:
            self._preload()
            load_library(settings["library"])
        if self._level == "L4":
            # A random name that does not reveal the sandbox.
            self._base = f"/home/{os.urandom(4).hex()}"
            lockdown.enter_namespaces(user, group, pids=not self._grants)
            slots = [f"{self._base}/{slot}" for slot in self._slots]
            shown = [settings["library"], *readable, *_DEVICES]
            lockdown.build_root(
                settings["root"], shown, slots, settings["scratch_bytes"], self._made_for_grants()
            )
            if "loopback" in self._grants:
                readable += _HOST_FILES
        guest.lower(resource.RLIMIT_CORE, 0, 0)
        guest.lower(resource.RLIMIT_MEMLOCK, 0, 0)
        # Counted per user: jobs must run out of timers before other processes do.
        guest.lower(resource.RLIMIT_SIGPENDING, _MAX_PENDING, _MAX_PENDING)
        guest.lower(resource.RLIMIT_NOFILE, _MAX_DESCRIPTORS, _MAX_DESCRIPTORS)
        guest.limit_processes(settings["threads"], exact=settings["user"] is not None)
        # The kernel counts the threads of all children together. Their limit is lower, so that
        # the fork server can still fork.
        most, _ = resource.getrlimit(resource.RLIMIT_NPROC)
        self._threads = (most - _RESERVED_FOR_FORKS,) * 2
        null = os.open("/dev/null", os.O_RDWR)
        for number in range(_FIRST_FREE):
            if number not in (2, null):
                os.dup2(null, number)
        if self._files:
            self._make_folders()
        lockdown.harden()
        if self._files:
            self._set_file_rules(readable)
        else:
            self._job_folders = [_JobFolders("/job/a", -1)] * len(self._slots)
        if self._level == "L4" and not self._grants:
            self._start_init()
        stage = stage_one(lockdown.MACHINE, "guarded" if self._files else "none", self._grants)
        lockdown.Filter(stage).load()
        if self._grants:
            self._check_namespaces()
        program = stage_two(lockdown.MACHINE, self._may_change_metadata(), self._grants)
        self._own_pid = places(program, OWN_PID)
        self._stage_two = lockdown.Filter(program)
        self._import(readable)
        return {"base": self._base, "controls": controls}

    def serve(self) -> NoReturn:
        """Handles the host's requests until the host ends."""
        self._poll.register(self._control, select.POLLIN)
        control = self._control.fileno()
        gc.collect()
        gc.disable()
        gc.freeze()
        while True:
            for descriptor, _ in self._poll.poll():
                if descriptor == control:
                    self._handle_request()
                else:
                    self._reap(descriptor)

    def _handle_request(self) -> None:
        message, ancillary, _, _ = self._recvmsg(64, _ROOM_FOR_DESCRIPTORS)
        if not message:
            os._exit(0)  # the host has ended; the kernel ends all children
        kind, worker, slot, waits = REQUEST.unpack(message)
        if kind == KILL:
            if worker in self._pids:
                os.kill(self._pids[worker], signal.SIGKILL)
            return
        descriptors = array.array("i")
        for _, _, part in ancillary:
            descriptors.frombytes(part)
        folders = self._job_folders[slot]
        status_pipe, status_sender = os.pipe2(os.O_NONBLOCK) if self._grants else (-1, -1)
        pid = lockdown.fork_into_namespaces() if self._grants else self._fork()
        if pid == 0:
            if self._grants:
                self._become_init(folders, status_sender)
            self._become_child(descriptors, folders, waits)
        for descriptor in (*descriptors, *((status_sender,) if self._grants else ())):
            os.close(descriptor)
        if pid < 0:
            raise OSError("the system has no room for another process")
        watched = os.pidfd_open(pid)
        self._alive[watched] = (pid, worker, slot, status_pipe)
        self._pids[worker] = pid
        self._poll.register(watched, select.POLLIN)

    def _reap(self, watched: int) -> None:
        pid, worker, slot, status_pipe = self._alive.pop(watched)
        self._poll.unregister(watched)
        os.close(watched)
        _, status, usage = os.wait4(pid, 0)
        if status_pipe >= 0:
            with contextlib.suppress(BlockingIOError):
                status = int.from_bytes(os.read(status_pipe, 4), "little") or status
            os.close(status_pipe)
        del self._pids[worker]
        self._control.send(ANSWER.pack(ENDED, worker, status, usage.ru_utime + usage.ru_stime))
        if self._files:
            for folder in self._folders(self._slots[slot]):
                _chmod(folder, 0o700)  # a job may have removed its own permissions
                remove(folder, keep=True)
        self._control.send(ANSWER.pack(FREE, slot, 0, 0.0))

    def _become_init(self, folders: _JobFolders, status_sender: int) -> None:
        """Runs in the init process of a job's namespaces; forks the job's process, returns in it.

        The init process waits for the job's process, reports its wait status, and ends, which ends
        all remaining processes. It runs no untrusted code and ignores signals from within.
        """
        try:
            lockdown.die_with_parent()
            os.setsid()
            if "processes" in self._grants:
                lockdown.bind_mount(folders.memory, _MEMORY)
                if self._temporary:
                    lockdown.bind_mount(os.fsdecode(folders.tmp), *self._temporary)
            if "loopback" in self._grants:
                lockdown.raise_loopback()
            lockdown.drop_capabilities()
            worker = self._fork()
            if worker == 0:
                if "processes" in self._grants:
                    os.setsid()
                return
            os.closerange(0, status_sender)
            os.closerange(status_sender + 1, _MAX_DESCRIPTORS)
            while True:
                ended, status = os.wait()
                if ended == worker:
                    os.write(status_sender, status.to_bytes(4, "little"))
                    os._exit(0)
        except BaseException:  # noqa: BLE001 - the process must not return from here
            import traceback

            traceback.print_exc()
        os._exit(EXIT_JOB_FAILED)

    def _become_child(
        self, descriptors: array.array[int], folders: _JobFolders, waits: bool
    ) -> NoReturn:
        """Runs in the child: takes its descriptors, drops the rest, runs one job and ends.

        The kernel copies each memory page that is written here for the first time, which is most of
        the cost of a job. So everything possible is prepared before the fork.
        """
        try:
            for number, descriptor in enumerate(descriptors):
                _dup2(descriptor, number)
            if self._grants:
                os.set_inheritable(guest.CHANNEL, False)
            if self._level != "L4":  # at L4 the init process of the pid namespace does this
                lockdown.die_with_parent()
            if folders.rules >= 0:
                if self._grants:
                    os.chdir(folders.work)  # the descriptor refers to the fork server's mounts
                    lockdown.apply_ruleset(self._common)
                else:
                    _fchdir(folders.folder)
                _ENVIRONMENT[b"HOME"], _ENVIRONMENT[b"TMPDIR"] = folders.home, folders.tmp
                lockdown.apply_ruleset(folders.rules)
            _closerange(_FIRST_FREE, _MAX_DESCRIPTORS)
            pid = _getpid()
            self._channel.set_owner(pid)
            self._stage_two.put(self._own_pid, pid)
            self._stage_two.load()
            gc.enable()
            if waits:
                self._run_warm_up_job(folders)
            self._work(folders)
        except BaseException:  # noqa: BLE001 - the process must not return from here
            import traceback

            traceback.print_exc()
        os._exit(EXIT_JOB_FAILED)

    def _run_warm_up_job(self, folders: _JobFolders) -> None:
        """Runs a warm-up job of the host, so that memory pages are copied before the real job."""
        for warm_up in self._warm_ups:
            warm_up()
        job = self._channel.value()
        job["ceilings"], job["processes"] = self._ceilings, self._processes
        self._perform(job, folders, self._channel.warm_up_sending)
        _flush(0)
        sys.path[:] = self._path
        del sys.modules["__jail__"]

    def _work(self, folders: _JobFolders) -> NoReturn:
        job = self._channel.value()
        if job is None:
            os._exit(0)
        status, completed = 0, True
        try:
            self._perform(job, folders, self._channel.report_begin)
        except SystemExit as end:
            status, completed = _status(end), False
        _finish(self._channel, status, completed)

    def _perform(
        self, job: dict[str, Any], folders: _JobFolders, begin: Callable[[], None]
    ) -> None:
        for kind, most in zip(_LIMITED, job["ceilings"]):  # noqa: B905 - new in 3.10
            _setrlimit(kind, most)
        _setrlimit(resource.RLIMIT_NPROC, job["processes"] if self._grants else self._threads)
        files = job["files"]
        if files:
            guest.forget_modules(guest.shadowed(files))
            if self._files:
                guest.write_files(folders.work, files)
            else:
                sys.meta_path.insert(0, JobFileFinder(files, folders.work))
                register_source_lines(files, folders.work)
        if self._files:
            sys.path.insert(0, folders.work)
        jail = guest.Jail(job["payload"], files, folders.work, self._channel)
        guest.import_job_modules(job["modules"], jail)
        self._watch.begin(self._channel.report_rule, folders.prefixes, self._files, self._allowed)
        begin()
        guest.run_program(job["program"], job["source"], jail)

    def _make_folders(self) -> None:
        os.umask(0o022)
        for slot in self._slots:
            for folder in self._folders(slot):
                os.makedirs(folder, 0o700)

    def _folders(self, slot: str) -> list[str]:
        """A job's folders: files, temporary files, and shared memory if it has grants."""
        names = (WORK, "tmp", "shm") if self._grants else (WORK, "tmp")
        return [f"{self._base}/{slot}/{self._letter}/{name}" for name in names]

    def _set_file_rules(self, readable: list[str]) -> None:
        version = lockdown.landlock_version()
        if version == 0:
            raise lockdown.LayerRefused("Landlock", 38)
        library = self._settings["library"]
        # Each child may only write its own folders; readable paths are restricted further below.
        for slot in self._slots:
            rules = lockdown.ruleset(
                version, [library, *readable], self._folders(slot), _DEVICES, grants=self._grants
            )
            folder = f"{self._base}/{slot}/{self._letter}"
            self._job_folders.append(_JobFolders(folder, rules))
        # Packages installed in the library are only readable if the job's folders include them.
        modules = [
            f"{library}/{name}" for name in os.listdir(library)
            if name not in ("site-packages", "dist-packages")
        ]
        # A bind mount at another place is not covered by the rule of its original folder.
        memories = [one for slot in self._slots if self._grants for one in self._folders(slot)[1:]]
        common = lockdown.ruleset(
            version, [*readable, *modules], (self._base, *memories), _DEVICES,
            listable=(library,), grants=self._grants,
        )
        if self._grants:
            # Landlock rules forbid mounts, which each job's init process needs.
            self._common = common
            return
        lockdown.apply_ruleset(common)
        os.close(common)

    def _made_for_grants(self) -> dict[str, str | bytes | None]:
        """Files and links at fixed paths for programs with processes or a network."""
        made: dict[str, str | bytes | None] = {}
        if "loopback" in self._grants:
            made |= _HOST_FILES
        if "processes" not in self._grants:
            return made
        made |= {
            _MEMORY: None, **dict.fromkeys(self._temporary), "/bin/python": sys.executable,
            "/bin/python3": sys.executable,
        }
        shared = self._settings["shared"]
        if shared:
            # Also found by an interpreter with another environment.
            made |= {
                f"/lib/{name}": f"{shared}/{name}" for name in os.listdir(shared)
                if name.startswith("libpython")
            }
        return made

    def _check_namespaces(self) -> None:
        """Tests before any job that the system supports namespaces for each job."""
        child = lockdown.fork_into_namespaces()
        if child == 0:
            os._exit(0)
        os.waitpid(child, 0)

    def _start_init(self) -> None:
        """Starts the init process of the pid namespace, whose end ends all others in it.

        It must be in the same Landlock domain, or the fork server's end could not signal it.
        """
        if self._fork() == 0:
            try:
                lockdown.die_with_parent()
                os.closerange(0, _MAX_DESCRIPTORS)
                while True:
                    signal.pause()
            finally:
                os._exit(96)

    def _may_change_metadata(self) -> bool:
        """Whether modes and times of other files are protected without a filter."""
        return self._settings["user"] is not None or self._level == "L4"

    def _preload(self) -> None:
        """Imports packages. They are untrusted, so where files are readable in the jail, this runs
        after the restrictions."""
        sys.path += self._settings["package_folders"]
        for name in self._settings["preload"]:
            # The program that imports the module gets the error.
            with contextlib.suppress(ImportError):
                __import__(name)

    def _import(self, readable: list[str]) -> None:
        settings = self._settings
        if "processes" not in self._grants:
            sys.meta_path.insert(0, OneProcess())
            fcntl.flock = FileLocks().flock
        if self._files and self._may_change_metadata():
            os.chmod, os.utime = _by_descriptor(os.chmod), _by_descriptor(os.utime)
        if self._files:
            self._preload()
        else:
            sys.path[:] = []
        if settings["modules"]:
            sys.meta_path.insert(0, guest.Modules(settings["modules"]))
            for name in settings["modules"]:
                __import__(name)
                if hasattr(sys.modules[name], "warm_up"):
                    self._warm_ups.append(sys.modules[name].warm_up)
        guest.reset_interpreter()
        _show_usual_flags()
        package = __name__.partition(".")[0]
        for name in [name for name in sys.modules if name.partition(".")[0] == package]:
            del sys.modules[name]
        for name in ("random", "numpy.random"):
            if name in sys.modules:
                # All jobs of this server have the same seed.
                sys.modules[name].seed(settings["seed"])
        self._path = list(sys.path)
        self._ceilings = [resource.getrlimit(kind) for kind in _LIMITED]
        self._processes = resource.getrlimit(resource.RLIMIT_NPROC)
        memory = [_MEMORY, *self._temporary] if self._grants else []
        self._watch = RuleWatch((settings["library"], *readable, *_DEVICES, *memory))
        allowed = {"processes": ("processes", "signals"), "loopback": ("network",)}
        self._allowed = tuple(rule for grant in self._grants for rule in allowed[grant])


_SOURCES = (
    "/dev/urandom", "/usr/share/zoneinfo", "/usr/lib/locale", "/etc/localtime", "/etc/ld.so.cache",
)
_MEMORY = "/dev/shm"
_HOST_FILES: dict[str, bytes] = {
    "/etc/hosts": b"127.0.0.1 localhost\n::1 localhost\n", "/etc/nsswitch.conf": b"hosts: files\n",
}
"""The configuration of the only host name in a private network."""
_DEVICES = ("/dev/null", "/dev/zero")
_OWN_FLAGS = ("dont_write_bytecode", "no_user_site", "no_site", "hash_randomization")
_LIMITED = (resource.RLIMIT_AS, resource.RLIMIT_FSIZE, resource.RLIMIT_NOFILE, resource.RLIMIT_CPU)
_ROOM_FOR_DESCRIPTORS = socket.CMSG_SPACE(_FIRST_FREE * 4)
_ENVIRONMENT = os.environ._data  # type: ignore[attr-defined]
"""Set directly, since `os.environ` would touch a hundred memory pages."""
_dup2, _fchdir, _closerange, _getpid = os.dup2, os.fchdir, os.closerange, os.getpid
_setrlimit = resource.setrlimit
_chmod = os.chmod


def _libraries() -> list[str]:
    """Folders of the shared libraries that this process and its imports use."""
    folders = {"/lib64", "/usr/lib64"}
    folders |= {f"{base}/{lockdown.MACHINE}-linux-gnu" for base in ("/lib", "/usr/lib")}
    with open("/proc/self/maps") as maps:
        for line in maps:
            path = line.split(maxsplit=5)[-1].strip()
            if path.startswith("/") and ".so" in path:
                folders.add(os.path.dirname(path))
    return sorted(folder for folder in folders if os.path.isdir(folder))


def _show_usual_flags() -> None:
    """Sets `sys.flags` to the values of an interpreter that a user starts."""
    for index, name in enumerate(type(sys.flags).__match_args__):
        if name in _OWN_FLAGS:
            # The call takes over a reference to the new value.
            value = ctypes.py_object(int(name == "hash_randomization"))
            ctypes.pythonapi.Py_IncRef(value)
            ctypes.pythonapi.PyStructSequence_SetItem(
                ctypes.py_object(sys.flags), ctypes.c_ssize_t(index), value
            )


def _by_descriptor(change: Callable[..., None]) -> Callable[..., None]:
    """Makes `os.chmod` or `os.utime` open the file first. By path they would also affect files
    that Landlock does not protect."""

    def changed(
        path: Any, *args: Any, dir_fd: int | None = None, follow_symlinks: bool = True, **more: Any
    ) -> None:
        if isinstance(path, int):
            change(path, *args, **more)
            return
        flags = os.O_CLOEXEC | (0 if follow_symlinks else os.O_NOFOLLOW)
        try:
            descriptor = os.open(path, flags | os.O_RDONLY, dir_fd=dir_fd)
        except PermissionError as refusal:
            try:
                descriptor = os.open(path, flags | os.O_WRONLY, dir_fd=dir_fd)
            except IsADirectoryError:
                raise refusal from None
        try:
            change(descriptor, *args, **more)
        finally:
            os.close(descriptor)

    changed.__name__ = changed.__qualname__ = change.__name__
    changed.__doc__ = change.__doc__
    return changed


def _status(end: SystemExit) -> int:
    if end.code is None:
        return 0
    if isinstance(end.code, int):
        return end.code & 0xFF
    print(end.code, file=sys.stderr)
    return 1


def _finish(channel: guest.HostChannel, status: int, completed: bool) -> NoReturn:
    """Ends like the interpreter: joins threads, runs exit handlers, flushes; reports the end."""
    if _thread._count():
        sys.modules["threading"]._shutdown()
    if atexit._ncallbacks():
        atexit._run_exitfuncs()
    status = _flush(status)
    if completed and status == 0:
        channel.end()
    os._exit(status)


def _flush(status: int) -> int:
    """Flushes the streams; returns the interpreter's status 120 if that fails."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError, AttributeError):  # the program closed or replaced it
            status = status or 120
    return status


def main() -> NoReturn:
    """Runs the fork server."""
    with os.fdopen(os.dup(0), "rb") as file:
        settings = marshal.load(file)
    control = socket.socket(fileno=fcntl.fcntl(guest.CHANNEL, fcntl.F_DUPFD_CLOEXEC, _HIGH))
    zygote = Zygote(settings, control)
    try:
        report = zygote.enter_jail()
    except lockdown.LayerRefused as refusal:
        control.send(json.dumps({"refused": str(refusal)}).encode())
        os._exit(1)
    control.send(json.dumps(report).encode())
    zygote.serve()
