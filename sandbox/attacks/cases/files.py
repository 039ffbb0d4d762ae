"""Attacks on files and devices; `prelude.py` has the helpers, such as `targets` and `require`."""


def read_the_list_of_users():
    """read the list of users"""
    require(open("/etc/passwd").read(1))


def read_a_private_key_in_the_home_folder():
    """read a private key in the home folder"""
    require(secret("private") in open(targets["private_file"], "rb").read())


def read_a_file_that_everyone_may_read():
    """read a file that everyone may read"""
    require(secret("private") in open(targets["open_file"], "rb").read())


def read_the_app_s_source():
    """read the app's source"""
    require(open(targets["source"]).read(1))


def list_the_app_s_folder():
    """list the app's folder"""
    require(os.listdir(targets["folder"]))


def read_a_package_that_was_not_given():
    """read a package that was not given"""
    require(open(targets["other_packages"] + "/other_module.py").read())


def list_the_folders_of_other_jobs():
    """list the folders of other jobs"""
    require(os.listdir(os.getcwd() + "/../../.."))


def write_beside_its_own_folder():
    """write beside its own folder"""
    os.close(os.open(f"../beside-{os.getpid()}", os.O_CREAT | os.O_WRONLY))


def move_its_own_folder_away():
    """move its own folder away"""
    here = os.getcwd()
    os.rename(here, here + "-moved")
    os.rename(here + "-moved", here)


def list_the_root():
    """list the root"""
    require(os.listdir("/"))


def read_by_a_path_of_many():
    """read by a path of many .."""
    require(open("../" * 40 + "etc/passwd").read(1))


def read_through_proc_self_root():
    """read through /proc/self/root"""
    require(open("/proc/self/root/etc/passwd").read(1))


def read_through_a_link_out_of_the_folder():
    """read through a link out of the folder"""
    os.symlink("/etc/passwd", "link")
    require(open("link").read(1))


def read_after_chdir():
    """read after chdir"""
    os.chdir("/etc")
    require(open("passwd").read(1))


def read_by_a_folder_s_descriptor():
    """read by a folder's descriptor"""
    folder = os.open("/etc", os.O_PATH)
    require(os.read(os.open("passwd", os.O_RDONLY, dir_fd=folder), 1))


def read_with_openat2():
    """read with openat2"""
    require(os.read(call("openat2", -100, b"/etc/passwd", words(0, 0, 0), 24), 1))


def write_in_a_0777_folder():
    """write in a 0777 folder"""
    open(targets["open_folder"] + f"/{os.getpid()}", "x").close()


def write_a_file_of_mode_0666():
    """write a file of mode 0666"""
    with open(targets["open_folder"] + "/writable", "r+b", 0) as file:
        file.write(b"text")


def truncate_a_file_of_mode_0666():
    """truncate a file of mode 0666"""
    os.truncate(targets["open_folder"] + "/writable", 4)


def make_a_folder_in_a_0777_folder():
    """make a folder in a 0777 folder"""
    os.mkdir(targets["open_folder"] + f"/folder-{os.getpid()}")


def remove_a_file_of_the_host():
    """remove a file of the host"""
    path = targets["open_folder"] + "/removable"
    os.unlink(path)
    open(path, "x").close()


def remove_a_folder_of_the_host():
    """remove a folder of the host"""
    os.rmdir(targets["open_folder"] + "/full")


def link_a_file_of_the_host_into_the_folder():
    """link a file of the host into the folder"""
    os.link(targets["open_folder"] + "/writable", f"mine-{os.getpid()}")


def move_a_file_out_of_the_folder():
    """move a file out of the folder"""
    open("own", "w").close()
    os.rename("own", targets["open_folder"] + f"/moved-{os.getpid()}")


def make_a_named_pipe_in_a_0777_folder():
    """make a named pipe in a 0777 folder"""
    os.mknod(targets["open_folder"] + f"/pipe-{os.getpid()}", 0o010600)


def make_a_device():
    """make a device"""
    os.mknod(f"device-{os.getpid()}", 0o020600, os.makedev(1, 3))


def chmod_a_host_s_file():
    """chmod a host's file"""
    call("fchmodat", -100, targets["open_file"].encode(), 0o644, 0)


def chmod_a_package_it_may_read():
    """chmod a package it may read"""
    os.fchmod(os.open(targets["given_packages"] + "/given_module.py", os.O_RDONLY), 0o644)


def write_a_package_it_may_read():
    """write a package it may read"""
    os.open(targets["given_packages"] + "/given_module.py", os.O_RDWR)


def write_the_standard_library():
    """write the standard library"""
    os.open(os.__file__, os.O_RDWR)


def chown_a_host_s_file():
    """chown a host's file"""
    os.chown(targets["open_file"], -1, -1)


def set_the_times_of_a_host_s_file():
    """set the times of a host's file"""
    call("utimensat", -100, targets["open_file"].encode(), 0, 0)


def setxattr_on_a_file():
    """setxattr on a file"""
    os.setxattr(targets["open_folder"] + "/writable", "user.mark", b"x")


def get_a_file_s_handle():
    """get a file's handle"""
    handle = ctypes.create_string_buffer((128).to_bytes(4, sys.byteorder), 136)
    call("name_to_handle_at", -100, targets["open_file"].encode(), handle, words(0), 0)


def open_a_file_by_its_handle():
    """open a file by its handle"""
    handle = ctypes.create_string_buffer((128).to_bytes(4, sys.byteorder), 136)
    name = targets["open_file"].encode()
    call_or(-1, "name_to_handle_at", -100, name, handle, words(0), 0)
    folder = call_or(-1, "openat", -100, b"/", 0)
    call("open_by_handle_at", folder, handle, 0)


def watch_the_host_s_folder():
    """watch the host's folder"""
    call("inotify_init1", 0)


def watch_every_file():
    """watch every file"""
    call("fanotify_init", 0x200, 0)


def read_the_kernel_s_log_device():
    """read the kernel's log device"""
    os.open("/dev/kmsg", os.O_RDONLY)


def read_the_machine_s_memory():
    """read the machine's memory"""
    os.open("/dev/mem", os.O_RDONLY)


def write_shared_memory():
    """write shared memory"""
    os.open("/dev/shm/" + targets["token"], os.O_CREAT)


def open_a_terminal():
    """open a terminal"""
    os.open("/dev/ptmx", os.O_RDWR | os.O_NOCTTY)


def type_into_a_terminal():
    """type into a terminal"""
    _, terminal = os.openpty()
    call("ioctl", terminal, 0x5412, b"x")


def list_the_system_s_devices():
    """list the system's devices"""
    require(os.listdir("/sys/class"))


def write_a_setting_of_the_kernel():
    """write a setting of the kernel"""
    os.open("/proc/sys/kernel/core_pattern", os.O_WRONLY)


def open_proc_sysrq_trigger():
    """open /proc/sysrq-trigger"""
    os.open("/proc/sysrq-trigger", os.O_WRONLY)


def make_a_control_group():
    """make a control group"""
    path = "/sys/fs/cgroup/" + targets["token"]
    os.mkdir(path)
    os.rmdir(path)


def chroot():
    """chroot"""
    call("chroot", b".")


def mount_a_file_system():
    """mount a file system"""
    call("mount", b"none", b".", b"no such kind", 0, None)


def mount_with_fsopen():
    """mount with fsopen"""
    call("fsopen", b"tmpfs", 0)


def clone_a_mount_tree():
    """clone a mount tree"""
    call("open_tree", -100, b"/", 1)


def move_a_mount():
    """move a mount"""
    call("move_mount", -1, b"", -1, b"", 4)


def unmount():
    """unmount"""
    call("umount2", b".", 0)


def pivot_root():
    """pivot_root"""
    call("pivot_root", b".", b".")


def swapon_a_file():
    """swapon a file"""
    call("swapon", b"/no such file", 0)


def fill_the_disk():
    """fill the disk"""
    block = bytes(1_000_000)
    for number in range(64):
        with open(f"big-{number}", "wb", 0) as file:
            for _ in range(3):
                if file.write(block) < len(block):
                    raise OSError(errno.ENOSPC, "cut short")
    time.sleep(2)


def use_up_the_disk_s_inodes():
    """use up the disk's inodes"""
    for number in range(4_500):
        os.close(os.open(f"name-{number}", os.O_CREAT | os.O_WRONLY))
    time.sleep(2)


def make_one_endless_file():
    """make one endless file"""
    with open("endless", "wb", 0) as file:
        file.truncate(1 << 40)
