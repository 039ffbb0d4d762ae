"""Attacks by sockets on the network, on the host's sockets and on the kernel."""


def connect_to_the_host_by_tcp():
    """connect to the host by TCP"""
    address = internet_address(targets["port"])
    call("connect", socket(2, 1), address, len(address))


def connect_by_python_s_own_library():
    """connect by Python's own library"""
    import socket as library
    library.create_connection(("127.0.0.1", targets["port"]), 5).close()


def open_an_ipv6_socket():
    """open an IPv6 socket"""
    socket(10, 1)


def listen_for_connections():
    """listen for connections"""
    one = socket(2, 1)
    address = internet_address(0)
    call("bind", one, address, len(address))
    call("listen", one, 1)


def send_a_datagram_by_udp():
    """send a datagram by UDP"""
    address = internet_address(targets["datagram_port"])
    call("sendto", socket(2, 2), b"out", 3, 0, address, len(address))


def resolve_a_name():
    """resolve a name"""
    result = ctypes.c_void_p()
    if libc.getaddrinfo(b"localhost", b"80", None, ctypes.byref(result)):
        socket(2, 2)  # without /etc/hosts the lookup needs a socket
        require(False)


def connect_to_a_unix_socket_of_the_host():
    """connect to a unix socket of the host"""
    address = unix_address(targets["stream"])
    call("connect", socket(1, 1), address, len(address))


def connect_to_an_abstract_socket_of_the_host():
    """connect to an abstract socket of the host"""
    address = unix_address(targets["abstract"])
    call("connect", socket(1, 1), address, len(address))


def connect_one_of_a_pair_of_sockets_to_the_host():
    """connect one of a pair of sockets to the host"""
    one, _ = socket_pair(2)
    address = unix_address(targets["datagrams"])
    call("connect", one, address, len(address))


def send_to_a_unix_socket_of_the_host_from_one_of_a_pair():
    """send to a unix socket of the host from one of a pair"""
    one, _ = socket_pair(2)
    address = unix_address(targets["datagrams"])
    call("sendto", one, b"out", 3, 0, address, len(address))


def send_to_an_abstract_socket_of_the_host_from_one_of_a_pair():
    """send to an abstract socket of the host from one of a pair"""
    one, _ = socket_pair(2)
    address = unix_address(targets["abstract_datagrams"])
    call("sendto", one, b"out", 3, 0, address, len(address))


def send_a_message_with_an_address_from_one_of_a_pair():
    """send a message with an address from one of a pair"""
    one, _ = socket_pair(2)
    address = ctypes.create_string_buffer(unix_address(targets["datagrams"]))
    byte = ctypes.create_string_buffer(b"x")
    part = words(ctypes.addressof(byte), 1)
    message = words(ctypes.addressof(address), len(address) - 1, ctypes.addressof(part), 1, 0, 0, 0)
    call("sendmsg", one, message, 0)


def send_many_messages_at_once():
    """send many messages at once"""
    one, _ = socket_pair(2)
    address = ctypes.create_string_buffer(unix_address(targets["datagrams"]))
    byte = ctypes.create_string_buffer(b"x")
    part = words(ctypes.addressof(byte), 1)
    message = words(ctypes.addressof(address), len(address) - 1, ctypes.addressof(part), 1, *[0] * 4)
    call("sendmmsg", one, message, 1, 0)


def bind_one_of_a_pair_of_sockets():
    """bind one of a pair of sockets"""
    one, _ = socket_pair(2)
    address = unix_address("")
    call("bind", one, address, len(address))


def make_a_pair_of_tipc_sockets():
    """make a pair of TIPC sockets"""
    pair = (ctypes.c_int * 2)()
    call("socketpair", 30, 5, 0, pair)


def open_a_netlink_socket():
    """open a netlink socket"""
    socket(16, 3, 0)


def open_a_vsock_socket():
    """open a vsock socket"""
    socket(40, 1)


def open_a_raw_socket():
    """open a raw socket"""
    socket(2, 3, 1)


def open_a_packet_socket():
    """open a packet socket"""
    socket(17, 3, 768)


def open_a_socket_of_the_kernel_s_ciphers():
    """open a socket of the kernel's ciphers"""
    socket(38, 5)


def list_the_host_s_network_interfaces():
    """list the host's network interfaces"""
    one, _ = socket_pair(1)
    room = ctypes.create_string_buffer(4096)
    call("ioctl", one, 0x8912, words(4096, ctypes.addressof(room)))
