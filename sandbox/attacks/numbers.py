"""Numbers of the system calls that attacks make: name to one number for each of `MACHINES`.

A table of its own: attacks that shared the jail's would share its mistakes. `None` where the
architecture has no such call; a test compares the table with the headers of its machine.
"""

from __future__ import annotations

MACHINES = ("x86_64", "aarch64")

NUMBERS: dict[str, tuple[int, int | None]] = {
    "acct": (163, 89), "add_key": (248, 217), "bind": (49, 200), "bpf": (321, 280),
    "capget": (125, 90), "capset": (126, 91), "chroot": (161, 51), "clock_adjtime": (305, 266),
    "clock_gettime": (228, 113), "clock_settime": (227, 112), "clone": (56, 220),
    "clone3": (435, 435), "connect": (42, 203), "delete_module": (176, 106), "execveat": (322, 281),
    "fanotify_init": (300, 262), "fchmodat": (268, 53), "fcntl": (72, 25), "flock": (73, 32),
    "fsopen": (430, 430), "ftruncate": (77, 46), "get_robust_list": (274, 100),
    "getpgid": (121, 155), "getpid": (39, 172), "getpriority": (140, 141), "getsid": (124, 156),
    "init_module": (175, 105), "inotify_init1": (294, 26), "io_uring_setup": (425, 425),
    "ioctl": (16, 29), "ioperm": (173, None), "iopl": (172, None), "ioprio_set": (251, 30),
    "kcmp": (312, 272), "kexec_load": (246, 104), "keyctl": (250, 219),
    "landlock_create_ruleset": (444, 444), "listen": (50, 201), "memfd_create": (319, 279),
    "memfd_secret": (447, 447), "mincore": (27, 232), "mlockall": (151, 230),
    "modify_ldt": (154, None), "mount": (165, 40), "move_mount": (429, 429),
    "move_pages": (279, 239), "mq_open": (240, 180), "mq_unlink": (241, 181), "msgctl": (71, 187),
    "msgget": (68, 186), "name_to_handle_at": (303, 264), "open_by_handle_at": (304, 265),
    "open_tree": (428, 428), "openat": (257, 56), "openat2": (437, 437),
    "perf_event_open": (298, 241), "personality": (135, 92), "pidfd_getfd": (438, 438),
    "pidfd_open": (434, 434), "pidfd_send_signal": (424, 424), "pivot_root": (155, 41),
    "prctl": (157, 167), "prlimit64": (302, 261), "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271), "ptrace": (101, 117), "quotactl": (179, 60),
    "reboot": (169, 142), "recvmsg": (47, 212), "request_key": (249, 218),
    "rt_sigqueueinfo": (129, 138), "sched_getaffinity": (204, 123),
    "sched_getscheduler": (145, 120), "sched_setaffinity": (203, 122),
    "sched_setscheduler": (144, 119), "seccomp": (317, 277), "semctl": (66, 191),
    "semget": (64, 190), "sendmmsg": (307, 269), "sendmsg": (46, 211), "sendto": (44, 206),
    "set_mempolicy": (238, 237), "setgroups": (116, 159), "sethostname": (170, 161),
    "setns": (308, 268), "setpgid": (109, 154), "setpriority": (141, 140), "setresgid": (119, 149),
    "setresuid": (117, 147), "setsid": (112, 157), "settimeofday": (164, 170), "shmctl": (31, 195),
    "shmget": (29, 194), "socket": (41, 198), "socketpair": (53, 199), "splice": (275, 76),
    "swapon": (167, 224), "syslog": (103, 116), "tgkill": (234, 131), "tkill": (200, 130),
    "umount2": (166, 39), "unshare": (272, 97), "userfaultfd": (323, 282), "utimensat": (280, 88),
    "vfork": (58, None), "vmsplice": (278, 75),
}
