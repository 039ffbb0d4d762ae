"""Attacks on another job: the next one, which runs `..._next`, or one that runs meanwhile."""


def leave_a_file_for_the_next_job():
    """leave a file for the next job"""
    open("left-" + world["token"], "w").close()


def leave_a_file_for_the_next_job_next():
    found(os.path.exists("left-" + world["token"]))


def leave_a_module_for_the_next_job():
    """leave a module for the next job"""
    open("left_behind.py", "w").close()


def leave_a_module_for_the_next_job_next():
    try:
        import left_behind
    except ImportError:
        found(False)


def replace_a_builtin_for_the_next_job():
    """replace a builtin for the next job"""
    import builtins
    builtins.abs = lambda value: 42


def replace_a_builtin_for_the_next_job_next():
    found(abs(-1) == 42)


def replace_a_library_s_function_for_the_next_job():
    """replace a library's function for the next job"""
    import json.decoder
    json.decoder.ready = True


def replace_a_library_s_function_for_the_next_job_next():
    import json.decoder
    found(hasattr(json.decoder, "ready"))


def scribble_over_a_number_for_the_next_job():
    """scribble over a number for the next job"""
    ctypes.memset(id(int('199')) + 24, 200, 1)


def scribble_over_a_number_for_the_next_job_next():
    found(int('199') + 1000 == 1200)


def plant_an_importer_for_the_next_job():
    """plant an importer for the next job"""
    sys.meta_path.insert(0, type('Planted', (), {'find_spec': lambda *_: None}))


def plant_an_importer_for_the_next_job_next():
    found(any(one.__name__ == 'Planted' for one in sys.meta_path if isinstance(one, type)))


def leave_a_thread_for_the_next_job():
    """leave a thread for the next job"""
    import threading
    threading.Thread(target=time.sleep, args=(1,), name="lurker", daemon=True).start()


def leave_a_thread_for_the_next_job_next():
    import threading
    found(any(one.name == 'lurker' for one in threading.enumerate()))


def leave_a_handler_of_signals_for_the_next_job():
    """leave a handler of signals for the next job"""
    import signal
    signal.signal(signal.SIGUSR1, signal.SIG_IGN)


def leave_a_handler_of_signals_for_the_next_job_next():
    import signal
    found(signal.getsignal(signal.SIGUSR1) == signal.SIG_IGN)


def change_the_environment_of_the_next_job():
    """change the environment of the next job"""
    os.environ['LEFT'] = 'behind'


def change_the_environment_of_the_next_job_next():
    found(os.environ.get('LEFT'))


def leave_the_next_job_few_descriptors():
    """leave the next job few descriptors"""
    import resource
    resource.setrlimit(resource.RLIMIT_NOFILE, (11, 11))


def leave_the_next_job_few_descriptors_next():
    import resource
    found(resource.getrlimit(resource.RLIMIT_NOFILE)[0] == 11)


def crash_the_harness():
    """crash the harness"""
    ctypes.string_at(0)


def crash_the_harness_next():
    found(False)


def overflow_the_stack_of_the_harness():
    """overflow the stack of the harness"""
    machine_code(b"\xe8\xfb\xff\xff\xff")()


def overflow_the_stack_of_the_harness_next():
    found(False)


def end_the_harness():
    """end the harness"""
    os._exit(0)


def end_the_harness_next():
    found(False)


def lock_a_file_that_everyone_may_read():
    """lock a file that everyone may read"""
    one, other = (os.open(os.__file__, os.O_RDONLY) for _ in range(2))
    call("flock", one, 2)
    try:
        call("flock", other, 2 | 4)
    except BlockingIOError:
        return
    found(False)


def lock_a_device_that_everyone_may_open():
    """lock a device that everyone may open"""
    one, other = (os.open("/dev/zero", os.O_RDONLY) for _ in range(2))
    call("flock", one, 1)
    try:
        call("flock", other, 2 | 4)
    except BlockingIOError:
        return
    found(False)


def lock_a_record_of_a_file_that_everyone_may_read():
    """lock a record of a file that everyone may read"""
    import fcntl, struct
    one, other = (os.open(os.__file__, os.O_RDONLY) for _ in range(2))
    lock, set_lock, get_lock = struct.Struct("hhqqi4x"), 37, 36
    fcntl.fcntl(one, set_lock, lock.pack(fcntl.F_RDLCK, 0, 7, 1, 0))
    seen = lock.unpack(fcntl.fcntl(other, get_lock, lock.pack(fcntl.F_WRLCK, 0, 0, 0, 0)))
    found(seen[0] != fcntl.F_UNLCK)


def take_a_lease_on_a_file():
    """take a lease on a file"""
    import fcntl
    fcntl.fcntl(os.open(os.__file__, os.O_RDONLY), 1024, fcntl.F_RDLCK)


def ask_to_be_told_of_changes_in_a_folder():
    """ask to be told of changes in a folder"""
    import fcntl
    fcntl.fcntl(os.open(os.path.dirname(os.__file__), os.O_RDONLY), 1026, 0x10)


def ask_which_pages_others_have_touched():
    """ask which pages others have touched"""
    place = libc.mmap(None, ctypes.c_size_t(4096), 3, 0x22, -1, ctypes.c_long(0))
    call("mincore", ctypes.c_void_p(place), 4096, ctypes.create_string_buffer(8))
