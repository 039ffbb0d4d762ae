"""Attacks that look for secrets in the environment and in other processes."""


def find_the_app_s_key_in_os_environ():
    """find the app's key in os.environ"""
    require(os.environ.get(targets["key_name"]))


def read_the_app_s_key_with_getenv():
    """read the app's key with getenv"""
    libc.getenv.restype = ctypes.c_char_p
    require(libc.getenv(targets["key_name"].encode()))


def search_the_environment_in_memory():
    """search the environment in memory"""
    block = ctypes.POINTER(ctypes.c_char_p).in_dll(libc, "environ")
    place = 0
    while block and block[place]:
        if secret("key") in block[place]:
            return
        place += 1
    require(False)


def search_the_initial_environment_on_the_stack():
    """search the initial environment on the stack"""
    libc.getauxval.restype = ctypes.c_ulong
    top = libc.getauxval(31)  # AT_EXECFN: the path of the program; the environment is below it
    require(secret("key") in ctypes.string_at(top - 32_768, 32_768))


def read_the_environment_file_of_this_process():
    """read the environment file of this process"""
    require(secret("key") in open("/proc/self/environ", "rb").read())


def read_the_environment_file_of_the_host():
    """read the environment file of the host"""
    open(f"/proc/{targets['host']}/environ", "rb").read(1)


def read_the_environment_file_of_another_process():
    """read the environment file of another process"""
    require(secret("key") in open(f"/proc/{targets['victim']}/environ", "rb").read())


def read_the_memory_file_of_another_process():
    """read the memory file of another process"""
    with open(f"/proc/{targets['victim']}/mem", "rb", 0) as file:
        file.seek(targets["address"])
        require(file.read(len(targets["memory"])) == secret("memory"))


def read_the_memory_map_of_another_process():
    """read the memory map of another process"""
    require(open(f"/proc/{targets['victim']}/maps").read(1))


def read_the_arguments_of_another_process():
    """read the arguments of another process"""
    require(secret("argument") in open(f"/proc/{targets['victim']}/cmdline", "rb").read())


def list_the_descriptors_of_another_process():
    """list the descriptors of another process"""
    require(os.listdir(f"/proc/{targets['victim']}/fd"))


def read_the_working_folder_of_another_process():
    """read the working folder of another process"""
    os.readlink(f"/proc/{targets['victim']}/cwd")


def list_all_processes():
    """list all processes"""
    require(str(targets["host"]) in os.listdir("/proc"))


def read_this_process_s_own_status():
    """read this process's own status"""
    require(open("/proc/self/status").read(1))
