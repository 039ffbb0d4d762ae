"""The guest: drops privileges inside the jail, then runs the job's program.

This file is self-contained and imports little, since each job pays for the imports. The backend
`subprocess` runs it in a new interpreter (`main`). The fork server imports it once, and its
children use the parts in their own order (`zygote`). The steps of `main` are:

1. The first frame on `CHANNEL` is the job. It comes from the trusted host, so it is `marshal`,
   which needs no import. All data that leaves the jail is JSON, since the host does not trust it.
2. The user is changed, the job's files are written, and limits are set, which the kernel enforces
   from then on. No untrusted code has run so far, which the guest reports to the host.
3. The program runs in a module `__jail__` with one global, `jail`. `__main__` is an empty module
   for code that runs as a script.
4. The last frame reports the end of the program.

Lone surrogates never stop a program: in output they become an escape (`\\ud800`); in messages and
on standard input they are unchanged.

    ChannelError                the channel was misused, or the host has ended
"""

from __future__ import annotations

import _thread
import builtins
import errno
import marshal
import os
import sys

# `import json` takes as long as the rest of the start, as it imports `re`; `_json` is fast.
from _frozen_importlib import ModuleSpec
from _json import encode_basestring, make_encoder
from types import CodeType, ModuleType

TYPE_CHECKING = False
if TYPE_CHECKING:  # importing typing would take as long as the rest of the start
    from collections.abc import Callable, Iterable, Sequence
    from typing import Any, NoReturn

CHANNEL = 3

READY = 1
MESSAGE = 2
END = 3
RULE = 4
BEGUN = 5

PROGRAM_NAME = "<frozen runpy>"
"""The name in tracebacks of programs that `python -m` starts."""

_CORE_MODULES = """
    __future__ _abc _ast _codecs _collections _collections_abc _ctypes _frozen_importlib
    _frozen_importlib_external _functools _imp _io _json _operator _signal _sitebuiltins _sre _stat
    _thread _warnings _weakref _weakrefset abc ast builtins codecs collections contextlib copyreg
    encodings enum errno functools genericpath importlib io itertools json keyword marshal math
    operator os posix posixpath re reprlib resource signal stat sys threading time types warnings
    zipimport
"""
CORE_MODULES = sys.stdlib_module_names & {*_CORE_MODULES.split(), *sys.builtin_module_names}
"""Modules of Python that every program in a jail needs; no file of a job can shadow them."""

_USUAL_BYTES = 1 << 14

_PR_SET_PDEATHSIG = 1
_PR_SET_DUMPABLE = 4
_PR_SET_NO_NEW_PRIVS = 38
_SIGKILL = 9


class ChannelError(Exception):
    """The channel was misused, or its other end is closed."""


class Jail:
    """The interface of a program to its jail."""

    def __init__(
        self, payload: Any, files: dict[str, str], folder: str, channel: HostChannel
    ) -> None:
        self.payload = payload
        """The job's payload."""
        self.files = files
        """The job's files, path to text, for levels at which no file can be opened."""
        self.folder = folder
        """The private folder, which is also the initial current directory."""
        self._channel = channel
        self.trusted_imports = TrustedImports(folder, files)
        """A context in which the job's files are not imported."""

    def send(self, value: Any) -> None:
        """Sends a JSON value to the host."""
        self._channel.send(value)

    def receive(self) -> Any:
        """The host's next value; `None` after the last one."""
        return self._channel.receive()


class TrustedImports:
    """A context in which only Python's, packages' and trusted modules are imported, not the job's
    files. Afterwards the job's files take precedence again."""

    def __init__(self, folder: str, files: Iterable[str]) -> None:
        self._folder = folder
        self._names = shadowed(files)
        self._left_out: list[tuple[list[Any], int, Any]] = []
        self._depth = 0

    def __enter__(self) -> None:
        self._depth += 1
        if self._depth > 1:
            return
        finders: Any = sys.meta_path
        for entries in (sys.path, finders):
            for index, one in reversed([*enumerate(entries)]):
                if one == self._folder or getattr(one, "imports_job_files", False):
                    self._left_out.append((entries, index, entries.pop(index)))

    def __exit__(self, *_: object) -> None:
        self._depth -= 1
        if self._depth:
            return
        while self._left_out:
            entries, index, one = self._left_out.pop()
            entries.insert(index, one)
        forget_modules(self._names)


def shadowed(files: Iterable[str]) -> set[str]:
    """Modules of Python that are shadowed by a job's files, given by path."""
    roots = {path.partition("/")[0].removesuffix(".py") for path in files}
    return (roots & sys.stdlib_module_names) - CORE_MODULES


def forget_modules(names: Iterable[str]) -> None:
    """Removes loaded modules of these names, so that a job's own are imported."""
    for root in names:
        for name in [module for module in sys.modules if module.partition(".")[0] == root]:
            del sys.modules[name]


class HostChannel:
    """The private channel to the host: receives marshal and sends JSON.

    A received frame is four bytes of length and a body. Each sent message has the number of values
    received so far, so that the host can assign answers to items.
    """

    def __init__(self) -> None:
        self._buffer = bytearray()
        self._lock = _thread.allocate_lock()
        self._received = 0
        self._owner = os.getpid()
        self._encode: Callable[[Any], bytes] | None = None

    def set_owner(self, owner: int) -> None:
        """Sets the process that may send, after a fork."""
        self._owner = owner

    def send(self, value: Any) -> None:
        if self._encode is None:
            self._encode = _encoder()
        self._frame(MESSAGE, self._encode(value))

    def receive(self) -> Any:
        if not self._received:
            self._frame(READY, b"")
        value = self.value()
        self._received += 1
        return value

    def value(self) -> Any:
        """The next value without counting it; `None` at end of file."""
        if not self._buffer:
            # Fast path without copies for a complete value.
            part = _read(CHANNEL, _USUAL_BYTES)
            size = int.from_bytes(part[:4], "big")
            if len(part) == 4 + size and size:
                return marshal.loads(memoryview(part)[4:])
            if not part:
                return None
            self._buffer += part
        self._fill(4)
        end = 4 + int.from_bytes(self._buffer[:4], "big")
        self._fill(end)
        body = bytes(self._buffer[4:end])
        del self._buffer[:end]
        return marshal.loads(body)

    def _fill(self, size: int) -> None:
        """Reads until the buffer has `size` bytes."""
        while len(self._buffer) < size:
            part = _read(CHANNEL, max(1 << 16, size - len(self._buffer)))
            if not part:
                raise ChannelError("the host ended within a message")
            self._buffer += part

    def end(self) -> None:
        """Reports the end of the program; does nothing in a forked copy of the job."""
        if os.getpid() == self._owner:
            self._frame(END, b"")

    def report_rule(self, rule: str) -> bool:
        """Reports a violated rule; false if the channel is in use."""
        if not self._lock.acquire(blocking=False):
            return False
        try:
            _write(CHANNEL, self._packed(RULE, rule.encode()))
        finally:
            self._lock.release()
        return True

    def report_begin(self) -> None:
        """Reports the start of the job; untrusted code may run from now on."""
        self._frame(BEGUN, b"")

    def warm_up_sending(self) -> None:
        """Executes the code of sending without sending anything, to copy its memory pages."""
        with self._lock:
            _write(CHANNEL, self._packed(END, b"")[:0])

    def _frame(self, kind: int, body: bytes) -> None:
        if os.getpid() != self._owner:
            raise ChannelError("a forked process cannot send messages of the job")
        with self._lock:
            _write(CHANNEL, self._packed(kind, body))

    def _packed(self, kind: int, body: bytes) -> bytes:
        header = (
            kind.to_bytes(1, "big")
            + len(body).to_bytes(4, "big")
            + self._received.to_bytes(4, "big")
        )
        return header + body


class Modules:
    """Imports a job's modules from memory. The host has compiled them if it has the same Python."""

    def __init__(
        self, sources: dict[str, tuple[str, CodeType | None]],
        trusted_imports: TrustedImports | None = None,
    ) -> None:
        self._sources = sources
        self._trusted_imports = trusted_imports or TrustedImports("", ())

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if name not in self._sources:
            return None
        package = any(other.startswith(name + ".") for other in self._sources)
        # typeshed wants a whole Loader; importlib asks for these methods only.
        return ModuleSpec(name, self, is_package=package)  # type: ignore[arg-type]

    def create_module(self, spec: ModuleSpec) -> None:
        return None

    def exec_module(self, module: ModuleType) -> None:
        text, code = self._sources[module.__name__]
        name = module_name(module.__name__)
        with self._trusted_imports:
            exec(code or compile(text, name, "exec", dont_inherit=True), module.__dict__)

    def get_source(self, name: str) -> str:
        return self._sources[name][0]


def module_name(name: str) -> str:
    """The file name with which a module of a job is compiled."""
    return f"<frozen {name}>"


def main() -> None:
    """Enters the jail and runs the job's program."""
    host = HostChannel()
    job = host.value()
    if job is None:
        raise SystemExit("the host ended before it sent a job")
    os.chdir(job["folder"])
    if sys.platform == "linux":
        raise_oom_score()
    if job["user"] is not None:
        change_user(job["user"])
    os.umask(0o022)
    write_files(job["folder"], job["files"])
    limit(job["limits"])
    if sys.platform == "linux":
        _restrict_process(job["host"])
    limit_processes(job["limits"]["processes"], exact=job["user"] is not None)
    _prepare_interpreter(job)
    jail = Jail(job["payload"], job["files"], job["folder"], host)
    import_job_modules(job["modules"], jail)
    host.report_begin()
    run_program(job["program"], job["source"], jail)
    sys.stdout.flush()
    sys.stderr.flush()
    host.end()


def run_program(program: CodeType | None, source: str, jail: Jail) -> None:
    """Runs a job's program, which is compiled here if the host's Python differs. An uncaught error
    is printed to standard error and ends the process."""
    module = ModuleType("__jail__")
    module.__dict__["jail"] = jail
    sys.modules["__jail__"] = module
    try:
        code = program or compile(source, PROGRAM_NAME, "exec", dont_inherit=True)
        exec(code, module.__dict__)
    except SystemExit:
        raise
    except BaseException:  # noqa: BLE001 - any error is printed on standard error
        with jail.trusted_imports:
            import linecache
            import traceback

        linecache.cache[PROGRAM_NAME] = (
            len(source), None, source.splitlines(keepends=True), PROGRAM_NAME,
        )
        traceback.print_exc()
        raise SystemExit(1) from None


def write_files(folder: str, files: dict[str, str]) -> None:
    """Writes a job's files into its folder, as the job's user."""
    for path, text in files.items():
        if "/" in path:
            os.makedirs(f"{folder}/{os.path.dirname(path)}", exist_ok=True)
        with open(f"{folder}/{path}", "wb") as file:
            file.write(_in_bytes(text))


def _in_bytes(text: str) -> bytes:
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:  # the text has lone surrogates that are not escaped bytes
        return text.encode("utf-8", "surrogatepass")


def raise_oom_score() -> None:
    """Makes the kernel kill a job before its host if the machine runs out of memory."""
    try:
        descriptor = os.open("/proc/self/oom_score_adj", os.O_WRONLY)
    except FileNotFoundError:  # no /proc
        return
    os.write(descriptor, b"1000")
    os.close(descriptor)


def limit(limits: dict[str, int]) -> None:
    """Sets the limits that the system enforces, permanently."""
    import resource

    kinds = {
        "memory": resource.RLIMIT_AS,
        "file": resource.RLIMIT_FSIZE,
        "open_files": resource.RLIMIT_NOFILE,
        "core": resource.RLIMIT_CORE,
    }
    for name, kind in kinds.items():
        lower(kind, limits[name], limits[name])
    if limits["cpu"]:
        # The soft limit raises SIGXCPU; a program that ignores it is killed a second later.
        lower(resource.RLIMIT_CPU, limits["cpu"], limits["cpu"] + 1)


def lower(kind: int, soft: int, hard: int) -> None:
    """Sets a limit unless it is already lower."""
    import resource

    ceiling = resource.getrlimit(kind)[1]
    if ceiling != resource.RLIM_INFINITY:
        soft, hard = min(soft, ceiling), min(hard, ceiling)
    try:
        resource.setrlimit(kind, (soft, hard))
    except (ValueError, OSError):
        # macOS has RLIMIT_AS but does not set it.
        if sys.platform == "linux":
            raise


def change_user(user: int) -> None:
    """Changes from root to another user, permanently."""
    os.setgroups([])
    # Called by root, these also set the saved identity, so the change is irreversible.
    os.setgid(user)
    os.setuid(user)


def limit_processes(processes: int, exact: bool) -> None:
    """Limits processes and threads together.

    The kernel counts all processes of a user, not of this job. A spare user has none. An ordinary
    user may have many, some of them in other containers, so the limit is raised until one more
    thread fits, and the job's share is added.
    """
    import resource

    kind = resource.RLIMIT_NPROC
    count = processes
    if not exact:
        hard = resource.getrlimit(kind)[1]
        while hard == resource.RLIM_INFINITY or count < hard:
            resource.setrlimit(kind, (count, hard))
            try:
                _thread.start_new_thread(int, ())
            except RuntimeError:
                count *= 2
            else:
                count += processes
                break
    lower(kind, count, count)


def _restrict_process(host: int) -> None:
    """Forbids new privileges, denies inspection by processes of the same user, and ends this
    process with the host."""
    # ctypes.CDLL would cost a millisecond of imports.
    import _ctypes

    # `None` is the running program itself, as in ctypes.CDLL(None).
    library = _ctypes.dlopen(None, 0)  # type: ignore[arg-type]
    prctl = _ctypes.dlsym(library, "prctl")
    for option, value in (
        (_PR_SET_NO_NEW_PRIVS, 1),
        (_PR_SET_DUMPABLE, 0),
        (_PR_SET_PDEATHSIG, _SIGKILL),
    ):
        if _ctypes.call_function(prctl, (option, value, 0, 0, 0)) != 0:
            raise SystemExit(f"the kernel refused prctl option {option}")
    if os.getppid() != host:
        raise SystemExit("the host ended while the job was starting")


def _prepare_interpreter(job: dict[str, Any]) -> None:
    """Makes the interpreter look like a new `python` to the code that runs in it."""
    os.set_inheritable(CHANNEL, False)
    for name in os.listdir("/dev/fd"):
        # The process may have inherited files that libraries of the host opened.
        if int(name) > CHANNEL:
            try:
                os.close(int(name))
            except OSError as error:
                if error.errno != errno.EBADF:  # the listing's own descriptor is closed already
                    raise
    reset_interpreter()
    sys.path[0] = job["folder"]  # instead of the folder of this file
    sys.path.extend(job["package_folders"])


def import_job_modules(modules: dict[str, tuple[str, CodeType | None]], jail: Jail) -> None:
    """Makes a job's modules importable from memory."""
    if modules:
        sys.meta_path.insert(0, Modules(modules, jail.trusted_imports))


def reset_interpreter() -> None:
    """Sets builtins, streams, arguments and a main module as in `python FILE`."""
    import site

    sys.argv[:] = [""]
    # `-S` omits these builtins, which scripts use.
    site.setquit()
    site.setcopyright()
    site.sethelper()
    _streams()
    sys.modules["__main__"] = ModuleType("__main__")
    sys.modules["__main__"].__dict__["__builtins__"] = builtins


def _streams() -> None:
    # Line buffering, so that output before a kill is not lost.
    for stream, errors, lines in (
        (sys.stdin, "surrogatepass", False),
        (sys.stdout, "backslashreplace", True),
        (sys.stderr, "backslashreplace", True),
    ):
        # The declared type, TextIO, lacks this method of the actual streams.
        stream.reconfigure(  # type: ignore[union-attr]
            encoding="utf-8", errors=errors, line_buffering=lines
        )


def _encoder() -> Callable[[Any], bytes]:
    """An encoder of JSON as bytes, which raises `TypeError` for other values."""
    def refuse(value: object) -> NoReturn:
        raise TypeError(f"a {type(value).__name__} is not a JSON value")

    def encode(value: Any) -> bytes:
        # A new one each time: a failed call leaves entries in `markers`.
        parts = make_encoder({}, refuse, encode_basestring, None, ":", ",", False, False, True)
        if isinstance(value, str):
            return encode_basestring(value).encode("utf-8", "surrogatepass")
        return "".join(parts(value, 0)).encode("utf-8", "surrogatepass")

    return encode


def _read(descriptor: int, size: int) -> bytes:
    """The next bytes; empty at end of file and after the host's death."""
    try:
        return os.read(descriptor, size)
    except ConnectionResetError:
        return b""


def _write(descriptor: int, frame: bytes) -> None:
    view = memoryview(frame)
    try:
        while view:
            view = view[os.write(descriptor, view) :]
    except OSError as error:
        if error.errno in (errno.EPIPE, errno.ECONNRESET):
            raise ChannelError("the host has closed the channel") from error
        raise


if __name__ == "__main__":
    main()
