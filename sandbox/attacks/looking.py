"""Attacks that look for secrets: the environment, other processes, open descriptors."""

from __future__ import annotations

from sandbox.attacks.attack import ABSENT, FILES, Attack, everywhere

_NOWHERE = everywhere(ABSENT, L1=ABSENT)
_OF_OTHERS = everywhere("EPERM")

ATTACKS = (
    Attack(
        "find the app's key in os.environ", "environment",
        'found(os.environ.get(world["key_name"]))', _NOWHERE,
    ),
    Attack(
        "ask the C library for the app's key", "environment",
        'libc.getenv.restype = ctypes.c_char_p\nfound(libc.getenv(world["key_name"].encode()))',
        _NOWHERE,
    ),
    Attack(
        "walk the block of the environment", "environment",
        """
block = ctypes.POINTER(ctypes.c_char_p).in_dll(libc, "environ")
place = 0
while block and block[place]:
    if secret("key") in block[place]:
        return
    place += 1
found(False)
""",
        _NOWHERE,
    ),
    Attack(
        "read the stack where the first environment lay", "environment",
        """
libc.getauxval.restype = ctypes.c_ulong
top = libc.getauxval(31)  # the name of the program; the environment lies below it
found(secret("key") in ctypes.string_at(top - 32_768, 32_768))
""",
        _NOWHERE,
    ),
    Attack(
        "read the environment file of this process", "environment",
        'found(secret("key") in open("/proc/self/environ", "rb").read())',
        FILES | {"L1": "absent or EACCES"},
    ),
    Attack(
        "read the environment file of the host", "environment",
        'open(f"/proc/{world[\'host\']}/environ", "rb").read(1)', FILES | {"L1": "EACCES"},
    ),
    Attack(
        "read the environment file of another process", "environment",
        'found(secret("key") in open(f"/proc/{world[\'victim\']}/environ", "rb").read())', FILES,
    ),
    Attack(
        "read the memory file of another process", "environment",
        """
with open(f"/proc/{world['victim']}/mem", "rb", 0) as file:
    file.seek(world["address"])
    found(file.read(len(world["memory"])) == secret("memory"))
""",
        FILES,
    ),
    Attack(
        "read the memory map of another process", "environment",
        'found(open(f"/proc/{world[\'victim\']}/maps").read(1))', FILES,
    ),
    Attack(
        "read the arguments of another process", "environment",
        'found(secret("argument") in open(f"/proc/{world[\'victim\']}/cmdline", "rb").read())',
        FILES,
    ),
    Attack(
        "list the descriptors of another process", "environment",
        'found(os.listdir(f"/proc/{world[\'victim\']}/fd"))', FILES,
    ),
    Attack(
        "follow the folder of another process", "environment",
        'os.readlink(f"/proc/{world[\'victim\']}/cwd")', FILES,
    ),
    Attack(
        "list all processes", "environment",
        'found(str(world["host"]) in os.listdir("/proc"))', FILES,
    ),
    Attack(
        "read this process's own status", "environment",
        'found(open("/proc/self/status").read(1))', FILES,
    ),
    Attack(
        "find a secret in an inherited descriptor", "descriptors",
        """
for descriptor in range(3, 256):
    try:
        if secret("private") in os.pread(descriptor, 4096, 0):
            return
    except OSError:
        continue
found(False)
""",
        _NOWHERE,
    ),
    Attack(
        "read another process's memory by a call", "signals",
        """
own = ctypes.create_string_buffer(len(world["memory"]))
mine = words(ctypes.addressof(own), len(own))
theirs = words(world["address"], len(own))
call("process_vm_readv", world["victim"], mine, 1, theirs, 1, 0)
found(own.raw[:-1] == secret("memory")[:-1])
""",
        _OF_OTHERS,
    ),
    Attack(
        "write another process's memory by a call", "signals",
        """
own = ctypes.create_string_buffer(secret("memory"))
mine = words(ctypes.addressof(own), len(own) - 1)
theirs = words(world["address"], len(own) - 1)
call("process_vm_writev", world["victim"], mine, 1, theirs, 1, 0)
""",
        _OF_OTHERS,
    ),
    Attack(
        "attach a debugger", "signals",
        """
call("ptrace", 16, world["second_victim"], 0, 0)
os.waitpid(world["second_victim"], 0x40000000)
call("ptrace", 17, world["second_victim"], 0, 0)
""",
        _OF_OTHERS,
    ),
    Attack(
        "seize a process with a debugger", "signals",
        'call("ptrace", 0x4206, world["third_victim"], 0, 0)', _OF_OTHERS,
    ),
    Attack(
        "compare what two processes share", "signals",
        'call("kcmp", os.getpid(), world["victim"], 2, 0, 0)', _OF_OTHERS,
    ),
    Attack(
        "ask for another process's lock list", "signals",
        'call("get_robust_list", world["victim"], words(0), words(0))', _OF_OTHERS,
    ),
    Attack(
        "ask where another process's pages are", "signals",
        'call("move_pages", world["victim"], 0, None, None, None, 0)', _OF_OTHERS,
        control=("through", "ENODEV"),
    ),
)
