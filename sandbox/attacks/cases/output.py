"""Attacks that write too much output."""


def flood_standard_output():
    """flood standard output"""
    for _ in range(50):
        os.write(1, bytes(65_536))


def flood_standard_error():
    """flood standard error"""
    for _ in range(50):
        os.write(2, bytes(65_536))


def print_many_lines():
    """print many lines"""
    for _ in range(50_000):
        print("and on")


def print_on_after_every_error():
    """print on after every error"""
    for _ in range(5_000):
        try:
            print("x" * 100, flush=True)
        except OSError:
            pass


def seal_the_output():
    """seal the output"""
    call("fcntl", 1, 1033, 15)


def enlarge_the_output():
    """enlarge the output"""
    call("ftruncate", 1, 1 << 40)
