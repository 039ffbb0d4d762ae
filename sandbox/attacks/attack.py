"""What an attack is: Python that tries something, and the exact answer each level promises.

An attack that was merely not seen to succeed proves nothing: it may never have started. So a
refusal is promised by its name, the text says itself that it starts and what it met, and the
same text must have got through, or at least met the kernel, in a naive harness beside the jail.
"""

from __future__ import annotations

import json
import platform
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from textwrap import indent
from typing import Literal

from sandbox.attacks.numbers import MACHINES, NUMBERS
from sandbox.types import Limits

Rule = Literal[
    "environment", "files", "network", "processes", "signals", "kernel", "memory", "output",
    "descriptors", "time", "next job",
]

Harness = Literal["process", "interpreter"]
"""How the naive harness runs the texts of an attack.

process      each in a process of its own, with everything the host's process has
interpreter  one after the other in one interpreter, as a harness that calls `exec` does
"""

THROUGH = "through"
"""The answer to an attack that got what it wanted."""

ABSENT = "absent"
"""The answer to an attack that found nothing there."""


def everywhere(refusal: str, **at_levels: str) -> dict[str, str]:
    """The same refusal at each level that promises one, but for those named."""
    return {"L2": refusal, "L3": refusal, "L4": refusal, **at_levels}


FILES = everywhere("EACCES", L2="EPERM", L4="ENOENT")
"""A file outside: at L4 it is not there, at L3 Landlock answers, at L2 seccomp."""

INSIDE = everywhere("EACCES", L2="EPERM", L4="EACCES or EROFS")
"""A file that is there at each level, but not for this; the owner of a file that is mounted
read-only is told so first."""


@dataclass(frozen=True)
class Attack:
    """One thing that untrusted code may try; harmless where it succeeds."""

    name: str
    rule: Rule
    attempt: str
    """The body of a function. It raises what the kernel answers, `Absent` where it finds
    nothing, and ends where it succeeds; see `prelude` for the words it has."""
    refusals: Mapping[str, str]
    """Level to the one answer that counts: an errno, the signal or the limit that ended the
    process, or `absent`; "one or other" where it hangs on who owns a file. A level that is not
    named promises nothing."""
    control: tuple[str, ...] = (THROUGH,)
    """The answers of the naive harness that prove the attack real: `through`, or an errno by
    which the kernel, not a jail, finds fault with the call."""
    setup: str = ""
    """Statements before the attempt; a fault here is a fault of the attack."""
    probe: str = ""
    """A second attempt, made as the next job; it decides, once the first has run."""
    harness: Harness = "process"
    machines: tuple[str, ...] = tuple(MACHINES)
    limits: Limits = field(
        default_factory=lambda: Limits(
            wall_s=20, cpu_s=20, memory_mib=400, output_bytes=100_000, file_mib=4
        )
    )
    with_site: bool = False
    """The job is given the world's folder of packages to import from."""

    def unfit(self) -> str:
        """Why this machine cannot run it; empty when it can."""
        machine = platform.machine()
        if machine not in self.machines:
            return f"written for {', '.join(self.machines)}, not for {machine}"
        missing = [name for name in self._calls() if _number(name) is None]
        return f"{machine} has no {', '.join(missing)}" if missing else ""

    def texts(self) -> list[str]:
        """The scripts to run, in order; each takes the world's facts as its argument."""
        return [self._script(text) for text in (self.attempt, self.probe) if text]

    def _script(self, attempt: str) -> str:
        numbers = {name: _number(name) for name in [*self._calls(), "socket"]}
        setup = self.setup if attempt is self.attempt else ""
        return (
            f"{_PRELUDE}\nNUMBERS = {json.dumps(numbers)}\n{setup}\n"
            f"def attempt():\n{indent(attempt.strip(), '    ')}\n\nconclude(attempt)\n"
        )

    def _calls(self) -> list[str]:
        return sorted(set(_CALL.findall(self.setup + self.attempt + self.probe)))


_CALL = re.compile(r"\b(?:call\(|numbered\(|otherwise\(-1, )\"(\w+)\"")


def _number(name: str) -> int | None:
    return NUMBERS[name][MACHINES.index(platform.machine())]


_PRELUDE = r'''
import ctypes, errno, json, os, sys, time

world = json.loads(sys.argv[1])
libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_void_p
REPORT = [1]

class Absent(Exception):
    """What was looked for is not there."""

def report(**what):
    os.write(REPORT[0], b"\n" + json.dumps(what).encode() + b"\n")

def failed():
    number = ctypes.get_errno()
    raise OSError(number, os.strerror(number))

def numbered(name):
    return NUMBERS[name]

def call(name, *arguments):
    """A system call without a library between."""
    made = [ctypes.c_long(one) if isinstance(one, int) else one for one in arguments]
    result = libc.syscall(ctypes.c_long(NUMBERS[name]), *made)
    if result == -1:
        failed()
    return result

def otherwise(instead, name, *arguments):
    """The call's result, or `instead` where it is refused: the next call is the one that counts."""
    try:
        return call(name, *arguments)
    except OSError:
        return instead

def found(sign):
    if not sign:
        raise Absent

def secret(name):
    """The planted secret of that name; it is handed over reversed, so no search finds itself."""
    return world[name][::-1].encode()

def words(*values):
    """An array of 64-bit words."""
    return (ctypes.c_uint64 * len(values))(*values)

def halves(*values):
    """An array of 32-bit words."""
    return (ctypes.c_uint32 * len(values))(*[value & 0xFFFFFFFF for value in values])

def internet(port):
    return (2).to_bytes(2, sys.byteorder) + port.to_bytes(2, "big") + b"\x7f\0\0\1" + bytes(8)

def unix(path):
    """A socket's address by its path; a leading @ stands for the zero of abstract names."""
    name = path.encode()
    return (1).to_bytes(2, sys.byteorder) + (b"\0" + name[1:] if name[:1] == b"@" else name)

def ends(kind):
    """The two ends of a pair of unix sockets: 1 stream, 2 datagram."""
    pair = (ctypes.c_int * 2)()
    if libc.socketpair(1, kind, 0, pair):
        failed()
    return pair[0], pair[1]

def socket(family, kind, protocol=0):
    return call("socket", family, kind, protocol)

def machine_code(code):
    """A function made of bytes of machine code."""
    place = libc.mmap(None, ctypes.c_size_t(4096), 7, 0x22, -1, ctypes.c_long(0))
    if place in (None, ctypes.c_void_p(-1).value):
        failed()
    ctypes.memmove(place, code, len(code))
    function = ctypes.CFUNCTYPE(ctypes.c_long, *[ctypes.c_long] * 5)(place)
    def run(*arguments):
        result = function(*arguments, *[0] * (5 - len(arguments)))
        if -4096 < result < 0:
            raise OSError(-result, os.strerror(-result))
        return result
    return run

def forking_code(number):
    """A call that may make a process, which ends at once without touching its stack."""
    return machine_code(
        b"\xb8" + number.to_bytes(4, "little") + b"\x0f\x05\x85\xc0\x75\x09"
        b"\x31\xff\xb8\x3c\0\0\0\x0f\x05\xc3"
    )

def reap(child):
    """Lets a child end, and waits for it."""
    if child == 0:
        os._exit(0)
    os.waitpid(child, 0)

def busy(seconds):
    """Works for a while, then ends: long enough for a deadline to be missed."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        pass

def conclude(attempt):
    report(started=True)
    try:
        attempt()
    except Absent:
        report(answer="absent")
    except MemoryError:
        report(answer="ENOMEM")
    except OSError as error:
        report(answer=errno.errorcode.get(error.errno, str(error.errno)))
    else:
        report(answer="through")
'''
"""The words of an attack's text; it needs nothing but the standard library."""
