"""Attacks by system calls that often have vulnerabilities or change the machine."""


def change_its_own_priority():
    """change its own priority"""
    call("setpriority", 0, 0, 1)


def change_its_own_cpu_affinity():
    """change its own CPU affinity"""
    call("sched_setaffinity", 0, 128, ctypes.create_string_buffer(b"\xff" * 128))


def call_bpf():
    """call bpf"""
    call("bpf", 0, ctypes.create_string_buffer(8192), 8192)


def count_processor_events_with_perf_event_open():
    """count processor events with perf_event_open"""
    kinds = ctypes.create_string_buffer(128)
    ctypes.memmove(kinds, halves(1, 112), 8)
    ctypes.memmove(ctypes.addressof(kinds) + 40, words(0x60), 8)
    call("perf_event_open", kinds, 0, -1, -1, 0)


def set_up_io_uring():
    """set up io_uring"""
    call("io_uring_setup", 1, ctypes.create_string_buffer(120))


def handle_page_faults_with_userfaultfd():
    """handle page faults with userfaultfd"""
    call("userfaultfd", 1)


def read_a_keyring():
    """read a keyring"""
    call("keyctl", 0, -3, 1, 0, 0)


def add_a_key():
    """add a key"""
    call("add_key", b"user", b"name", b"x", 1, -2)


def request_a_key():
    """request a key"""
    call("request_key", b"user", b"no such key", None, -2)


def load_another_seccomp_filter():
    """load another seccomp filter"""
    call("seccomp", 1, 0, None)


def load_another_seccomp_filter_by_prctl():
    """load another seccomp filter by prctl"""
    call("prctl", 22, 2, None, 0, 0)


def redirect_system_calls_with_prctl():
    """redirect system calls with prctl"""
    call("prctl", 59, 0, 0, 0, 0)


def write_the_local_descriptor_table():
    """write the local descriptor table"""
    call("modify_ldt", 0, bytes(64), 64)


def change_the_personality():
    """change the personality"""
    call("personality", 0xFFFFFFFF)


def request_all_i_o_ports_with_iopl():
    """request all I/O ports with iopl"""
    call("iopl", 0)


def request_one_i_o_port_with_ioperm():
    """request one I/O port with ioperm"""
    call("ioperm", 0, 1, 0)


def load_another_kernel_with_kexec_load():
    """load another kernel with kexec_load"""
    call("kexec_load", 0, 4096, None, 0)


def load_a_kernel_module():
    """load a kernel module"""
    call("init_module", None, 0, b"")


def unload_a_kernel_module():
    """unload a kernel module"""
    call("delete_module", b"no such module", 0x800)


def restart_the_machine():
    """restart the machine"""
    call("reboot", 0, 0, 0, None)


def set_the_clock():
    """set the clock"""
    call("clock_settime", 0, None)


def set_the_time_of_day():
    """set the time of day"""
    call("settimeofday", 1, None)


def adjust_the_clock():
    """adjust the clock"""
    call("clock_adjtime", 0, ctypes.create_string_buffer(512))


def set_the_host_name():
    """set the host name"""
    call("sethostname", b"x", -1)


def set_a_quota():
    """set a quota"""
    call("quotactl", -0x7FFFFF00, None, 0, None)


def switch_process_accounting():
    """switch process accounting"""
    call("acct", b"/no such file")


def read_the_kernel_s_log():
    """read the kernel's log"""
    call("syslog", 10, None, 0)


def enter_a_new_user_namespace():
    """enter a new user namespace"""
    call("unshare", 0x10000000)


def enter_a_new_network_namespace():
    """enter a new network namespace"""
    call("unshare", 0x50000000)


def enter_a_new_mount_namespace():
    """enter a new mount namespace"""
    call("unshare", 0x10020000)


def enter_a_new_pid_namespace():
    """enter a new PID namespace"""
    call("unshare", 0x30000000)


def enter_a_namespace_with_setns():
    """enter a namespace with setns"""
    call("setns", -1, 0)


def make_system_v_shared_memory():
    """make System V shared memory"""
    call("shmctl", call("shmget", 0, 4096, 0o600), 0, None)


def make_system_v_semaphores():
    """make System V semaphores"""
    call("semctl", call("semget", 0, 1, 0o600), 0, 0, 0)


def make_a_system_v_message_queue():
    """make a System V message queue"""
    call("msgctl", call("msgget", 0, 0o600), 0, None)


def make_a_posix_message_queue():
    """make a POSIX message queue"""
    name = targets["token"].encode() + str(os.getpid()).encode()
    call("mq_open", name, os.O_CREAT | os.O_RDWR, 0o600, None)
    call("mq_unlink", name)


def make_a_file_in_memory():
    """make a file in memory"""
    call("memfd_create", b"name", 0)


def make_secret_memory():
    """make secret memory"""
    call("memfd_secret", 0)


def splice_pipes():
    """splice pipes"""
    reader, writer = os.pipe()
    _, other = os.pipe()
    os.write(writer, b"x")
    call("splice", reader, None, other, None, 1, 0)


def splice_memory_into_a_pipe():
    """splice memory into a pipe"""
    _, writer = os.pipe()
    byte = ctypes.create_string_buffer(b"x")
    call("vmsplice", writer, words(ctypes.addressof(byte), 1), 1, 0)


def lock_all_memory():
    """lock all memory"""
    call("mlockall", 2)


def set_the_numa_memory_policy():
    """set the NUMA memory policy"""
    call("set_mempolicy", 0, None, 0)


def raise_a_limit():
    """raise a limit"""
    call("prlimit64", 0, 9, words(-1 % (1 << 64), -1 % (1 << 64)), None)


def change_the_user():
    """change the user"""
    call("setresuid", -1, -1, -1)


def change_the_group():
    """change the group"""
    call("setresgid", -1, -1, -1)


def drop_all_groups():
    """drop all groups"""
    call("setgroups", 0, None)


def set_capabilities():
    """set capabilities"""
    call("capset", halves(0x20080522, 0), halves(*[0] * 6))


def make_a_32_bit_system_call():
    """make a 32-bit system call"""
    machine_code(b"\xb8\x14\0\0\0\xcd\x80\xc3")()


def make_an_x32_system_call():
    """make an x32 system call"""
    forking_code(0x40000000 + syscall_number("getpid"))()


def query_landlock():
    """query Landlock"""
    call("landlock_create_ruleset", None, 0, 1)
