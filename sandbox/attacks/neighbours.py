"""Attacks on those who run at the same time: seeing that they are there, or being seen by them."""

from __future__ import annotations

from sandbox.attacks.attack import ABSENT, Attack, everywhere

_EPERM = everywhere("EPERM")
_UNSEEN = everywhere(ABSENT, L2="EPERM")
"""At L2 no file is opened, and so none is locked."""

ATTACKS = (
    Attack(
        "lock a file that everyone may read", "next job",
        """
one, other = (os.open(os.__file__, os.O_RDONLY) for _ in range(2))
call("flock", one, 2)
try:
    call("flock", other, 2 | 4)
except BlockingIOError:
    return
found(False)
""",
        _UNSEEN,
    ),
    Attack(
        "lock a device that everyone may open", "next job",
        """
one, other = (os.open("/dev/zero", os.O_RDONLY) for _ in range(2))
call("flock", one, 1)
try:
    call("flock", other, 2 | 4)
except BlockingIOError:
    return
found(False)
""",
        _UNSEEN,
    ),
    Attack(
        "lock a record of a file that everyone may read", "next job",
        """
import fcntl, struct
one, other = (os.open(os.__file__, os.O_RDONLY) for _ in range(2))
lock, set_lock, get_lock = struct.Struct("hhqqi4x"), 37, 36
fcntl.fcntl(one, set_lock, lock.pack(fcntl.F_RDLCK, 0, 7, 1, 0))
seen = lock.unpack(fcntl.fcntl(other, get_lock, lock.pack(fcntl.F_WRLCK, 0, 0, 0, 0)))
found(seen[0] != fcntl.F_UNLCK)
""",
        _UNSEEN,
    ),
    Attack(
        "take a lease on a file", "next job",
        """
import fcntl
fcntl.fcntl(os.open(os.__file__, os.O_RDONLY), 1024, fcntl.F_RDLCK)
""",
        _EPERM,
    ),
    Attack(
        "ask to be told of changes in a folder", "next job",
        """
import fcntl
fcntl.fcntl(os.open(os.path.dirname(os.__file__), os.O_RDONLY), 1026, 0x10)
""",
        _EPERM,
    ),
    Attack(
        "ask which pages others have touched", "next job",
        """
place = libc.mmap(None, ctypes.c_size_t(4096), 3, 0x22, -1, ctypes.c_long(0))
call("mincore", ctypes.c_void_p(place), 4096, ctypes.create_string_buffer(8))
""",
        _EPERM,
    ),
    Attack(
        "read the clock of another process", "signals",
        'call("clock_gettime", (~world["victim"] << 3) | 2, words(0, 0))', _EPERM,
    ),
    Attack(
        "ask for the session of another process", "signals", 'call("getsid", world["victim"])',
        _EPERM,
    ),
    Attack(
        "ask for the group of another process", "signals", 'call("getpgid", world["victim"])',
        _EPERM,
    ),
    Attack(
        "ask where another process may run", "signals",
        'call("sched_getaffinity", world["victim"], 128, ctypes.create_string_buffer(128))',
        everywhere("ENOSYS"),
    ),
    Attack(
        "ask how another process is scheduled", "signals",
        'call("sched_getscheduler", world["victim"])', _EPERM,
    ),
    Attack(
        "ask for the priority of another process", "signals",
        'call("getpriority", 0, world["victim"])', _EPERM,
    ),
    Attack(
        "ask for the best priority of a user", "signals", 'call("getpriority", 2, 0)', _EPERM,
    ),
    Attack(
        "ask for the powers of another process", "signals",
        'call("capget", halves(0x20080522, world["victim"]), halves(*[0] * 6))', _EPERM,
    ),
)
