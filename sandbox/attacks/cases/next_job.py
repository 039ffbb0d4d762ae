"""Attacks on the next job, which runs `..._next`, or on one that runs at the same time."""


def leave_a_file_for_the_next_job():
    """leave a file for the next job"""
    open("left-" + targets["token"], "w").close()


def leave_a_file_for_the_next_job_next():
    require(os.path.exists("left-" + targets["token"]))


def leave_a_module_for_the_next_job():
    """leave a module for the next job"""
    open("left_behind.py", "w").close()


def leave_a_module_for_the_next_job_next():
    try:
        import left_behind
    except ImportError:
        require(False)


def replace_a_builtin_for_the_next_job():
    """replace a builtin for the next job"""
    import builtins
    builtins.abs = lambda value: 42


def replace_a_builtin_for_the_next_job_next():
    require(abs(-1) == 42)


def replace_a_library_s_function_for_the_next_job():
    """replace a library's function for the next job"""
    import json.decoder
    json.decoder.ready = True


def replace_a_library_s_function_for_the_next_job_next():
    import json.decoder
    require(hasattr(json.decoder, "ready"))


def overwrite_a_cached_number_for_the_next_job():
    """overwrite a cached number for the next job"""
    ctypes.memset(id(int('199')) + 24, 200, 1)


def overwrite_a_cached_number_for_the_next_job_next():
    require(int('199') + 1000 == 1200)


def add_an_importer_for_the_next_job():
    """add an importer for the next job"""
    sys.meta_path.insert(0, type('LeftImporter', (), {'find_spec': lambda *_: None}))


def add_an_importer_for_the_next_job_next():
    require(any(one.__name__ == 'LeftImporter' for one in sys.meta_path if isinstance(one, type)))


def leave_a_thread_for_the_next_job():
    """leave a thread for the next job"""
    import threading
    threading.Thread(target=time.sleep, args=(1,), name="left_thread", daemon=True).start()


def leave_a_thread_for_the_next_job_next():
    import threading
    require(any(one.name == 'left_thread' for one in threading.enumerate()))


def leave_a_signal_handler_for_the_next_job():
    """leave a signal handler for the next job"""
    import signal
    signal.signal(signal.SIGUSR1, signal.SIG_IGN)


def leave_a_signal_handler_for_the_next_job_next():
    import signal
    require(signal.getsignal(signal.SIGUSR1) == signal.SIG_IGN)


def change_the_environment_of_the_next_job():
    """change the environment of the next job"""
    os.environ['LEFT'] = 'behind'


def change_the_environment_of_the_next_job_next():
    require(os.environ.get('LEFT'))


def lower_the_descriptor_limit_of_the_next_job():
    """lower the descriptor limit of the next job"""
    import resource
    resource.setrlimit(resource.RLIMIT_NOFILE, (11, 11))


def lower_the_descriptor_limit_of_the_next_job_next():
    import resource
    require(resource.getrlimit(resource.RLIMIT_NOFILE)[0] == 11)


def crash_the_harness():
    """crash the harness"""
    ctypes.string_at(0)


def crash_the_harness_next():
    require(False)


def overflow_the_stack_of_the_harness():
    """overflow the stack of the harness"""
    machine_code(b"\xe8\xfb\xff\xff\xff")()


def overflow_the_stack_of_the_harness_next():
    require(False)


def end_the_harness():
    """end the harness"""
    os._exit(0)


def end_the_harness_next():
    require(False)


def lock_a_file_that_everyone_may_read():
    """lock a file that everyone may read"""
    one, other = (os.open(os.__file__, os.O_RDONLY) for _ in range(2))
    call("flock", one, 2)
    try:
        call("flock", other, 2 | 4)
    except BlockingIOError:
        return
    require(False)


def lock_a_device_that_everyone_may_open():
    """lock a device that everyone may open"""
    one, other = (os.open("/dev/zero", os.O_RDONLY) for _ in range(2))
    call("flock", one, 1)
    try:
        call("flock", other, 2 | 4)
    except BlockingIOError:
        return
    require(False)


def lock_a_record_of_a_file_that_everyone_may_read():
    """lock a record of a file that everyone may read"""
    import fcntl, struct
    one, other = (os.open(os.__file__, os.O_RDONLY) for _ in range(2))
    lock, set_lock, get_lock = struct.Struct("hhqqi4x"), 37, 36
    fcntl.fcntl(one, set_lock, lock.pack(fcntl.F_RDLCK, 0, 7, 1, 0))
    seen = lock.unpack(fcntl.fcntl(other, get_lock, lock.pack(fcntl.F_WRLCK, 0, 0, 0, 0)))
    require(seen[0] != fcntl.F_UNLCK)


def take_a_lease_on_a_file():
    """take a lease on a file"""
    import fcntl
    fcntl.fcntl(os.open(os.__file__, os.O_RDONLY), 1024, fcntl.F_RDLCK)


def request_notices_of_changes_in_a_folder():
    """request notices of changes in a folder"""
    import fcntl
    fcntl.fcntl(os.open(os.path.dirname(os.__file__), os.O_RDONLY), 1026, 0x10)


def query_pages_with_mincore():
    """query pages with mincore"""
    place = libc.mmap(None, ctypes.c_size_t(4096), 3, 0x22, -1, ctypes.c_long(0))
    call("mincore", ctypes.c_void_p(place), 4096, ctypes.create_string_buffer(8))
