"""Builds the seccomp filters of the jail as classic BPF programs; pure, without system calls.

Two filters apply at once, and the kernel uses the stricter answer:

*stage one* is loaded by the fork server and inherited by every child. It lists the allowed system
calls: any other fails with EPERM, and a call with another architecture's numbers (`int 0x80`, x32)
kills the process.

*stage two* is loaded by each child before untrusted code runs. It removes what only the fork server
needs: new processes, other programs, signals to others, descriptors in messages.

Both have variants for the grants of a job (see `types.Job`): processes, and sockets in a private
network.

A program is a balanced search over the system call's number, so that a common call takes about ten
steps. Instructions are (code, jump if true, jump if false, constant), as in linux/filter.h.
"""

from __future__ import annotations

import errno
import os
import struct

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence
    from typing import Literal

    Instruction = tuple[int, int, int, int]
    Action = tuple[Instruction, ...]
    Files = Literal["none", "guarded"]

with open(os.path.join(os.path.dirname(__file__), "syscalls.txt"), encoding="ascii") as _table:
    _ROWS = [line.split() for line in _table if not line.startswith("#")]

NUMBERS: dict[str, tuple[int | None, int | None]] = {
    name: (None if x86 == "-" else int(x86), None if arm == "-" else int(arm))
    for name, x86, arm, *_ in _ROWS
}
"""Name to number on x86_64 and aarch64; `None` if the architecture lacks the call."""


def _listed(kind: str) -> list[str]:
    """The calls of a list in `syscalls.txt`."""
    return [name for name, _, _, *kinds in _ROWS if kind in kinds]


LOAD, JUMP, EQUAL, AT_LEAST, ANY_BIT, RETURN = 0x20, 0x05, 0x15, 0x35, 0x45, 0x06
KILL_PROCESS = 0x8000_0000
ERRNO = 0x0005_0000
ALLOWED = 0x7FFF_0000

ARCHITECTURES = {"x86_64": (0, 0xC000_003E), "aarch64": (1, 0xC000_00B7)}
"""Machine to its column in the table of numbers and its AUDIT_ARCH."""
_X32_BIT = 0x4000_0000

OWN_PID = 0x7EAD_BEEF
"""The placeholder for the child's pid in a stage two program."""

_CLONE_THREAD = 0x0001_0000
_CLONE_NAMESPACES = 0x7E02_0000
_AT_EMPTY_PATH = 0x1000
_O_ASYNC = 0x2000
_AF_UNIX = 1
_MSG_OOB = 1
"""A rarely used feature of local sockets that has allowed sandbox escapes before."""
_SOCKET_OPTIONS = (3, 4, 7, 8, 18, 19, 20, 21, 30, 38, 39)
"""Kind, error, sizes and times of a socket; not its peer, for which newer kernels can return a
process descriptor."""
_PR_NAMES = (15, 16, 0x5356_4D41)
_TERMINAL_SIZE, _READABLE_BYTES = (0x5401, 0x5413), (0x541B,)
_DESCRIPTOR_FLAGS = (0x5421, 0x5450, 0x5451)
_FCNTL = (0, 1, 2, 3, 5, 36, 1030, 1032, 1034)
"""Duplicates, flags, reading locks, sizes and seals; not owners, signals, leases or notices."""
_F_SETFL = 4
_SET_LOCKS = (6, 7, 37, 38)
_ANOTHERS_CLOCK, _OF_A_THREAD = 0x8000_0000, 4
"""Bits of a clock's number: the processor time of another process, or of a thread, which only its
own process can read."""

_CLONE_NEWUSER, _CLONE_NEWPID = 0x1000_0000, 0x2000_0000
_CLONE_NEWNS, _CLONE_NEWIPC, _CLONE_NEWNET = 0x0002_0000, 0x0800_0000, 0x4000_0000
NS_FLAGS = _CLONE_NEWUSER | _CLONE_NEWPID | _CLONE_NEWNS | _CLONE_NEWIPC | _CLONE_NEWNET
"""The namespaces of a job that is granted processes or sockets."""
_LOOPBACK_FAMILIES = (1, 2, 10)
_LOOPBACK_KINDS = (*(kind | flags for kind in (1, 2) for flags in (0, 0x800, 0x80000, 0x80800)),)
_LOOPBACK_PROTOCOLS = (0, 6, 17)
"""Streams and datagrams, local, TCP and UDP, as far as tests use them."""
_LOOPBACK_LEVELS = (1, 6, 41)
_SET_INTERFACE = 0x8914

PLAIN = _listed("plain")
"""Calls that only affect the process and its descriptors."""
READING, WRITING = _listed("reading"), _listed("writing")
"""Allowed only if Landlock restricts the files."""
BY_PATH = _listed("by_path")
"""Not restricted by Landlock: with these a job could change the folders of other jobs."""
BY_DESCRIPTOR = _listed("by_descriptor")
"""The same for opened files; allowed if the job's user owns no other readable file."""
CLOCKS = _listed("clock")
FORK_SERVER_CALLS = _listed("fork_server")
NAMESPACE_CALLS = _listed("set_apart")
"""Only for the init process of a job's namespaces."""
PROCESS_CALLS = _listed("processes")
SOCKET_CALLS = _listed("sockets")
"""Without `recvmsg`, since no job receives a descriptor."""


def stage_one(machine: str, files: Files, grants: Collection[str] = ()) -> bytes:
    """The filter of allowed calls, for the fork server and all its children."""
    allowed = [*PLAIN, *FORK_SERVER_CALLS]
    if grants:
        allowed += NAMESPACE_CALLS
    if "processes" in grants:
        allowed += PROCESS_CALLS
    if "loopback" in grants:
        allowed += SOCKET_CALLS
    if files == "guarded":
        allowed += [*READING, *WRITING, *BY_PATH, *BY_DESCRIPTOR]
    policy: dict[str, Action] = {name: _ALLOW for name in allowed}
    policy |= {
        "kill": _ALLOW,
        "tgkill": _ALLOW,
        "prctl": _ALLOW,
        "prlimit64": _first_is(0),
        "clone": _without(0, _CLONE_NAMESPACES & ~NS_FLAGS if grants else _CLONE_NAMESPACES),
        # So that the C library falls back to `clone`, whose flags a filter can check.
        "clone3": _refuse(errno.ENOSYS),
        "ioctl": _one_of(
            1,
            (*_TERMINAL_SIZE, *_READABLE_BYTES, *_DESCRIPTOR_FLAGS,
             *((_SET_INTERFACE,) if "loopback" in grants else ())),
            _refuse(errno.ENOTTY),
        ),
        "fcntl": _fcntl(locks="processes" in grants),
        "socketpair": _one_of(0, (_AF_UNIX,), _refuse(errno.EACCES)),
        # With an address it would reach sockets that the job has not opened.
        "sendto": _without(3, _MSG_OOB)[:-1] + _null(4, errno.EACCES),
        "recvfrom": _without(3, _MSG_OOB),
        "getsockopt": _one_of(2, _SOCKET_OPTIONS, _EPERM),
        # Python raises PermissionError for both.
        "socket": _refuse(errno.EACCES),
        "connect": _refuse(errno.EACCES),
    }
    policy |= dict.fromkeys(CLOCKS, _own_clock())
    if files == "guarded":
        # A lock on a file that all jobs can read affects all of them, and a filter does not know
        # which file it is. A single process is never blocked by its own lock.
        policy["flock"] = _ALLOW if "processes" in grants else _FAKE_SUCCESS
    if "loopback" in grants:
        policy |= {
            "socket": _each_one_of(
                (_LOOPBACK_FAMILIES, _LOOPBACK_KINDS, _LOOPBACK_PROTOCOLS), _refuse(errno.EACCES)
            ),
            "connect": _ALLOW,
            "setsockopt": _one_of(1, _LOOPBACK_LEVELS, _EPERM),
            "sendto": _without(3, _MSG_OOB),
        }
    if files == "none":
        # Newer C libraries use it for `fstat`.
        policy["newfstatat"] = _with_bit(3, _AT_EMPTY_PATH)
    return _program(machine, policy, _refuse(errno.EPERM))


def stage_two(machine: str, metadata: bool, grants: Collection[str] = ()) -> bytes:
    """The additional filter of a child; `OWN_PID` is the placeholder for its pid."""
    refused = {*FORK_SERVER_CALLS, *PROCESS_CALLS, "execveat", *BY_PATH}
    if grants:
        refused |= {*NAMESPACE_CALLS}
    if not metadata:
        refused |= {*BY_DESCRIPTOR}
    if "loopback" in grants:
        refused -= {*SOCKET_CALLS}
    policy: dict[str, Action] = {
        "utimensat": _null(1, errno.EPERM),
        "prctl": _one_of(0, _PR_NAMES, _refuse(errno.EPERM)),
        "ioctl": _none_of(1, (_SET_INTERFACE,), _refuse(errno.ENOTTY)),
    }
    if "processes" in grants:
        # Its pid namespace only has its own processes.
        refused -= {*PROCESS_CALLS}
        policy["clone"] = _without(0, _CLONE_NAMESPACES)
    else:
        itself = _one_of(0, (0, OWN_PID), _EPERM)
        policy |= {
            "clone": _with_bit(0, _CLONE_THREAD),
            "kill": _first_is(OWN_PID),
            "tgkill": _first_is(OWN_PID),
            **dict.fromkeys(("getpgid", "getsid", "sched_getparam", "sched_getscheduler"), itself),
            "getpriority": _each_one_of(((0,), (0, OWN_PID)), _EPERM),
            # For another thread the C library handles this error like an older kernel's.
            "sched_getaffinity": _one_of(0, (0, OWN_PID), _refuse(errno.ENOSYS)),
        }
    policy |= {name: _EPERM for name in refused}
    return _program(machine, policy, _ALLOW)


def places(program: bytes, word: int) -> list[int]:
    """The byte offsets of the instructions' constants that equal `word`."""
    return [
        offset + 4
        for offset in range(0, len(program), 8)
        if struct.unpack_from("=I", program, offset + 4)[0] == word
    ]


def _refuse(number: int) -> Action:
    return ((RETURN, 0, 0, ERRNO | number),)


_ALLOW: Action = ((RETURN, 0, 0, ALLOWED),)
_EPERM = _refuse(errno.EPERM)
_FAKE_SUCCESS = _refuse(0)
"""The call is not made but reported as successful."""


def _load(argument: int, high: bool = False) -> Instruction:
    """The low or the high half of an argument; both architectures are little-endian."""
    return (LOAD, 0, 0, 16 + 8 * argument + 4 * high)


def _one_of(argument: int, values: Iterable[int], otherwise: Action) -> Action:
    known = tuple(values)
    tests = tuple((EQUAL, len(known) - index, 0, value) for index, value in enumerate(known))
    return (_load(argument), *tests, *otherwise, *_ALLOW)


def _none_of(argument: int, values: Iterable[int], otherwise: Action) -> Action:
    known = tuple(values)
    tests = tuple((EQUAL, len(known) - index, 0, value) for index, value in enumerate(known))
    return (_load(argument), *tests, *_ALLOW, *otherwise)


def _each_one_of(values: Sequence[Sequence[int]], otherwise: Action) -> Action:
    """Allows a call if each of its first arguments is one of the values given for it."""
    checks: list[Instruction] = []
    for argument, known in reversed(tuple(enumerate(values))):
        # After the last value comes a jump to the refusal behind all further checks.
        tests = [(EQUAL, len(known) - index, 0, value) for index, value in enumerate(known)]
        checks = [_load(argument), *tests, (JUMP, 0, 0, len(checks) + 1), *checks]
    return (*checks, *_ALLOW, *otherwise)


def _own_clock() -> Action:
    return (
        _load(0), (ANY_BIT, 0, 2, _ANOTHERS_CLOCK), (ANY_BIT, 1, 0, _OF_A_THREAD), *_EPERM, *_ALLOW,
    )


def _first_is(value: int) -> Action:
    return _one_of(0, (value,), _EPERM)


def _with_bit(argument: int, bit: int) -> Action:
    return (_load(argument), (ANY_BIT, 1, 0, bit), *_EPERM, *_ALLOW)


def _without(argument: int, bits: int) -> Action:
    return (_load(argument), (ANY_BIT, 0, 1, bits), *_EPERM, *_ALLOW)


def _null(argument: int, otherwise: int) -> Action:
    return (
        _load(argument), (EQUAL, 0, 2, 0),
        _load(argument, high=True), (EQUAL, 1, 0, 0),
        *_refuse(otherwise), *_ALLOW,
    )


def _fcntl(locks: bool) -> Action:
    unmade = () if locks else _SET_LOCKS
    known = (*_FCNTL, *(_SET_LOCKS if locks else ()))
    set_flags: Action = (
        (EQUAL, 0, 3, _F_SETFL), _load(2), (ANY_BIT, 1, 0, _O_ASYNC), *_ALLOW, *_EPERM,
    )
    after = len(known) + len(set_flags) + 1
    to_nothing = [
        (EQUAL, len(unmade) - 1 - index + after, 0, command)
        for index, command in enumerate(unmade)
    ]
    to_allowed = [
        (EQUAL, len(known) - 1 - index + len(set_flags), 0, command)
        for index, command in enumerate(known)
    ]
    return (_load(1), *to_nothing, *to_allowed, *set_flags, *_ALLOW, *_FAKE_SUCCESS)


def _program(machine: str, policy: Mapping[str, Action], otherwise: Action) -> bytes:
    column, architecture = ARCHITECTURES[machine]
    actions: dict[int, Action] = {}
    for name, action in policy.items():
        number = NUMBERS[name][column]
        if number is not None:
            actions[number] = action
    instructions: list[Instruction] = [
        (LOAD, 0, 0, 4), (EQUAL, 1, 0, architecture), (RETURN, 0, 0, KILL_PROCESS), (LOAD, 0, 0, 0),
    ]
    if machine == "x86_64":
        instructions += [(AT_LEAST, 0, 1, _X32_BIT), (RETURN, 0, 0, KILL_PROCESS)]
    instructions += _search(_ranges(actions, otherwise))
    return b"".join(struct.pack("=HBBI", *instruction) for instruction in instructions)


def _ranges(actions: Mapping[int, Action], otherwise: Action) -> list[tuple[int, Action]]:
    """First number of each run of equal actions, and the action."""
    ranges: list[tuple[int, Action]] = []
    for number in range(max(actions) + 2):
        action = actions.get(number, otherwise)
        if not ranges or ranges[-1][1] != action:
            ranges.append((number, action))
    return ranges


def _search(ranges: list[tuple[int, Action]]) -> list[Instruction]:
    if len(ranges) == 1:
        return list(ranges[0][1])
    middle = len(ranges) // 2
    below, above = _search(ranges[:middle]), _search(ranges[middle:])
    first = ranges[middle][0]
    if len(below) <= 255:
        return [(AT_LEAST, len(below), 0, first), *below, *above]
    return [(AT_LEAST, 0, 1, first), (JUMP, 0, 0, len(below)), *below, *above]
