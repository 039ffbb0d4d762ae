"""Becomes what Docker makes of a container's program by default, then runs a command.

    python docker_profile.py USER COMMAND...

No capabilities, none to be had, no new privileges, and a seccomp filter that refuses what
Docker's default profile refuses to a container without capabilities. Emulated are seccomp and
capabilities; AppArmor, control groups and a host's own settings are not. See
https://github.com/moby/profiles/blob/main/seccomp/default.json.
"""

from __future__ import annotations

import ctypes
import errno
import os
import struct
import sys

REFUSED = {
    "acct": 163, "add_key": 248, "bpf": 321, "chroot": 161, "clock_settime": 227,
    "create_module": 174, "delete_module": 176, "fanotify_init": 300, "finit_module": 313,
    "fsconfig": 431, "fsmount": 432, "fsopen": 430, "fspick": 433, "get_mempolicy": 239,
    "init_module": 175, "io_uring_enter": 426, "io_uring_register": 427, "io_uring_setup": 425,
    "ioperm": 173, "iopl": 172, "kcmp": 312, "kexec_file_load": 320, "kexec_load": 246,
    "keyctl": 250, "lookup_dcookie": 212, "mbind": 237, "migrate_pages": 256, "mount": 165,
    "mount_setattr": 442, "move_mount": 429, "move_pages": 279, "nfsservctl": 180,
    "open_by_handle_at": 304, "open_tree": 428, "perf_event_open": 298, "pidfd_getfd": 438,
    "pivot_root": 155, "process_madvise": 440, "quotactl": 179, "quotactl_fd": 443, "reboot": 169,
    "request_key": 249, "set_mempolicy": 238, "setdomainname": 171, "sethostname": 170,
    "setns": 308, "settimeofday": 164, "swapoff": 168, "swapon": 167, "sysfs": 139, "syslog": 103,
    "umount2": 166, "unshare": 272, "uselib": 134, "userfaultfd": 323, "ustat": 136,
    "vhangup": 153,
}
"""What needs a capability there, or is on no list at all; x86_64."""

_CLONE, _CLONE3, _SOCKET, _PERSONALITY = 56, 435, 41, 135
_NEW_NAMESPACES = 0x7E02_0000
_AF_VSOCK = 40
_PERSONALITIES = (0x0, 0x8, 0x2_0000, 0x2_0008, 0xFFFF_FFFF)
_X86_64 = 0xC000_003E
_LOAD, _EQUAL, _ANY_BIT, _RETURN = 0x20, 0x15, 0x45, 0x06
_ALLOW = 0x7FFF_0000
_EPERM = 0x0005_0000 | errno.EPERM
_ENOSYS = 0x0005_0000 | errno.ENOSYS
_ARGUMENT = 16

_libc = ctypes.CDLL(None, use_errno=True)


def main() -> None:
    user, command = int(sys.argv[1]), sys.argv[2:]
    drop_capabilities(user)
    load(profile())
    os.execv(command[0], command)


def drop_capabilities(user: int) -> None:
    """Takes another user's identity without any capability, also none to regain."""
    for capability in range(64):
        _libc.prctl(24, capability, 0, 0, 0)  # beyond the last one it is an error, and no harm
    os.setgroups([])
    os.setresgid(user, user, user)
    os.setresuid(user, user, user)
    header = struct.pack("=Ii", 0x2008_0522, 0)
    _succeed(_libc.capset(header, bytes(24)))
    _succeed(_libc.prctl(38, 1, 0, 0, 0))


def profile() -> list[tuple[int, int, int, int]]:
    """The filter: code, jump if true, jump if false, constant."""
    program = [(_LOAD, 0, 0, 4), (_EQUAL, 1, 0, _X86_64), (_RETURN, 0, 0, _ALLOW), (_LOAD, 0, 0, 0)]
    for number in REFUSED.values():
        program += [(_EQUAL, 0, 1, number), (_RETURN, 0, 0, _EPERM)]
    program += [(_EQUAL, 0, 1, _CLONE3), (_RETURN, 0, 0, _ENOSYS)]
    program += [
        (_EQUAL, 0, 4, _CLONE), (_LOAD, 0, 0, _ARGUMENT), (_ANY_BIT, 0, 1, _NEW_NAMESPACES),
        (_RETURN, 0, 0, _EPERM), (_RETURN, 0, 0, _ALLOW),
        (_EQUAL, 0, 4, _SOCKET), (_LOAD, 0, 0, _ARGUMENT), (_EQUAL, 0, 1, _AF_VSOCK),
        (_RETURN, 0, 0, _EPERM), (_RETURN, 0, 0, _ALLOW),
    ]
    known = len(_PERSONALITIES)
    program += [(_EQUAL, 0, known + 2, _PERSONALITY), (_LOAD, 0, 0, _ARGUMENT)]
    program += [(_EQUAL, known - at, 0, value) for at, value in enumerate(_PERSONALITIES)]
    return [*program, (_RETURN, 0, 0, _EPERM), (_RETURN, 0, 0, _ALLOW)]


def load(program: list[tuple[int, int, int, int]]) -> None:
    """Holds this process, and all it becomes, to the filter."""
    code = b"".join(struct.pack("=HBBI", *one) for one in program)
    room = ctypes.create_string_buffer(code)
    _succeed(_libc.prctl(22, 2, struct.pack("HxxxxxxP", len(program), ctypes.addressof(room))))


def _succeed(result: int) -> None:
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


if __name__ == "__main__":
    main()
