"""Attacks that write too much output."""


def flood_standard_output():
    """flood standard output"""
    for _ in range(50):
        os.write(1, bytes(65_536))


def flood_standard_error():
    """flood standard error"""
    for _ in range(50):
        os.write(2, bytes(65_536))


def print_for_ever():
    """print for ever"""
    for _ in range(50_000):
        print("and on")


def catch_every_error_and_print_on():
    """catch every error and print on"""
    for _ in range(5_000):
        try:
            print("x" * 100, flush=True)
        except OSError:
            pass


def seal_the_output():
    """seal the output"""
    call("fcntl", 1, 1033, 15)


def stretch_the_output():
    """stretch the output"""
    call("ftruncate", 1, 1 << 40)
