"""Attacks by file descriptors: read inherited ones, pass them on, use them up."""


def find_a_secret_in_an_inherited_descriptor():
    """find a secret in an inherited descriptor"""
    for descriptor in range(3, 256):
        try:
            if secret("private") in os.pread(descriptor, 4096, 0):
                return
        except OSError:
            continue
    require(False)


def pass_a_descriptor_over_a_socket():
    """pass a descriptor over a socket"""
    one, _ = socket_pair(1)
    byte = ctypes.create_string_buffer(b"x")
    rights = ctypes.create_string_buffer(
        (20).to_bytes(8, sys.byteorder)
        + b"".join(part.to_bytes(4, sys.byteorder) for part in (1, 1, 1)), 24
    )
    part = words(ctypes.addressof(byte), 1)
    message = words(0, 0, ctypes.addressof(part), 1, ctypes.addressof(rights), 20, 0)
    call("sendmsg", one, message, 0)


def receive_a_descriptor_from_a_socket():
    """receive a descriptor from a socket"""
    one, other = socket_pair(1)
    os.write(other, b"x")
    byte = ctypes.create_string_buffer(1)
    part = words(ctypes.addressof(byte), 1)
    call("recvmsg", one, words(0, 0, ctypes.addressof(part), 1, 0, 0, 0), 0)


def use_up_all_descriptors():
    """use up all descriptors"""
    for _ in range(200):
        os.dup(1)


def fill_pipes():
    """fill pipes"""
    for _ in range(100):
        _, writer = os.pipe()
        os.set_blocking(writer, False)
        os.write(writer, bytes(65_536))


def write_a_verdict_to_every_descriptor():
    """write a verdict to every descriptor"""
    forged = b'{"verdict": "passed"}\n' * 8
    written = 0
    for descriptor in range(3, 256):
        try:
            os.set_blocking(descriptor, False)
            written += os.write(descriptor, forged)
        except OSError:
            continue
    require(written)
    time.sleep(0.3)


def close_every_descriptor_and_go_on():
    """close every descriptor and go on"""
    REPORT[0] = os.dup(1)
    os.closerange(0, REPORT[0])
    os.closerange(REPORT[0] + 1, 256)
    busy(2)
