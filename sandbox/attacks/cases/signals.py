"""Attacks on the memory, signals and scheduling of other processes."""


def read_another_process_s_memory_by_a_call():
    """read another process's memory by a call"""
    own = ctypes.create_string_buffer(len(targets["memory"]))
    mine = words(ctypes.addressof(own), len(own))
    theirs = words(targets["address"], len(own))
    call("process_vm_readv", targets["victim"], mine, 1, theirs, 1, 0)
    require(own.raw[:-1] == secret("memory")[:-1])


def write_another_process_s_memory_by_a_call():
    """write another process's memory by a call"""
    own = ctypes.create_string_buffer(secret("memory"))
    mine = words(ctypes.addressof(own), len(own) - 1)
    theirs = words(targets["address"], len(own) - 1)
    call("process_vm_writev", targets["victim"], mine, 1, theirs, 1, 0)


def attach_a_debugger():
    """attach a debugger"""
    call("ptrace", 16, targets["second_victim"], 0, 0)
    os.waitpid(targets["second_victim"], 0x40000000)
    call("ptrace", 17, targets["second_victim"], 0, 0)


def seize_a_process_with_a_debugger():
    """seize a process with a debugger"""
    call("ptrace", 0x4206, targets["third_victim"], 0, 0)


def compare_two_processes_with_kcmp():
    """compare two processes with kcmp"""
    call("kcmp", os.getpid(), targets["victim"], 2, 0, 0)


def get_the_robust_list_of_another_process():
    """get the robust list of another process"""
    call("get_robust_list", targets["victim"], words(0), words(0))


def query_the_pages_of_another_process():
    """query the pages of another process"""
    call("move_pages", targets["victim"], 0, None, None, None, 0)


def signal_the_host():
    """signal the host"""
    os.kill(targets["host"], 0)


def signal_the_parent():
    """signal the parent"""
    os.kill(os.getppid(), 0)


def signal_every_process():
    """signal every process"""
    os.kill(-1, 0)


def signal_the_process_group():
    """signal the process group"""
    os.kill(0, 0)


def signal_a_thread_of_the_host():
    """signal a thread of the host"""
    call("tgkill", targets["host"], targets["host"], 0)


def signal_by_thread_number():
    """signal by thread number"""
    call("tkill", targets["victim"], 0)


def queue_a_signal():
    """queue a signal"""
    call("rt_sigqueueinfo", targets["victim"], 0, halves(0, 0, -1, *[0] * 29))


def open_a_pidfd_of_the_host():
    """open a pidfd of the host"""
    call("pidfd_open", targets["host"], 0)


def signal_by_a_pidfd():
    """signal by a pidfd"""
    handle = call_or(-1, "pidfd_open", targets["victim"], 0)
    call("pidfd_send_signal", handle, 0, None, 0)


def copy_a_descriptor_by_a_pidfd():
    """copy a descriptor by a pidfd"""
    handle = call_or(-1, "pidfd_open", targets["victim"], 0)
    call("pidfd_getfd", handle, 0, 0)


def send_a_descriptor_s_signals_to_the_host_with_f_setown():
    """send a descriptor's signals to the host with F_SETOWN"""
    call("fcntl", 1, 8, targets["host"])


def send_a_socket_s_signals_to_the_host_with_siocspgrp():
    """send a socket's signals to the host with SIOCSPGRP"""
    one, _ = socket_pair(1)
    call("ioctl", one, 0x8902, halves(targets["host"]))


def set_o_async_on_a_descriptor():
    """set O_ASYNC on a descriptor"""
    one, _ = socket_pair(1)
    call("fcntl", one, 4, 0x2000)


def choose_a_descriptor_s_signal_with_f_setsig():
    """choose a descriptor's signal with F_SETSIG"""
    call("fcntl", 1, 10, 9)


def change_the_priority_of_another_process():
    """change the priority of another process"""
    call("setpriority", 0, targets["victim"], 0)


def change_the_cpu_affinity_of_another_process():
    """change the CPU affinity of another process"""
    call("sched_setaffinity", targets["victim"], 128, ctypes.create_string_buffer(b"\xff" * 128))


def change_the_scheduling_of_another_process():
    """change the scheduling of another process"""
    call("sched_setscheduler", targets["victim"], 0, halves(0))


def change_the_i_o_priority_of_another_process():
    """change the I/O priority of another process"""
    call("ioprio_set", 1, targets["victim"], 0)


def read_the_limits_of_another_process():
    """read the limits of another process"""
    call("prlimit64", targets["victim"], 7, None, words(0, 0))


def read_the_clock_of_another_process():
    """read the clock of another process"""
    call("clock_gettime", (~targets["victim"] << 3) | 2, words(0, 0))


def read_the_session_of_another_process():
    """read the session of another process"""
    call("getsid", targets["victim"])


def read_the_process_group_of_another_process():
    """read the process group of another process"""
    call("getpgid", targets["victim"])


def read_the_cpu_affinity_of_another_process():
    """read the CPU affinity of another process"""
    call("sched_getaffinity", targets["victim"], 128, ctypes.create_string_buffer(128))


def read_the_scheduling_of_another_process():
    """read the scheduling of another process"""
    call("sched_getscheduler", targets["victim"])


def read_the_priority_of_another_process():
    """read the priority of another process"""
    call("getpriority", 0, targets["victim"])


def read_the_highest_priority_of_a_user():
    """read the highest priority of a user"""
    call("getpriority", 2, 0)


def read_the_capabilities_of_another_process():
    """read the capabilities of another process"""
    call("capget", halves(0x20080522, targets["victim"]), halves(*[0] * 6))
