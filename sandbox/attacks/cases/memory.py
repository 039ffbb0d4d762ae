"""Attacks that allocate too much memory."""


def allocate_memory_by_objects():
    """allocate memory by objects"""
    kept = []
    for _ in range(9):
        kept.append(bytearray(50_000_000))


def allocate_memory_by_mappings():
    """allocate memory by mappings"""
    for _ in range(16):
        place = libc.mmap(None, ctypes.c_size_t(50_000_000), 3, 0x22, -1, ctypes.c_long(0))
        if place == ctypes.c_void_p(-1).value:
            raise_errno()


def allocate_memory_by_growing_one_mapping():
    """allocate memory by growing one mapping"""
    libc.mremap.restype = ctypes.c_void_p
    place = ctypes.c_void_p(libc.mmap(None, ctypes.c_size_t(4096), 3, 0x22, -1, ctypes.c_long(0)))
    moved = libc.mremap(place, ctypes.c_size_t(4096), ctypes.c_size_t(800_000_000), 1)
    if moved == ctypes.c_void_p(-1).value:
        raise_errno()


def allocate_memory_by_threads():
    """allocate memory by threads"""
    import _thread, threading
    gate = threading.Event()
    try:
        for _ in range(500):
            threading.Thread(target=gate.wait, daemon=True).start()
    except RuntimeError as error:
        raise OSError(errno.EAGAIN, "no more threads") from error
    finally:
        gate.set()


def enlarge_a_pipe():
    """enlarge a pipe"""
    _, writer = os.pipe()
    call("fcntl", writer, 1031, 1 << 20)
