"""The seccomp programs, run by an interpreter of classic BPF: also those of a machine we lack."""

from __future__ import annotations

import errno
import re
import struct
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox.attacks import attack
from sandbox.inside.filters import (
    ALLOWED,
    ARCHITECTURES,
    BY_DESCRIPTOR,
    BY_PATH,
    CLOCKS,
    ERRNO,
    KILL_PROCESS,
    NS_FLAGS,
    NUMBERS,
    OWN_PID,
    PLAIN,
    READING,
    WRITING,
    places,
    stage_one,
    stage_two,
)

MACHINES = tuple(ARCHITECTURES)
EPERM, EACCES = ERRNO | errno.EPERM, ERRNO | errno.EACCES
NOTHING_DONE = ERRNO
FORK_FLAGS = 0x0120_0011
THREAD_FLAGS = 0x003D_0F00


def answer(program: bytes, number: int, *arguments: int, architecture: int) -> int:
    """What the kernel would answer, see Documentation/userspace-api/seccomp_filter.rst."""
    given = (*arguments, 0, 0, 0, 0, 0, 0)[:6]
    seen = struct.pack("=iIQ6Q", number, architecture, 0, *(a % 2**64 for a in given))
    place, accumulator = 0, 0
    while True:
        code, jump_true, jump_false, constant = struct.unpack_from("=HBBI", program, place * 8)
        place += 1
        match code:
            case 0x20:
                (accumulator,) = struct.unpack_from("=I", seen, constant)
            case 0x05:
                place += constant
            case 0x15:
                place += jump_true if accumulator == constant else jump_false
            case 0x35:
                place += jump_true if accumulator >= constant else jump_false
            case 0x45:
                place += jump_true if accumulator & constant else jump_false
            case 0x06:
                return int(constant)
            case _:
                raise AssertionError(f"no instruction of ours: {code:#x}")


def asked(program: bytes, machine: str, name: str, *arguments: int) -> int:
    column, architecture = ARCHITECTURES[machine]
    number = NUMBERS[name][column]
    assert number is not None
    return answer(program, number, *arguments, architecture=architecture)


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize(
    ("name", "arguments", "expected"),
    [
        ("read", (), ALLOWED),
        ("socket", (2, 1), EACCES),
        ("connect", (3,), EACCES),
        ("socketpair", (1, 1), ALLOWED),
        ("socketpair", (2, 1), EACCES),
        ("sendto", (3, 1, 1, 0, 0), ALLOWED),
        ("sendto", (3, 1, 1, 0, 0x7F00_0000_1000), EACCES),
        ("sendto", (3, 1, 1, 0, 0x1_0000_0000), EACCES),
        ("sendto", (3, 1, 1, 1, 0), EPERM),
        ("recvfrom", (3, 1, 1, 1), EPERM),
        ("recvfrom", (3, 1, 1, 0), ALLOWED),
        ("clone", (FORK_FLAGS,), ALLOWED),
        ("clone", (THREAD_FLAGS,), ALLOWED),
        ("clone", (0x1000_0000,), EPERM),
        ("clone3", (), ERRNO | errno.ENOSYS),
        ("execve", (), EPERM),
        ("unshare", (0,), EPERM),
        ("mount", (), EPERM),
        ("prlimit64", (0, 9), ALLOWED),
        ("prlimit64", (17, 9), EPERM),
        ("fcntl", (3, 1030), ALLOWED),
        ("fcntl", (3, 8), EPERM),
        ("fcntl", (3, 4, 0x800), ALLOWED),
        ("fcntl", (3, 4, 0x2000), EPERM),
        ("fcntl", (3, 5), ALLOWED),
        ("fcntl", (3, 6), NOTHING_DONE),
        ("fcntl", (3, 7), NOTHING_DONE),
        ("fcntl", (3, 37), NOTHING_DONE),
        ("fcntl", (3, 38), NOTHING_DONE),
        ("fcntl", (3, 1024), EPERM),
        ("fcntl", (3, 1026), EPERM),
        ("flock", (3, 2), NOTHING_DONE),
        ("clock_gettime", (1,), ALLOWED),
        ("clock_gettime", (~77 << 3 | 2,), EPERM),
        ("clock_gettime", (~77 << 3 | 6,), ALLOWED),
        ("timer_create", (~77 << 3 | 2,), EPERM),
        ("ioctl", (1, 0x5413), ALLOWED),
        ("ioctl", (1, 0x5412), ERRNO | errno.ENOTTY),
    ],
)
def test_the_first_stage_answers(
    machine: str, name: str, arguments: tuple[int, ...], expected: int
) -> None:
    assert asked(stage_one(machine, "guarded"), machine, name, *arguments) == expected


@pytest.mark.parametrize("machine", MACHINES)
def test_without_guarded_files_nothing_can_be_opened(machine: str) -> None:
    program = stage_one(machine, "none")
    names = [*READING, *WRITING, *BY_PATH, *BY_DESCRIPTOR]
    here = [name for name in names if NUMBERS[name][ARCHITECTURES[machine][0]] is not None]

    answers = {name: asked(program, machine, name) for name in here}

    assert set(answers.values()) == {EPERM}
    assert asked(program, machine, "newfstatat", 3, 0, 0, 0x1000) == ALLOWED


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize(
    ("name", "arguments", "expected"),
    [
        ("read", (), ALLOWED),
        ("clone", (THREAD_FLAGS,), ALLOWED),
        ("clone", (FORK_FLAGS,), EPERM),
        ("execve", (), EPERM),
        ("recvmsg", (), EPERM),
        ("sendmsg", (), EPERM),
        ("pidfd_open", (1,), EPERM),
        ("seccomp", (), EPERM),
        ("landlock_restrict_self", (), EPERM),
        ("prctl", (15,), ALLOWED),
        ("prctl", (4, 1), EPERM),
        ("kill", (77, 9), ALLOWED),
        ("kill", (78, 9), EPERM),
        ("kill", (0, 9), EPERM),
        ("kill", (-1, 9), EPERM),
        ("tgkill", (77, 78, 9), ALLOWED),
        ("tgkill", (1, 77, 9), EPERM),
        ("getsid", (0,), ALLOWED),
        ("getpgid", (78,), EPERM),
        ("sched_getaffinity", (77,), ALLOWED),
        ("sched_getaffinity", (78,), ERRNO | errno.ENOSYS),
        ("getpriority", (0, 77), ALLOWED),
        ("getpriority", (0, 78), EPERM),
        ("getpriority", (2, 0), EPERM),
        ("setsid", (), EPERM),
    ],
)
def test_the_second_stage_answers(
    machine: str, name: str, arguments: tuple[int, ...], expected: int
) -> None:
    program = bytearray(stage_two(machine, metadata=True))
    for offset in places(bytes(program), OWN_PID):
        struct.pack_into("=I", program, offset, 77)

    assert asked(bytes(program), machine, name, *arguments) == expected


BOTH = ("loopback", "processes")


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize(
    ("name", "arguments", "none", "sockets", "processes"),
    [
        ("execve", (), EPERM, EPERM, ALLOWED),
        ("execveat", (), EPERM, EPERM, EPERM),
        ("clone", (FORK_FLAGS,), EPERM, EPERM, ALLOWED),
        ("clone", (FORK_FLAGS | NS_FLAGS,), EPERM, EPERM, EPERM),
        ("clone", (0x1000_0000 | 17,), EPERM, EPERM, EPERM),
        ("kill", (78, 9), EPERM, EPERM, ALLOWED),
        ("setsid", (), EPERM, EPERM, ALLOWED),
        ("flock", (3, 2), NOTHING_DONE, NOTHING_DONE, ALLOWED),
        ("fcntl", (3, 6), NOTHING_DONE, NOTHING_DONE, ALLOWED),
        ("mount", (), EPERM, EPERM, EPERM),
        ("capset", (), EPERM, EPERM, EPERM),
        ("unshare", (0,), EPERM, EPERM, EPERM),
        ("recvmsg", (3,), EPERM, EPERM, EPERM),
        ("pidfd_open", (1,), EPERM, EPERM, EPERM),
        ("ioctl", (3, 0x8914), ERRNO | errno.ENOTTY, ERRNO | errno.ENOTTY, ERRNO | errno.ENOTTY),
        ("socket", (2, 0x80001, 0), EACCES, ALLOWED, EACCES),
        ("socket", (10, 2, 17), EACCES, ALLOWED, EACCES),
        ("socket", (16, 3, 0), EACCES, EACCES, EACCES),
        ("socket", (2, 3, 0), EACCES, EACCES, EACCES),
        ("socket", (2, 1, 132), EACCES, EACCES, EACCES),
        ("connect", (3,), EACCES, ALLOWED, EACCES),
        ("bind", (3,), EPERM, ALLOWED, EPERM),
        ("setsockopt", (3, 1, 2), EPERM, ALLOWED, EPERM),
        ("setsockopt", (3, 0, 64), EPERM, EPERM, EPERM),
    ],
)
def test_a_grant_opens_its_own_calls_and_no_other(
    machine: str, name: str, arguments: tuple[int, ...], none: int, sockets: int, processes: int
) -> None:
    def met(grants: tuple[str, ...]) -> int:
        programs = (stage_one(machine, "guarded", grants), stage_two(machine, True, grants))
        answers = [asked(program, machine, name, *arguments) for program in programs]
        return next((one for one in answers if one != ALLOWED), ALLOWED)

    assert (met(()), met(("loopback",)), met(("processes",))) == (none, sockets, processes)
    assert met(BOTH) in (sockets, processes)


@pytest.mark.parametrize("machine", MACHINES)
def test_modes_and_times_are_for_those_who_own_nothing_else(machine: str) -> None:
    answers = [
        [
            asked(stage_two(machine, metadata=allowed), machine, name, *arguments)
            for name, *arguments in (
                ("fchmod",), ("utimensat", 3, 0), ("utimensat", -100 % 2**64, 1), ("fchmodat",),
            )
        ]
        for allowed in (True, False)
    ]

    assert answers == [[ALLOWED, ALLOWED, EPERM, EPERM], [EPERM] * 4]


@given(st.integers(0, 2**31 - 1), st.lists(st.integers(0, 2**64 - 1), max_size=6))
def test_what_is_not_listed_is_refused(number: int, arguments: list[int]) -> None:
    """Beside the list stands what is decided by arguments; nothing else may be allowed."""
    for machine in MACHINES:
        column, architecture = ARCHITECTURES[machine]
        listed = {
            NUMBERS[name][column]
            for name in (
                *PLAIN, *READING, *WRITING, *BY_PATH, *BY_DESCRIPTOR, *CLOCKS,
                "kill", "tgkill", "prctl", "prlimit64",
                "clone", "ioctl", "fcntl", "socketpair", "sendto", "recvfrom", "fork", "recvmsg",
                "sendmsg", "pidfd_open", "landlock_restrict_self", "seccomp", "getsockopt",
            )
        }
        seen = answer(
            stage_one(machine, "guarded"), number, *arguments, architecture=architecture
        )

        assert seen != ALLOWED or number in listed


@pytest.mark.parametrize("machine", MACHINES)
@given(number=st.integers(0, 500), other=st.integers(0, 2**32 - 1))
def test_another_architecture_kills(machine: str, number: int, other: int) -> None:
    if other == ARCHITECTURES[machine][1]:
        other ^= 1
    for program in (stage_one(machine, "guarded"), stage_two(machine, metadata=True)):
        assert answer(program, number, architecture=other) == KILL_PROCESS


def test_the_numbers_of_x32_kill() -> None:
    architecture = ARCHITECTURES["x86_64"][1]

    for program in (stage_one("x86_64", "guarded"), stage_two("x86_64", metadata=True)):
        assert answer(program, 0x4000_0000 | 1, architecture=architecture) == KILL_PROCESS


@pytest.mark.parametrize("machine", MACHINES)
def test_a_program_fits_the_kernel(machine: str) -> None:
    most = 4096

    for program in (
        stage_one(machine, "guarded"), stage_two(machine, metadata=False),
        stage_one(machine, "guarded", BOTH), stage_two(machine, True, BOTH),
    ):
        assert len(program) // 8 <= most


HEADERS = (
    (0, Path("/usr/include/x86_64-linux-gnu/asm/unistd_64.h")),
    (1, Path("/usr/include/asm-generic/unistd.h")),
)


@pytest.mark.parametrize("table", [NUMBERS, attack.NUMBERS], ids=["the filters'", "the attacks'"])
@pytest.mark.parametrize(("column", "header"), HEADERS)
def test_the_numbers_are_the_kernels(
    column: int, header: Path, table: dict[str, tuple[int | None, ...]]
) -> None:
    if not header.exists():
        pytest.skip(f"{header} is not installed")
    text = header.read_text()
    theirs = {
        name: int(number)
        for name, number in re.findall(r"#define __NR(?:3264)?_(\w+)\s+(\d+)\s*$", text, re.M)
    }
    theirs |= {
        name: theirs[other]
        for name, other in re.findall(r"#define __NR_(\w+)\s+__NR3264_(\w+)", text)
        if other in theirs
    }

    # A header may be older than a call that the table knows.
    wrong = {
        name: (both[column], theirs[name])
        for name, both in table.items() if name in theirs and both[column] != theirs[name]
    }

    assert wrong == {}
    assert len(theirs.keys() & table.keys()) > 90
