"""Attacks on other processes: memory, signals, scheduling."""


def read_another_process_s_memory_by_a_call():
    """read another process's memory by a call"""
    own = ctypes.create_string_buffer(len(world["memory"]))
    mine = words(ctypes.addressof(own), len(own))
    theirs = words(world["address"], len(own))
    call("process_vm_readv", world["victim"], mine, 1, theirs, 1, 0)
    found(own.raw[:-1] == secret("memory")[:-1])


def write_another_process_s_memory_by_a_call():
    """write another process's memory by a call"""
    own = ctypes.create_string_buffer(secret("memory"))
    mine = words(ctypes.addressof(own), len(own) - 1)
    theirs = words(world["address"], len(own) - 1)
    call("process_vm_writev", world["victim"], mine, 1, theirs, 1, 0)


def attach_a_debugger():
    """attach a debugger"""
    call("ptrace", 16, world["second_victim"], 0, 0)
    os.waitpid(world["second_victim"], 0x40000000)
    call("ptrace", 17, world["second_victim"], 0, 0)


def seize_a_process_with_a_debugger():
    """seize a process with a debugger"""
    call("ptrace", 0x4206, world["third_victim"], 0, 0)


def compare_what_two_processes_share():
    """compare what two processes share"""
    call("kcmp", os.getpid(), world["victim"], 2, 0, 0)


def ask_for_another_process_s_lock_list():
    """ask for another process's lock list"""
    call("get_robust_list", world["victim"], words(0), words(0))


def ask_where_another_process_s_pages_are():
    """ask where another process's pages are"""
    call("move_pages", world["victim"], 0, None, None, None, 0)


def signal_the_host():
    """signal the host"""
    os.kill(world["host"], 0)


def signal_the_parent():
    """signal the parent"""
    os.kill(os.getppid(), 0)


def signal_everyone():
    """signal everyone"""
    os.kill(-1, 0)


def signal_the_process_group():
    """signal the process group"""
    os.kill(0, 0)


def signal_a_thread_of_the_host():
    """signal a thread of the host"""
    call("tgkill", world["host"], world["host"], 0)


def signal_by_thread_number():
    """signal by thread number"""
    call("tkill", world["victim"], 0)


def queue_a_signal():
    """queue a signal"""
    call("rt_sigqueueinfo", world["victim"], 0, halves(0, 0, -1, *[0] * 29))


def take_a_handle_on_the_host():
    """take a handle on the host"""
    call("pidfd_open", world["host"], 0)


def signal_by_a_handle():
    """signal by a handle"""
    handle = call_or(-1, "pidfd_open", world["victim"], 0)
    call("pidfd_send_signal", handle, 0, None, 0)


def take_a_descriptor_by_a_handle():
    """take a descriptor by a handle"""
    handle = call_or(-1, "pidfd_open", world["victim"], 0)
    call("pidfd_getfd", handle, 0, 0)


def own_a_descriptor_s_signals_for_the_host():
    """own a descriptor's signals for the host"""
    call("fcntl", 1, 8, world["host"])


def own_a_descriptor_s_signals_by_ioctl():
    """own a descriptor's signals by ioctl"""
    one, _ = ends(1)
    call("ioctl", one, 0x8902, halves(world["host"]))


def ask_for_signals_from_a_descriptor():
    """ask for signals from a descriptor"""
    one, _ = ends(1)
    call("fcntl", one, 4, 0x2000)


def choose_a_descriptor_s_signal():
    """choose a descriptor's signal"""
    call("fcntl", 1, 10, 9)


def change_another_s_priority():
    """change another's priority"""
    call("setpriority", 0, world["victim"], 0)


def move_another_to_one_core():
    """move another to one core"""
    call("sched_setaffinity", world["victim"], 128, ctypes.create_string_buffer(b"\xff" * 128))


def change_another_s_scheduling():
    """change another's scheduling"""
    call("sched_setscheduler", world["victim"], 0, halves(0))


def change_another_s_turn_at_the_disk():
    """change another's turn at the disk"""
    call("ioprio_set", 1, world["victim"], 0)


def read_another_s_limits():
    """read another's limits"""
    call("prlimit64", world["victim"], 7, None, words(0, 0))


def read_the_clock_of_another_process():
    """read the clock of another process"""
    call("clock_gettime", (~world["victim"] << 3) | 2, words(0, 0))


def ask_for_the_session_of_another_process():
    """ask for the session of another process"""
    call("getsid", world["victim"])


def ask_for_the_group_of_another_process():
    """ask for the group of another process"""
    call("getpgid", world["victim"])


def ask_where_another_process_may_run():
    """ask where another process may run"""
    call("sched_getaffinity", world["victim"], 128, ctypes.create_string_buffer(128))


def ask_how_another_process_is_scheduled():
    """ask how another process is scheduled"""
    call("sched_getscheduler", world["victim"])


def ask_for_the_priority_of_another_process():
    """ask for the priority of another process"""
    call("getpriority", 0, world["victim"])


def ask_for_the_best_priority_of_a_user():
    """ask for the best priority of a user"""
    call("getpriority", 2, 0)


def ask_for_the_powers_of_another_process():
    """ask for the powers of another process"""
    call("capget", halves(0x20080522, world["victim"]), halves(*[0] * 6))
