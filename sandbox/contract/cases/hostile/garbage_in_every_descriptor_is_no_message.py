import os, random
for fd in range(3, 256):
    try:
        os.set_blocking(fd, False)
        os.write(fd, random.randbytes(4096) + b"\xff" * 64)
    except OSError: pass
