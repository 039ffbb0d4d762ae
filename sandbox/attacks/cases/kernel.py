"""Attacks by system calls that often have vulnerabilities or change the machine."""


def change_its_own_priority():
    """change its own priority"""
    call("setpriority", 0, 0, 1)


def move_itself_to_all_cores():
    """move itself to all cores"""
    call("sched_setaffinity", 0, 128, ctypes.create_string_buffer(b"\xff" * 128))


def load_a_program_into_the_kernel():
    """load a program into the kernel"""
    call("bpf", 0, ctypes.create_string_buffer(8192), 8192)


def count_the_processor_s_events():
    """count the processor's events"""
    kinds = ctypes.create_string_buffer(128)
    ctypes.memmove(kinds, halves(1, 112), 8)
    ctypes.memmove(ctypes.addressof(kinds) + 40, words(0x60), 8)
    call("perf_event_open", kinds, 0, -1, -1, 0)


def make_a_ring_of_calls():
    """make a ring of calls"""
    call("io_uring_setup", 1, ctypes.create_string_buffer(120))


def handle_page_faults():
    """handle page faults"""
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


def load_another_filter():
    """load another filter"""
    call("seccomp", 1, 0, None)


def load_another_filter_by_prctl():
    """load another filter by prctl"""
    call("prctl", 22, 2, None, 0, 0)


def divert_calls():
    """divert calls"""
    call("prctl", 59, 0, 0, 0, 0)


def write_a_descriptor_table():
    """write a descriptor table"""
    call("modify_ldt", 0, bytes(64), 64)


def change_the_personality():
    """change the personality"""
    call("personality", 0xFFFFFFFF)


def reach_the_machine_s_ports():
    """reach the machine's ports"""
    call("iopl", 0)


def reach_some_of_the_machine_s_ports():
    """reach some of the machine's ports"""
    call("ioperm", 0, 1, 0)


def start_another_kernel():
    """start another kernel"""
    call("kexec_load", 0, 4096, None, 0)


def load_a_module():
    """load a module"""
    call("init_module", None, 0, b"")


def unload_a_module():
    """unload a module"""
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


def bend_the_clock():
    """bend the clock"""
    call("clock_adjtime", 0, ctypes.create_string_buffer(512))


def name_the_host():
    """name the host"""
    call("sethostname", b"x", -1)


def set_a_quota():
    """set a quota"""
    call("quotactl", -0x7FFFFF00, None, 0, None)


def switch_accounting():
    """switch accounting"""
    call("acct", b"/no such file")


def read_the_kernel_s_log():
    """read the kernel's log"""
    call("syslog", 10, None, 0)


def leave_for_a_new_user_namespace():
    """leave for a new user namespace"""
    call("unshare", 0x10000000)


def leave_for_a_new_network():
    """leave for a new network"""
    call("unshare", 0x50000000)


def leave_for_new_mounts():
    """leave for new mounts"""
    call("unshare", 0x10020000)


def leave_for_new_process_numbers():
    """leave for new process numbers"""
    call("unshare", 0x30000000)


def enter_a_namespace():
    """enter a namespace"""
    call("setns", -1, 0)


def shared_memory_of_system_v():
    """shared memory of System V"""
    call("shmctl", call("shmget", 0, 4096, 0o600), 0, None)


def semaphores_of_system_v():
    """semaphores of System V"""
    call("semctl", call("semget", 0, 1, 0o600), 0, 0, 0)


def messages_of_system_v():
    """messages of System V"""
    call("msgctl", call("msgget", 0, 0o600), 0, None)


def a_message_queue():
    """a message queue"""
    name = world["token"].encode() + str(os.getpid()).encode()
    call("mq_open", name, os.O_CREAT | os.O_RDWR, 0o600, None)
    call("mq_unlink", name)


def a_file_in_memory():
    """a file in memory"""
    call("memfd_create", b"name", 0)


def secret_memory():
    """secret memory"""
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


def bind_memory_to_a_node():
    """bind memory to a node"""
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


def leave_all_groups():
    """leave all groups"""
    call("setgroups", 0, None)


def set_capabilities():
    """set capabilities"""
    call("capset", halves(0x20080522, 0), halves(*[0] * 6))


def call_by_the_numbers_of_32_bit_programs():
    """call by the numbers of 32-bit programs"""
    machine_code(b"\xb8\x14\0\0\0\xcd\x80\xc3")()


def call_by_the_numbers_of_x32_programs():
    """call by the numbers of x32 programs"""
    forking_code(0x40000000 + syscall_number("getpid"))()


def rebuild_the_jail_around_itself():
    """rebuild the jail around itself"""
    call("landlock_create_ruleset", None, 0, 1)
