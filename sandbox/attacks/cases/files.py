"""Attacks on files: reads, writes, leaves the job's folder, opens devices."""


def read_the_list_of_users():
    """read the list of users"""
    found(open("/etc/passwd").read(1))


def read_a_private_key_in_the_home_folder():
    """read a private key in the home folder"""
    found(secret("private") in open(world["private_file"], "rb").read())


def read_a_file_that_everyone_may_read():
    """read a file that everyone may read"""
    found(secret("private") in open(world["open_file"], "rb").read())


def read_the_app_s_source():
    """read the app's source"""
    found(open(world["source"]).read(1))


def list_the_app_s_folder():
    """list the app's folder"""
    found(os.listdir(world["folder"]))


def read_a_package_that_was_not_given():
    """read a package that was not given"""
    found(open(world["packages"] + "/of_the_world.py").read())


def look_at_the_folders_of_other_jobs():
    """look at the folders of other jobs"""
    found(os.listdir(os.getcwd() + "/../../.."))


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
    found(os.listdir("/"))


def read_by_a_path_of_many_dots():
    """read by a path of many dots"""
    found(open("../" * 40 + "etc/passwd").read(1))


def read_through_a_root_of_proc():
    """read through a root of /proc"""
    found(open("/proc/self/root/etc/passwd").read(1))


def read_through_a_link_out_of_the_folder():
    """read through a link out of the folder"""
    os.symlink("/etc/passwd", "link")
    found(open("link").read(1))


def read_after_going_there():
    """read after going there"""
    os.chdir("/etc")
    found(open("passwd").read(1))


def read_from_a_handle_on_a_folder():
    """read from a handle on a folder"""
    folder = os.open("/etc", os.O_PATH)
    found(os.read(os.open("passwd", os.O_RDONLY, dir_fd=folder), 1))


def read_by_the_newer_call():
    """read by the newer call"""
    found(os.read(call("openat2", -100, b"/etc/passwd", words(0, 0, 0), 24), 1))


def write_where_anyone_may():
    """write where anyone may"""
    open(world["open_folder"] + f"/{os.getpid()}", "x").close()


def write_a_file_that_anyone_may():
    """write a file that anyone may"""
    with open(world["open_folder"] + "/prey", "r+b", 0) as file:
        file.write(b"prey")


def shorten_a_file_that_anyone_may_write():
    """shorten a file that anyone may write"""
    os.truncate(world["open_folder"] + "/prey", 4)


def make_a_folder_where_anyone_may():
    """make a folder where anyone may"""
    os.mkdir(world["open_folder"] + f"/folder-{os.getpid()}")


def remove_a_file_of_the_host():
    """remove a file of the host"""
    path = world["open_folder"] + "/doomed"
    os.unlink(path)
    open(path, "x").close()


def remove_a_folder_of_the_host():
    """remove a folder of the host"""
    os.rmdir(world["open_folder"] + "/full")


def link_a_file_of_the_host_into_the_folder():
    """link a file of the host into the folder"""
    os.link(world["open_folder"] + "/prey", f"mine-{os.getpid()}")


def move_a_file_out_of_the_folder():
    """move a file out of the folder"""
    open("own", "w").close()
    os.rename("own", world["open_folder"] + f"/moved-{os.getpid()}")


def make_a_pipe_for_others_to_find():
    """make a pipe for others to find"""
    os.mknod(world["open_folder"] + f"/pipe-{os.getpid()}", 0o010600)


def make_a_device():
    """make a device"""
    os.mknod(f"device-{os.getpid()}", 0o020600, os.makedev(1, 3))


def loosen_the_mode_of_a_host_s_file():
    """loosen the mode of a host's file"""
    call("fchmodat", -100, world["open_file"].encode(), 0o644, 0)


def loosen_a_package_it_may_read():
    """loosen a package it may read"""
    os.fchmod(os.open(world["site"] + "/of_a_site.py", os.O_RDONLY), 0o644)


def write_a_package_it_may_read():
    """write a package it may read"""
    os.open(world["site"] + "/of_a_site.py", os.O_RDWR)


def write_the_standard_library():
    """write the standard library"""
    os.open(os.__file__, os.O_RDWR)


def give_a_host_s_file_away():
    """give a host's file away"""
    os.chown(world["open_file"], -1, -1)


def set_the_times_of_a_host_s_file():
    """set the times of a host's file"""
    call("utimensat", -100, world["open_file"].encode(), 0, 0)


def mark_a_host_s_file():
    """mark a host's file"""
    os.setxattr(world["open_folder"] + "/prey", "user.mark", b"x")


def take_a_file_s_handle():
    """take a file's handle"""
    handle = ctypes.create_string_buffer((128).to_bytes(4, sys.byteorder), 136)
    call("name_to_handle_at", -100, world["open_file"].encode(), handle, words(0), 0)


def open_a_file_by_its_handle():
    """open a file by its handle"""
    handle = ctypes.create_string_buffer((128).to_bytes(4, sys.byteorder), 136)
    name = world["open_file"].encode()
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
    os.open("/dev/shm/" + world["token"], os.O_CREAT)


def open_a_terminal():
    """open a terminal"""
    os.open("/dev/ptmx", os.O_RDWR | os.O_NOCTTY)


def type_into_a_terminal():
    """type into a terminal"""
    _, terminal = os.openpty()
    call("ioctl", terminal, 0x5412, b"x")


def list_the_system_s_devices():
    """list the system's devices"""
    found(os.listdir("/sys/class"))


def write_a_setting_of_the_kernel():
    """write a setting of the kernel"""
    os.open("/proc/sys/kernel/core_pattern", os.O_WRONLY)


def reach_the_emergency_keys():
    """reach the emergency keys"""
    os.open("/proc/sysrq-trigger", os.O_WRONLY)


def make_a_control_group():
    """make a control group"""
    path = "/sys/fs/cgroup/" + world["token"]
    os.mkdir(path)
    os.rmdir(path)


def change_the_root():
    """change the root"""
    call("chroot", b".")


def mount_a_file_system():
    """mount a file system"""
    call("mount", b"none", b".", b"no such kind", 0, None)


def mount_by_the_newer_calls():
    """mount by the newer calls"""
    call("fsopen", b"tmpfs", 0)


def clone_a_tree_of_mounts():
    """clone a tree of mounts"""
    call("open_tree", -100, b"/", 1)


def move_a_mount():
    """move a mount"""
    call("move_mount", -1, b"", -1, b"", 4)


def unmount():
    """unmount"""
    call("umount2", b".", 0)


def swap_the_root():
    """swap the root"""
    call("pivot_root", b".", b".")


def swap_to_a_file():
    """swap to a file"""
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


def fill_the_disk_with_names():
    """fill the disk with names"""
    for number in range(4_500):
        os.close(os.open(f"name-{number}", os.O_CREAT | os.O_WRONLY))
    time.sleep(2)


def make_one_endless_file():
    """make one endless file"""
    with open("endless", "wb", 0) as file:
        file.truncate(1 << 40)
