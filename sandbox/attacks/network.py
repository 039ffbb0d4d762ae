"""Attacks that talk: to the network, to the host's sockets, to the kernel by sockets."""

from __future__ import annotations

from sandbox.attacks.attack import Attack, everywhere

_EACCES = everywhere("EACCES")
_EPERM = everywhere("EPERM")
_KERNEL_SAYS = ("through", "EPERM", "EAFNOSUPPORT", "EPROTONOSUPPORT", "ESOCKTNOSUPPORT")
"""An ordinary user's kernel may refuse these itself, by another name than the jail's."""

_SENDS_DESCRIPTOR = """
one, _ = ends(1)
byte = ctypes.create_string_buffer(b"x")
rights = ctypes.create_string_buffer(
    (20).to_bytes(8, sys.byteorder)
    + b"".join(part.to_bytes(4, sys.byteorder) for part in (1, 1, 1)), 24
)
part = words(ctypes.addressof(byte), 1)
message = words(0, 0, ctypes.addressof(part), 1, ctypes.addressof(rights), 20, 0)
"""

ATTACKS = (
    Attack(
        "connect to the host by TCP", "network",
        """
address = internet(world["port"])
call("connect", socket(2, 1), address, len(address))
""",
        _EACCES,
    ),
    Attack(
        "connect by Python's own library", "network",
        """
import socket as library
library.create_connection(("127.0.0.1", world["port"]), 5).close()
""",
        _EACCES,
    ),
    Attack("open a socket of the newer protocol", "network", "socket(10, 1)", _EACCES,
           control=_KERNEL_SAYS),
    Attack(
        "listen for connections", "network",
        """
one = socket(2, 1)
address = internet(0)
call("bind", one, address, len(address))
call("listen", one, 1)
""",
        _EACCES,
    ),
    Attack(
        "send a datagram by UDP", "network",
        """
address = internet(world["datagram_port"])
call("sendto", socket(2, 2), b"out", 3, 0, address, len(address))
""",
        _EACCES,
    ),
    Attack(
        "resolve a name", "network",
        """
result = ctypes.c_void_p()
if libc.getaddrinfo(b"localhost", b"80", None, ctypes.byref(result)):
    socket(2, 2)  # without a file of names only a socket could tell
    found(False)
""",
        _EACCES,
    ),
    Attack(
        "connect to a unix socket of the host", "network",
        """
address = unix(world["stream"])
call("connect", socket(1, 1), address, len(address))
""",
        _EACCES,
    ),
    Attack(
        "connect to an abstract socket of the host", "network",
        """
address = unix(world["abstract"])
call("connect", socket(1, 1), address, len(address))
""",
        _EACCES,
    ),
    Attack(
        "turn one of a pair of sockets to the host", "network",
        """
one, _ = ends(2)
address = unix(world["datagrams"])
call("connect", one, address, len(address))
""",
        _EACCES,
    ),
    Attack(
        "send to a unix socket of the host from one of a pair", "network",
        """
one, _ = ends(2)
address = unix(world["datagrams"])
call("sendto", one, b"out", 3, 0, address, len(address))
""",
        _EACCES,
    ),
    Attack(
        "send to an abstract socket of the host from one of a pair", "network",
        """
one, _ = ends(2)
address = unix(world["abstract_datagrams"])
call("sendto", one, b"out", 3, 0, address, len(address))
""",
        _EACCES,
    ),
    Attack(
        "send a message with an address from one of a pair", "network",
        """
one, _ = ends(2)
address = ctypes.create_string_buffer(unix(world["datagrams"]))
byte = ctypes.create_string_buffer(b"x")
part = words(ctypes.addressof(byte), 1)
message = words(ctypes.addressof(address), len(address) - 1, ctypes.addressof(part), 1, 0, 0, 0)
call("sendmsg", one, message, 0)
""",
        _EPERM,
    ),
    Attack(
        "send many messages at once", "network",
        """
one, _ = ends(2)
address = ctypes.create_string_buffer(unix(world["datagrams"]))
byte = ctypes.create_string_buffer(b"x")
part = words(ctypes.addressof(byte), 1)
message = words(ctypes.addressof(address), len(address) - 1, ctypes.addressof(part), 1, 0, 0, 0, 0)
call("sendmmsg", one, message, 1, 0)
""",
        _EPERM,
    ),
    Attack(
        "pass a descriptor over a socket", "descriptors",
        _SENDS_DESCRIPTOR + 'call("sendmsg", one, message, 0)', _EPERM,
    ),
    Attack(
        "take a descriptor from a socket", "descriptors",
        """
one, other = ends(1)
os.write(other, b"x")
byte = ctypes.create_string_buffer(1)
part = words(ctypes.addressof(byte), 1)
call("recvmsg", one, words(0, 0, ctypes.addressof(part), 1, 0, 0, 0), 0)
""",
        _EPERM,
    ),
    Attack(
        "give one of a pair of sockets a name", "network",
        """
one, _ = ends(2)
address = unix("")
call("bind", one, address, len(address))
""",
        _EPERM,
    ),
    Attack(
        "make a pair of another family", "network",
        """
pair = (ctypes.c_int * 2)()
call("socketpair", 30, 5, 0, pair)
""",
        _EACCES,
        control=_KERNEL_SAYS,
    ),
    Attack("ask the kernel by netlink", "network", "socket(16, 3, 0)", _EACCES),
    Attack("reach the hypervisor", "network", "socket(40, 1)", _EACCES, control=_KERNEL_SAYS),
    Attack("send raw packets", "network", "socket(2, 3, 1)", _EACCES, control=_KERNEL_SAYS),
    Attack("listen to every packet", "network", "socket(17, 3, 768)", _EACCES,
           control=_KERNEL_SAYS),
    Attack("use the kernel's ciphers", "network", "socket(38, 5)", _EACCES, control=_KERNEL_SAYS),
    Attack(
        "list the host's network interfaces", "network",
        """
one, _ = ends(1)
room = ctypes.create_string_buffer(4096)
call("ioctl", one, 0x8912, words(4096, ctypes.addressof(room)))
""",
        everywhere("ENOTTY"),
    ),
)
