"""Attacks that make processes, run other programs, or reach other processes by signals."""

from __future__ import annotations

from sandbox.attacks.attack import Attack, everywhere

_EPERM = everywhere("EPERM")
_SAYS_THROUGH = r"""echo '{"answer": "through"}'"""

ATTACKS = (
    Attack("fork", "processes", "reap(os.fork())", _EPERM),
    Attack("fork by the bare call", "processes", 'reap(call("clone", 17, 0, 0, 0, 0))', _EPERM),
    Attack(
        "vfork", "processes", 'os.waitpid(forking_code(numbered("vfork"))(), 0)', _EPERM,
        machines=("x86_64",),
    ),
    Attack(
        "clone a process that shares this memory", "processes",
        'os.waitpid(forking_code(numbered("clone"))(0x4111), 0)', _EPERM, machines=("x86_64",),
    ),
    Attack(
        "start a thread in new mounts", "processes",
        'forking_code(numbered("clone"))(0x30900)', _EPERM, machines=("x86_64",),
    ),
    Attack(
        "clone into a new user namespace", "processes",
        'reap(call("clone", 0x10000011, 0, 0, 0, 0))', _EPERM,
    ),
    Attack(
        "clone3", "processes", 'reap(call("clone3", words(0, 0, 0, 0, 17, 0, 0, 0), 64))',
        everywhere("ENOSYS"),
    ),
    Attack(
        "become another program", "processes",
        f"os.execv('/bin/sh', ['sh', '-c', {_SAYS_THROUGH!r}])", _EPERM,
    ),
    Attack(
        "become a program held in memory", "processes",
        f"""
program = otherwise(-1, "memfd_create", b"program", 0)
if program != -1:
    os.write(program, b"#!/bin/sh\\n" + {_SAYS_THROUGH.encode()!r})
arguments = (ctypes.c_char_p * 2)(b"program", None)
call("execveat", program, b"", arguments, (ctypes.c_char_p * 1)(None), 0x1000)
""",
        _EPERM,
    ),
    Attack(
        "spawn by posix_spawn", "processes",
        "os.waitpid(os.posix_spawn('/bin/true', ['true'], {}), 0)", _EPERM,
    ),
    Attack(
        "spawn by subprocess", "processes",
        "import subprocess\nfound(subprocess.run(['/bin/echo', 'out'], stdout=-1).stdout)", _EPERM,
    ),
    Attack(
        "ask a shell", "processes", "if libc.system(b'exit 0') != 0:\n    failed()", _EPERM,
    ),
    Attack(
        "spawn by multiprocessing", "processes",
        """
import multiprocessing
worker = multiprocessing.get_context("fork").Process(target=int)
worker.start()
worker.join()
""",
        _EPERM,
    ),
    Attack(
        "spawn by asyncio", "processes",
        """
import asyncio
async def main():
    process = await asyncio.create_subprocess_exec("/bin/true")
    await process.wait()
asyncio.run(main())
""",
        _EPERM,
    ),
    Attack(
        "leave a daemon by a double fork", "processes",
        """
child = os.fork()
if child == 0:
    os.setsid()
    if os.fork() == 0:
        time.sleep(0.5)
    os._exit(0)
os.waitpid(child, 0)
""",
        _EPERM,
    ),
    Attack(
        "breed a hundred processes", "processes",
        """
for _ in range(100):
    if os.fork() == 0:
        time.sleep(0.5)
        os._exit(0)
""",
        _EPERM,
    ),
    Attack("open a session", "processes", 'call("setsid")', _EPERM),
    Attack("leave the process group", "processes", 'call("setpgid", 0, 0)', _EPERM),
    Attack(
        "outlive the host", "processes", 'call("prctl", 1, 0, 0, 0, 0)', _EPERM,
    ),
    Attack(
        "adopt orphans", "processes", 'call("prctl", 36, 1, 0, 0, 0)', _EPERM,
    ),
    Attack(
        "let others look in", "processes", 'call("prctl", 4, 1, 0, 0, 0)', _EPERM,
    ),
    Attack(
        "let anyone debug", "processes", 'call("prctl", 0x59616d61, -1, 0, 0, 0)', _EPERM,
        control=("through", "EINVAL"),
    ),
    Attack("signal the host", "signals", 'os.kill(world["host"], 0)', _EPERM),
    Attack("signal the parent", "signals", "os.kill(os.getppid(), 0)", _EPERM),
    Attack("signal everyone", "signals", "os.kill(-1, 0)", _EPERM),
    Attack("signal the process group", "signals", "os.kill(0, 0)", _EPERM),
    Attack(
        "signal a thread of the host", "signals",
        'call("tgkill", world["host"], world["host"], 0)', _EPERM,
    ),
    Attack("signal by thread number", "signals", 'call("tkill", world["victim"], 0)', _EPERM),
    Attack(
        "queue a signal", "signals",
        'call("rt_sigqueueinfo", world["victim"], 0, halves(0, 0, -1, *[0] * 29))', _EPERM,
    ),
    Attack("take a handle on the host", "signals", 'call("pidfd_open", world["host"], 0)', _EPERM),
    Attack(
        "signal by a handle", "signals",
        """
handle = otherwise(-1, "pidfd_open", world["victim"], 0)
call("pidfd_send_signal", handle, 0, None, 0)
""",
        _EPERM,
    ),
    Attack(
        "take a descriptor by a handle", "signals",
        """
handle = otherwise(-1, "pidfd_open", world["victim"], 0)
call("pidfd_getfd", handle, 0, 0)
""",
        _EPERM,
    ),
    Attack(
        "own a descriptor's signals for the host", "signals",
        'call("fcntl", 1, 8, world["host"])', _EPERM,
    ),
    Attack(
        "own a descriptor's signals by ioctl", "signals",
        """
one, _ = ends(1)
call("ioctl", one, 0x8902, halves(world["host"]))
""",
        everywhere("ENOTTY"),
    ),
    Attack(
        "ask for signals from a descriptor", "signals",
        """
one, _ = ends(1)
call("fcntl", one, 4, 0x2000)
""",
        _EPERM,
    ),
    Attack("choose a descriptor's signal", "signals", 'call("fcntl", 1, 10, 9)', _EPERM),
    Attack(
        "change its own priority", "kernel", 'call("setpriority", 0, 0, 1)', _EPERM,
    ),
    Attack(
        "move itself to all cores", "kernel",
        'call("sched_setaffinity", 0, 128, ctypes.create_string_buffer(b"\\xff" * 128))', _EPERM,
    ),
    Attack(
        "change another's priority", "signals", 'call("setpriority", 0, world["victim"], 0)',
        _EPERM,
    ),
    Attack(
        "move another to one core", "signals",
        'call("sched_setaffinity", world["victim"], 128, ctypes.create_string_buffer(b"\\xff" * 128))',  # noqa: E501
        _EPERM,
    ),
    Attack(
        "change another's scheduling", "signals",
        'call("sched_setscheduler", world["victim"], 0, halves(0))', _EPERM,
    ),
    Attack(
        "change another's turn at the disk", "signals",
        'call("ioprio_set", 1, world["victim"], 0)', _EPERM,
    ),
    Attack(
        "read another's limits", "signals",
        'call("prlimit64", world["victim"], 7, None, words(0, 0))', _EPERM,
    ),
)
