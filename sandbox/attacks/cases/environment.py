"""Looks for secrets: the environment, other processes."""


def find_the_app_s_key_in_os_environ():
    """find the app's key in os.environ"""
    found(os.environ.get(world["key_name"]))


def ask_the_c_library_for_the_app_s_key():
    """ask the C library for the app's key"""
    libc.getenv.restype = ctypes.c_char_p
    found(libc.getenv(world["key_name"].encode()))


def walk_the_block_of_the_environment():
    """walk the block of the environment"""
    block = ctypes.POINTER(ctypes.c_char_p).in_dll(libc, "environ")
    place = 0
    while block and block[place]:
        if secret("key") in block[place]:
            return
        place += 1
    found(False)


def read_the_stack_where_the_first_environment_lay():
    """read the stack where the first environment lay"""
    libc.getauxval.restype = ctypes.c_ulong
    top = libc.getauxval(31)  # AT_EXECFN, the program's path; the environment is below it
    found(secret("key") in ctypes.string_at(top - 32_768, 32_768))


def read_the_environment_file_of_this_process():
    """read the environment file of this process"""
    found(secret("key") in open("/proc/self/environ", "rb").read())


def read_the_environment_file_of_the_host():
    """read the environment file of the host"""
    open(f"/proc/{world['host']}/environ", "rb").read(1)


def read_the_environment_file_of_another_process():
    """read the environment file of another process"""
    found(secret("key") in open(f"/proc/{world['victim']}/environ", "rb").read())


def read_the_memory_file_of_another_process():
    """read the memory file of another process"""
    with open(f"/proc/{world['victim']}/mem", "rb", 0) as file:
        file.seek(world["address"])
        found(file.read(len(world["memory"])) == secret("memory"))


def read_the_memory_map_of_another_process():
    """read the memory map of another process"""
    found(open(f"/proc/{world['victim']}/maps").read(1))


def read_the_arguments_of_another_process():
    """read the arguments of another process"""
    found(secret("argument") in open(f"/proc/{world['victim']}/cmdline", "rb").read())


def list_the_descriptors_of_another_process():
    """list the descriptors of another process"""
    found(os.listdir(f"/proc/{world['victim']}/fd"))


def follow_the_folder_of_another_process():
    """follow the folder of another process"""
    os.readlink(f"/proc/{world['victim']}/cwd")


def list_all_processes():
    """list all processes"""
    found(str(world["host"]) in os.listdir("/proc"))


def read_this_process_s_own_status():
    """read this process's own status"""
    found(open("/proc/self/status").read(1))
