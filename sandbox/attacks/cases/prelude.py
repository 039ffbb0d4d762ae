"""Helper functions of attack scripts, which use only the standard library."""

import ctypes, errno, json, os, sys, time

targets = json.loads(sys.argv[1])
libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_void_p
REPORT = [1]

class Absent(Exception):
    pass

def report(**what):
    os.write(REPORT[0], b"\n" + json.dumps(what).encode() + b"\n")

def raise_errno():
    raise OSError(number := ctypes.get_errno(), os.strerror(number))

def syscall_number(name):
    return NUMBERS[name]

def call(name, *arguments):
    """Makes a system call by its number, without a wrapper of the C library."""
    made = [ctypes.c_long(one) if isinstance(one, int) else one for one in arguments]
    result = libc.syscall(ctypes.c_long(NUMBERS[name]), *made)
    if result == -1:
        raise_errno()
    return result

def call_or(instead, name, *arguments):
    """The call's result, or `instead` if it is refused, so that a later call decides the result."""
    try:
        return call(name, *arguments)
    except OSError:
        return instead

def require(value):
    """Raises `Absent` for an empty value: the attack found nothing."""
    if not value:
        raise Absent

def secret(name):
    """A planted secret; it is passed reversed, so that a search does not find the argument."""
    return targets[name][::-1].encode()

def words(*values):
    """An array of 64-bit words."""
    return (ctypes.c_uint64 * len(values))(*values)

def halves(*values):
    """An array of 32-bit words."""
    return (ctypes.c_uint32 * len(values))(*[value & 0xFFFFFFFF for value in values])

def internet_address(port):
    return (2).to_bytes(2, sys.byteorder) + port.to_bytes(2, "big") + b"\x7f\0\0\1" + bytes(8)

def unix_address(path):
    """The address of a unix socket; a leading @ stands for the zero byte of an abstract name."""
    name = path.encode()
    return (1).to_bytes(2, sys.byteorder) + (b"\0" + name[1:] if name[:1] == b"@" else name)

def socket_pair(kind):
    """The descriptors of a pair of unix sockets; kind 1 is stream, 2 is datagram."""
    pair = (ctypes.c_int * 2)()
    if libc.socketpair(1, kind, 0, pair):
        raise_errno()
    return pair[0], pair[1]

def socket(family, kind, protocol=0):
    return call("socket", family, kind, protocol)

def machine_code(code):
    """A function made of bytes of machine code."""
    place = libc.mmap(None, ctypes.c_size_t(4096), 7, 0x22, -1, ctypes.c_long(0))
    if place in (None, ctypes.c_void_p(-1).value):
        raise_errno()
    ctypes.memmove(place, code, len(code))
    function = ctypes.CFUNCTYPE(ctypes.c_long, *[ctypes.c_long] * 5)(place)
    def run(*arguments):
        result = function(*arguments, *[0] * (5 - len(arguments)))
        if -4096 < result < 0:
            raise OSError(-result, os.strerror(-result))
        return result
    return run

def forking_code(number):
    """A system call in machine code; a process that it creates exits at once and needs no stack."""
    return machine_code(
        b"\xb8" + number.to_bytes(4, "little") + b"\x0f\x05\x85\xc0\x75\x09"
        b"\x31\xff\xb8\x3c\0\0\0\x0f\x05\xc3"
    )

def reap(child):
    """Exits in the child process; in the parent, waits for the child."""
    if child == 0:
        os._exit(0)
    os.waitpid(child, 0)

def busy(seconds):
    """Uses the processor for this many seconds, to exceed a time limit."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        pass

def run_and_report(attempt):
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
