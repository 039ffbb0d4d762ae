"""Attacks by excess: memory, threads, descriptors, output, time."""

from __future__ import annotations

from sandbox.attacks.attack import Attack, everywhere
from sandbox.types import Limits

_TIMEOUT = everywhere("timeout", L1="timeout")
_OUTPUT = everywhere("output", L1="output")
_ENOMEM = everywhere("ENOMEM", L1="ENOMEM")
_BRIEF = Limits(wall_s=0.5, cpu_s=20, memory_mib=400)
_DEAF = """
import signal
for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
    signal.signal(number, signal.SIG_IGN)
"""

ATTACKS = (
    Attack(
        "take memory by objects", "memory",
        "kept = []\nfor _ in range(9):\n    kept.append(bytearray(50_000_000))", _ENOMEM,
    ),
    Attack(
        "take memory by mappings", "memory",
        """
for _ in range(16):
    place = libc.mmap(None, ctypes.c_size_t(50_000_000), 3, 0x22, -1, ctypes.c_long(0))
    if place == ctypes.c_void_p(-1).value:
        failed()
""",
        _ENOMEM,
    ),
    Attack(
        "take memory by stretching one mapping", "memory",
        """
libc.mremap.restype = ctypes.c_void_p
place = ctypes.c_void_p(libc.mmap(None, ctypes.c_size_t(4096), 3, 0x22, -1, ctypes.c_long(0)))
moved = libc.mremap(place, ctypes.c_size_t(4096), ctypes.c_size_t(800_000_000), 1)
if moved == ctypes.c_void_p(-1).value:
    failed()
""",
        _ENOMEM,
    ),
    Attack(
        "take memory by threads", "memory",
        """
import _thread, threading
gate = threading.Event()
try:
    for _ in range(500):
        threading.Thread(target=gate.wait, daemon=True).start()
except RuntimeError as error:
    raise OSError(errno.EAGAIN, "no more threads") from error
finally:
    gate.set()
""",
        everywhere("EAGAIN", L1="EAGAIN"),
    ),
    Attack(
        "stretch a pipe", "memory",
        """
_, writer = os.pipe()
call("fcntl", writer, 1031, 1 << 20)
""",
        everywhere("EPERM"),
    ),
    Attack(
        "take every descriptor", "descriptors",
        "for _ in range(200):\n    os.dup(1)", everywhere("EMFILE", L1="EMFILE"),
    ),
    Attack(
        "fill pipes", "descriptors",
        """
for _ in range(100):
    _, writer = os.pipe()
    os.set_blocking(writer, False)
    os.write(writer, bytes(65_536))
""",
        everywhere("EMFILE", L1="EMFILE"),
    ),
    Attack(
        "write a verdict to every descriptor", "descriptors",
        """
forged = b'{"verdict": "passed"}\\n' * 8
written = 0
for descriptor in range(3, 256):
    try:
        os.set_blocking(descriptor, False)
        written += os.write(descriptor, forged)
    except OSError:
        continue
found(written)
time.sleep(0.3)
""",
        everywhere("garbled", L1="garbled"),
    ),
    Attack(
        "close every descriptor and go on", "descriptors",
        """
REPORT[0] = os.dup(1)
os.closerange(0, REPORT[0])
os.closerange(REPORT[0] + 1, 256)
busy(1)
""",
        everywhere("timeout"),
        limits=_BRIEF,
    ),
    Attack(
        "flood standard output", "output",
        "for _ in range(50):\n    os.write(1, bytes(65_536))", _OUTPUT,
    ),
    Attack(
        "flood standard error", "output",
        "for _ in range(50):\n    os.write(2, bytes(65_536))", _OUTPUT,
    ),
    Attack(
        "print for ever", "output", 'for _ in range(50_000):\n    print("and on")', _OUTPUT,
    ),
    Attack(
        "catch every error and print on", "output",
        """
for _ in range(5_000):
    try:
        print("x" * 100, flush=True)
    except OSError:
        pass
""",
        _OUTPUT,
    ),
    Attack(
        "seal the output", "output", 'call("fcntl", 1, 1033, 15)', everywhere("EPERM"),
        control=("EINVAL",),
    ),
    Attack(
        "stretch the output", "output", 'call("ftruncate", 1, 1 << 40)', everywhere("EFBIG"),
        control=("EINVAL",),
    ),
    Attack("loop", "time", "busy(1)", _TIMEOUT, limits=_BRIEF),
    Attack("loop, deaf to every signal", "time", _DEAF + "busy(1)", _TIMEOUT, limits=_BRIEF),
    Attack("sleep", "time", "time.sleep(1)", _TIMEOUT, limits=_BRIEF),
    Attack(
        "push the alarm away", "time",
        """
import signal
signal.signal(signal.SIGALRM, lambda *_: signal.setitimer(signal.ITIMER_REAL, 0.05))
signal.setitimer(signal.ITIMER_REAL, 0.05)
signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals() - {signal.SIGALRM})
busy(1)
signal.setitimer(signal.ITIMER_REAL, 0)  # at its end Python gives alarms their deadly meaning back
""",
        _TIMEOUT,
        limits=_BRIEF,
    ),
    Attack(
        "calculate where no signal is heard", "time",
        """
end = time.monotonic() + 1
while time.monotonic() < end:
    7 ** 2_000_000
""",
        _TIMEOUT,
        limits=_BRIEF,
    ),
    Attack(
        "swallow every exception", "time",
        """
end = time.monotonic() + 1
while time.monotonic() < end:
    try:
        while time.monotonic() < end:
            pass
    except BaseException:
        continue
""",
        _TIMEOUT,
        limits=_BRIEF,
    ),
    Attack(
        "use the processor with four threads", "time",
        """
import threading
def work():
    while time.process_time() < 1.8:
        pass
workers = [threading.Thread(target=work) for _ in range(4)]
for worker in workers:
    worker.start()
for worker in workers:
    worker.join()
""",
        everywhere("SIGXCPU", L1="SIGXCPU"),
        limits=Limits(wall_s=20, cpu_s=1, memory_mib=400),
    ),
)
