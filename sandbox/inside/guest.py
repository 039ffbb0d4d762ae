"""Runs inside the jail: gives up what the job may not have, then runs the job's program.

One self-contained file: it needs nothing of ours, and what it imports is kept small because each
job pays for it. The plain backend runs it by itself, in a fresh interpreter (`main`); the fork
server imports it once, and its children use the same parts in an order of their own (`zygote`).
The order of `main` is the theory of operation:

1. The first frame on `CHANNEL` is the job. It comes from the host, so it is `marshal`, which
   needs no import; everything that leaves the jail is JSON, because the host trusts none of it.
2. The user is changed, the job's files are written, limits are set, and the kernel enforces
   them from here on. Until here no untrusted code has run, which the guest reports to the host.
3. The program runs in a module `__jail__` whose one global is `jail`. `__main__` is an empty
   module, so code that is run as a script finds a place of its own.
4. The last frame says that the program came to its end.

Lone surrogates never stop a program: printed, they become an escape (`\\ud800`); in messages
and on standard input they travel unchanged.

    ChannelError                the channel cannot be used so, or the host has ended
"""

from __future__ import annotations

import _thread
import builtins
import errno
import marshal
import os
import sys

# `import json` costs as much as the rest of the start (it imports re); its core does not.
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
"""As in the tracebacks of what `python -m` starts."""

_STANDING = """
    __future__ _abc _ast _codecs _collections _collections_abc _ctypes _frozen_importlib
    _frozen_importlib_external _functools _imp _io _json _operator _signal _sitebuiltins _sre _stat
    _thread _warnings _weakref _weakrefset abc ast builtins codecs collections contextlib copyreg
    encodings enum errno functools genericpath importlib io itertools json keyword marshal math
    operator os posix posixpath re reprlib resource signal stat sys threading time types warnings
    zipimport
"""
STANDING = sys.stdlib_module_names & {*_STANDING.split(), *sys.builtin_module_names}
"""Modules of Python that no program of a jail runs without: no file of a job comes before them."""

_USUAL_BYTES = 1 << 14

_PR_SET_PDEATHSIG = 1
_PR_SET_DUMPABLE = 4
_PR_SET_NO_NEW_PRIVS = 38
_SIGKILL = 9


class ChannelError(Exception):
    """The channel was used in a way it does not allow, or its other end is gone."""


class Jail:
    """What a program sees of its jail."""

    def __init__(
        self, payload: Any, files: dict[str, str], folder: str, channel: HostChannel
    ) -> None:
        self.payload = payload
        """The job's payload."""
        self.files = files
        """The job's files, path to text: for where none can be opened."""
        self.folder = folder
        """The private folder, also the current directory at the start."""
        self._channel = channel
        self.undisturbed = Undisturbed(folder, files)
        """While it is entered, the job's own files are not imported."""

    def send(self, value: Any) -> None:
        """Sends a JSON value to the host."""
        self._channel.send(value)

    def receive(self) -> Any:
        """The host's next value; `None` when there is no more."""
        return self._channel.receive()


class Undisturbed:
    """While it is entered, what is imported comes from Python, from packages or from us: none of it
    is one of the job's own files, which come first again afterwards."""

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
            for place, one in reversed([*enumerate(entries)]):
                if one == self._folder or getattr(one, "is_own", False):
                    self._left_out.append((entries, place, entries.pop(place)))

    def __exit__(self, *_: object) -> None:
        self._depth -= 1
        if self._depth:
            return
        while self._left_out:
            entries, place, one = self._left_out.pop()
            entries.insert(place, one)
        give_way(self._names)


def shadowed(files: Iterable[str]) -> set[str]:
    """Modules of Python that a job's files, by path, have the names of and come before."""
    roots = {path.partition("/")[0].removesuffix(".py") for path in files}
    return (roots & sys.stdlib_module_names) - STANDING


def give_way(names: Iterable[str]) -> None:
    """Forgets loaded modules of these names, so that a job's own are found."""
    for root in names:
        for name in [one for one in sys.modules if one.partition(".")[0] == root]:
            del sys.modules[name]


class HostChannel:
    """The private channel to the host: marshal comes in, JSON goes out.

    A frame that comes in is four bytes of length and a body.

    Each message carries the number of values received so far, so that the host can tell an
    answer to one item from an answer to the next.
    """

    def __init__(self) -> None:
        self._buffer = bytearray()
        self._lock = _thread.allocate_lock()
        self._received = 0
        self._owner = os.getpid()
        self._encode: Callable[[Any], bytes] | None = None

    def belong(self, owner: int) -> None:
        """Makes the copy of this channel that a fork made the copy's own."""
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
            # The usual case, a whole value at once, is worth a path without copies.
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
        """Reads until `size` bytes are there."""
        while len(self._buffer) < size:
            part = _read(CHANNEL, max(1 << 16, size - len(self._buffer)))
            if not part:
                raise ChannelError("the host is gone within a message")
            self._buffer += part

    def end(self) -> None:
        """Says that the program came to its end; a forked copy of the job says nothing."""
        if os.getpid() == self._owner:
            self._frame(END, b"")

    def tell(self, rule: str) -> bool:
        """Names a rule that the program met; false when the channel is in use just now."""
        if not self._lock.acquire(blocking=False):
            return False
        try:
            _write(CHANNEL, self._packed(RULE, rule.encode()))
        finally:
            self._lock.release()
        return True

    def begin(self) -> None:
        """Says that the job was taken up; from here on foreign code may run."""
        self._frame(BEGUN, b"")

    def rehearse(self) -> None:
        """Goes through the motions of a first and a last word, and says nothing."""
        with self._lock:
            _write(CHANNEL, self._packed(END, b"")[:0])

    def _frame(self, kind: int, body: bytes) -> None:
        if os.getpid() != self._owner:
            raise ChannelError("a forked process cannot speak for the job")
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
    """Imports a job's modules from memory; they were compiled by the host, if by the same Python.
    """

    def __init__(
        self, sources: dict[str, tuple[str, CodeType | None]],
        undisturbed: Undisturbed | None = None,
    ) -> None:
        self._sources = sources
        self._undisturbed = undisturbed or Undisturbed("", ())

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
        with self._undisturbed:
            exec(code or compile(text, name, "exec", dont_inherit=True), module.__dict__)

    def get_source(self, name: str) -> str:
        return self._sources[name][0]


def module_name(name: str) -> str:
    """What stands for a file where a module of a job was compiled."""
    return f"<frozen {name}>"


def main() -> None:
    """Becomes the jail and runs the job's program."""
    host = HostChannel()
    job = host.value()
    if job is None:
        raise SystemExit("the host ended before it sent a job")
    os.chdir(job["folder"])
    if sys.platform == "linux":
        prefer_in_memory_shortage()
    if job["user"] is not None:
        become(job["user"])
    os.umask(0o022)
    lay(job["folder"], job["files"])
    limit(job["limits"])
    if sys.platform == "linux":
        _close_doors(job["host"])
    limit_processes(job["limits"]["processes"], exact=job["user"] is not None)
    _prepare_interpreter(job)
    jail = Jail(job["payload"], job["files"], job["folder"], host)
    import_own(job["modules"], jail)
    host.begin()
    run_program(job["program"], job["source"], jail)
    sys.stdout.flush()
    sys.stderr.flush()
    host.end()


def run_program(program: CodeType | None, source: str, jail: Jail) -> None:
    """Runs a job's program, which comes compiled where the host has the same Python; an uncaught
    error is printed on standard error and becomes an exit."""
    module = ModuleType("__jail__")
    module.__dict__["jail"] = jail
    sys.modules["__jail__"] = module
    try:
        code = program or compile(source, PROGRAM_NAME, "exec", dont_inherit=True)
        exec(code, module.__dict__)
    except SystemExit:
        raise
    except BaseException:  # noqa: BLE001 - any error is printed on standard error
        with jail.undisturbed:
            import linecache
            import traceback

        linecache.cache[PROGRAM_NAME] = (
            len(source), None, source.splitlines(keepends=True), PROGRAM_NAME,
        )
        traceback.print_exc()
        raise SystemExit(1) from None


def lay(folder: str, files: dict[str, str]) -> None:
    """Writes a job's files into its folder, by its own hand."""
    for path, text in files.items():
        if "/" in path:
            os.makedirs(f"{folder}/{os.path.dirname(path)}", exist_ok=True)
        with open(f"{folder}/{path}", "wb") as file:
            file.write(_in_bytes(text))


def _in_bytes(text: str) -> bytes:
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:  # a program that was pasted with lone surrogates of its own
        return text.encode("utf-8", "surrogatepass")


def prefer_in_memory_shortage() -> None:
    """Where the whole machine runs out of memory, a job is to die before its host."""
    try:
        descriptor = os.open("/proc/self/oom_score_adj", os.O_WRONLY)
    except FileNotFoundError:  # no /proc here: nothing to prefer
        return
    os.write(descriptor, b"1000")
    os.close(descriptor)


def limit(limits: dict[str, int]) -> None:
    """Sets the limits that the system enforces, for good."""
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
        # The soft limit raises SIGXCPU; a program that ignores it meets SIGKILL a second later.
        lower(resource.RLIMIT_CPU, limits["cpu"], limits["cpu"] + 1)


def lower(kind: int, soft: int, hard: int) -> None:
    """Sets a limit, or keeps what is already lower."""
    import resource

    ceiling = resource.getrlimit(kind)[1]
    if ceiling != resource.RLIM_INFINITY:
        soft, hard = min(soft, ceiling), min(hard, ceiling)
    try:
        resource.setrlimit(kind, (soft, hard))
    except (ValueError, OSError):
        # macOS knows RLIMIT_AS but refuses to set it.
        if sys.platform == "linux":
            raise


def become(user: int) -> None:
    """Changes from root to another user, for good."""
    os.setgroups([])
    # Called by root, these set the saved identity too: there is no way back.
    os.setgid(user)
    os.setuid(user)


def limit_processes(processes: int, exact: bool) -> None:
    """Bounds processes and threads together.

    The kernel counts all of a user's, not this job's. A spare user starts at none. An ordinary
    user may have many, some of them out of sight in other containers, so the limit is raised
    until one more thread fits and the job's share is added to that.
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


def _close_doors(host: int) -> None:
    """No way back to privileges, no looking in from a process of the same user, no life
    after the host."""
    # ctypes.CDLL costs a millisecond of imports more than these two calls need.
    import _ctypes

    # `None` is the running program itself, as ctypes.CDLL(None) passes it.
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
    """Makes the interpreter look as a fresh `python` would to the code that runs in it."""
    os.set_inheritable(CHANNEL, False)
    for name in os.listdir("/dev/fd"):
        # A library of the host may have opened files that a new program inherits.
        if int(name) > CHANNEL:
            try:
                os.close(int(name))
            except OSError as error:
                if error.errno != errno.EBADF:  # the listing's own descriptor is closed by now
                    raise
    look_fresh()
    sys.path[0] = job["folder"]  # in place of the one that this file lies in
    sys.path.extend(job["sites"])


def import_own(modules: dict[str, tuple[str, CodeType | None]], jail: Jail) -> None:
    """Has the modules that came with a job imported from memory."""
    if modules:
        sys.meta_path.insert(0, Modules(modules, jail.undisturbed))


def look_fresh() -> None:
    """Builtins, streams, arguments and a main module as `python FILE` has them."""
    import site

    sys.argv[:] = [""]
    # `-S` leaves these out, and scripts use them.
    site.setquit()
    site.setcopyright()
    site.sethelper()
    _streams()
    sys.modules["__main__"] = ModuleType("__main__")
    sys.modules["__main__"].__dict__["__builtins__"] = builtins


def _streams() -> None:
    # Whole lines leave at once, so that what was printed before a kill is seen.
    for stream, errors, lines in (
        (sys.stdin, "surrogatepass", False),
        (sys.stdout, "backslashreplace", True),
        (sys.stderr, "backslashreplace", True),
    ):
        # Text streams of the interpreter have it; their declared type, TextIO, does not.
        stream.reconfigure(  # type: ignore[union-attr]
            encoding="utf-8", errors=errors, line_buffering=lines
        )


def _encoder() -> Callable[[Any], bytes]:
    """JSON text as bytes; anything that is no JSON value raises `TypeError`."""
    def refuse(value: object) -> NoReturn:
        raise TypeError(f"a {type(value).__name__} is no JSON value")

    def encode(value: Any) -> bytes:
        # A new one each time: `markers` must not keep what a failed call left there.
        parts = make_encoder({}, refuse, encode_basestring, None, ":", ",", False, False, True)
        if isinstance(value, str):
            return encode_basestring(value).encode("utf-8", "surrogatepass")
        return "".join(parts(value, 0)).encode("utf-8", "surrogatepass")

    return encode


def _read(descriptor: int, size: int) -> bytes:
    """The next bytes; none at the end, which is also how the host's death looks."""
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
            raise ChannelError("the other end is gone") from error
        raise


if __name__ == "__main__":
    main()
