"""Attacks on the kernel: the calls in which its faults are found."""

from __future__ import annotations

from sandbox.attacks.attack import Attack, everywhere

_EPERM = everywhere("EPERM")

ATTACKS = (
    Attack(
        "load a program into the kernel", "kernel",
        'call("bpf", 0, ctypes.create_string_buffer(8192), 8192)', _EPERM, control=("E2BIG",),
    ),
    Attack(
        "count the processor's events", "kernel",
        """
kinds = ctypes.create_string_buffer(128)
ctypes.memmove(kinds, halves(1, 112), 8)
ctypes.memmove(ctypes.addressof(kinds) + 40, words(0x60), 8)
call("perf_event_open", kinds, 0, -1, -1, 0)
""",
        _EPERM,
    ),
    Attack(
        "make a ring of calls", "kernel",
        'call("io_uring_setup", 1, ctypes.create_string_buffer(120))', _EPERM,
    ),
    Attack("handle page faults", "kernel", 'call("userfaultfd", 1)', _EPERM),
    Attack(
        "read a keyring", "kernel", 'call("keyctl", 0, -3, 1, 0, 0)', _EPERM,
    ),
    Attack(
        "add a key", "kernel", 'call("add_key", b"user", b"name", b"x", 1, -2)', _EPERM,
    ),
    Attack(
        "request a key", "kernel", 'call("request_key", b"user", b"no such key", None, -2)',
        _EPERM, control=("through", "ENOKEY"),
    ),
    Attack(
        "load another filter", "kernel", 'call("seccomp", 1, 0, None)', _EPERM, control=("EFAULT",),
    ),
    Attack(
        "load another filter by prctl", "kernel", 'call("prctl", 22, 2, None, 0, 0)', _EPERM,
        control=("EFAULT",),
    ),
    Attack(
        "divert calls", "kernel", 'call("prctl", 59, 0, 0, 0, 0)', _EPERM,
        control=("through", "EINVAL"),
    ),
    Attack("write a descriptor table", "kernel", 'call("modify_ldt", 0, bytes(64), 64)', _EPERM,
           machines=("x86_64",)),
    Attack("change the personality", "kernel", 'call("personality", 0xFFFFFFFF)', _EPERM),
    Attack(
        "reach the machine's ports", "kernel", 'call("iopl", 0)', _EPERM, machines=("x86_64",),
        control=("through", "ENOSYS"),
    ),
    Attack(
        "reach some of the machine's ports", "kernel", 'call("ioperm", 0, 1, 0)', _EPERM,
        machines=("x86_64",), control=("through", "ENOSYS"),
    ),
    Attack(
        "start another kernel", "kernel", 'call("kexec_load", 0, 4096, None, 0)', _EPERM,
        control=("EINVAL", "ENOSYS"),
    ),
    Attack(
        "load a module", "kernel", 'call("init_module", None, 0, b"")', _EPERM,
        control=("ENOEXEC", "EFAULT", "ENOSYS"),
    ),
    Attack(
        "unload a module", "kernel", 'call("delete_module", b"no such module", 0x800)', _EPERM,
        control=("ENOENT", "ENOSYS"),
    ),
    Attack(
        "restart the machine", "kernel", 'call("reboot", 0, 0, 0, None)', _EPERM,
        control=("EINVAL",),
    ),
    Attack(
        "set the clock", "kernel", 'call("clock_settime", 0, None)', _EPERM, control=("EFAULT",),
    ),
    Attack(
        "set the time of day", "kernel", 'call("settimeofday", 1, None)', _EPERM,
        control=("EFAULT",),
    ),
    Attack(
        "bend the clock", "kernel",
        'call("clock_adjtime", 0, ctypes.create_string_buffer(512))', _EPERM,
    ),
    Attack(
        "name the host", "kernel", 'call("sethostname", b"x", -1)', _EPERM, control=("EINVAL",),
    ),
    Attack(
        "set a quota", "kernel", 'call("quotactl", -0x7FFFFF00, None, 0, None)', _EPERM,
        control=("through", "ENOSYS", "EINVAL", "ENODEV"),
    ),
    Attack(
        "switch accounting", "kernel", 'call("acct", b"/no such file")', _EPERM,
        control=("ENOENT",),
    ),
    Attack(
        "read the kernel's log", "kernel", 'call("syslog", 10, None, 0)', _EPERM,
    ),
    Attack("leave for a new user namespace", "kernel", 'call("unshare", 0x10000000)', _EPERM),
    Attack("leave for a new network", "kernel", 'call("unshare", 0x50000000)', _EPERM),
    Attack("leave for new mounts", "kernel", 'call("unshare", 0x10020000)', _EPERM),
    Attack("leave for new process numbers", "kernel", 'call("unshare", 0x30000000)', _EPERM),
    Attack(
        "enter a namespace", "kernel", 'call("setns", -1, 0)', _EPERM, control=("EBADF",),
    ),
    Attack(
        "shared memory of System V", "kernel",
        'call("shmctl", call("shmget", 0, 4096, 0o600), 0, None)', _EPERM,
    ),
    Attack(
        "semaphores of System V", "kernel",
        'call("semctl", call("semget", 0, 1, 0o600), 0, 0, 0)', _EPERM,
    ),
    Attack(
        "messages of System V", "kernel", 'call("msgctl", call("msgget", 0, 0o600), 0, None)',
        _EPERM,
    ),
    Attack(
        "a message queue", "kernel",
        """
name = world["token"].encode() + str(os.getpid()).encode()
call("mq_open", name, os.O_CREAT | os.O_RDWR, 0o600, None)
call("mq_unlink", name)
""",
        _EPERM,
    ),
    Attack("a file in memory", "kernel", 'call("memfd_create", b"name", 0)', _EPERM),
    Attack(
        "secret memory", "kernel", 'call("memfd_secret", 0)', _EPERM, control=("through", "ENOSYS"),
    ),
    Attack(
        "splice pipes", "kernel",
        """
reader, writer = os.pipe()
_, other = os.pipe()
os.write(writer, b"x")
call("splice", reader, None, other, None, 1, 0)
""",
        _EPERM,
    ),
    Attack(
        "splice memory into a pipe", "kernel",
        """
_, writer = os.pipe()
byte = ctypes.create_string_buffer(b"x")
call("vmsplice", writer, words(ctypes.addressof(byte), 1), 1, 0)
""",
        _EPERM,
    ),
    Attack("lock all memory", "kernel", 'call("mlockall", 2)', _EPERM,
           control=("through", "ENOMEM")),
    Attack("bind memory to a node", "kernel", 'call("set_mempolicy", 0, None, 0)', _EPERM,
           control=("through", "ENOSYS")),
    Attack(
        "raise a limit", "kernel",
        'call("prlimit64", 0, 9, words(-1 % (1 << 64), -1 % (1 << 64)), None)', _EPERM,
    ),
    Attack("change the user", "kernel", 'call("setresuid", -1, -1, -1)', _EPERM),
    Attack("change the group", "kernel", 'call("setresgid", -1, -1, -1)', _EPERM),
    Attack("leave all groups", "kernel", 'call("setgroups", 0, None)', _EPERM),
    Attack(
        "set capabilities", "kernel",
        'call("capset", halves(0x20080522, 0), halves(*[0] * 6))', _EPERM,
    ),
    Attack(
        "call by the numbers of 32-bit programs", "kernel",
        'machine_code(b"\\xb8\\x14\\0\\0\\0\\xcd\\x80\\xc3")()', everywhere("SIGSYS"),
        machines=("x86_64",),
    ),
    Attack(
        "call by the numbers of x32 programs", "kernel",
        'forking_code(0x40000000 + numbered("getpid"))()', everywhere("SIGSYS"),
        machines=("x86_64",), control=("through", "ENOSYS"),
    ),
    Attack(
        "rebuild the jail around itself", "kernel", 'call("landlock_create_ruleset", None, 0, 1)',
        _EPERM, control=("through", "EOPNOTSUPP"),
    ),
)
