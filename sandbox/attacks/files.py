"""Attacks on files: reading, writing, escaping the folder, and the devices."""

from __future__ import annotations

from sandbox.attacks.attack import FILES, INSIDE, Attack, everywhere
from sandbox.types import Limits

_EPERM = everywhere("EPERM")
_SPACE = everywhere("ENOSPC", L2="EPERM", L3="SIGKILL")
"""At L4 the folder is a file system with a size; at L3 it is weighed, and its job ended."""

ATTACKS = (
    Attack("read the list of users", "files", 'found(open("/etc/passwd").read(1))', FILES),
    Attack(
        "read a private key in the home folder", "files",
        'found(secret("private") in open(world["private_file"], "rb").read())', FILES,
    ),
    Attack(
        "read a file that everyone may read", "files",
        'found(secret("private") in open(world["open_file"], "rb").read())', FILES,
    ),
    Attack("read the app's source", "files", 'found(open(world["source"]).read(1))', FILES),
    Attack("list the app's folder", "files", 'found(os.listdir(world["folder"]))', FILES),
    Attack(
        "read a package that was not given", "files",
        'found(open(world["packages"] + "/of_the_world.py").read())', FILES,
    ),
    Attack(
        "look at the folders of other jobs", "files",
        'found(os.listdir(os.getcwd() + "/../../.."))', INSIDE,
    ),
    Attack(
        "write beside its own folder", "files",
        'os.close(os.open(f"../beside-{os.getpid()}", os.O_CREAT | os.O_WRONLY))', INSIDE,
    ),
    Attack(
        "move its own folder away", "files",
        """
here = os.getcwd()
os.rename(here, here + "-moved")
os.rename(here + "-moved", here)
""",
        INSIDE,
    ),
    Attack("list the root", "files", 'found(os.listdir("/"))', INSIDE),
    Attack(
        "read by a path of many dots", "files", 'found(open("../" * 40 + "etc/passwd").read(1))',
        FILES,
    ),
    Attack(
        "read through a root of /proc", "files",
        'found(open("/proc/self/root/etc/passwd").read(1))', FILES,
    ),
    Attack(
        "read through a link out of the folder", "files",
        'os.symlink("/etc/passwd", "link")\nfound(open("link").read(1))', FILES,
    ),
    Attack(
        "read after going there", "files", 'os.chdir("/etc")\nfound(open("passwd").read(1))', FILES,
    ),
    Attack(
        "read from a handle on a folder", "files",
        """
folder = os.open("/etc", os.O_PATH)
found(os.read(os.open("passwd", os.O_RDONLY, dir_fd=folder), 1))
""",
        FILES,
    ),
    Attack(
        "read by the newer call", "files",
        'found(os.read(call("openat2", -100, b"/etc/passwd", words(0, 0, 0), 24), 1))', _EPERM,
    ),
    Attack(
        "write where anyone may", "files",
        'open(world["open_folder"] + f"/{os.getpid()}", "x").close()', FILES,
    ),
    Attack(
        "write a file that anyone may", "files",
        'with open(world["open_folder"] + "/prey", "r+b", 0) as file:\n    file.write(b"prey")',
        FILES,
    ),
    Attack(
        "shorten a file that anyone may write", "files",
        'os.truncate(world["open_folder"] + "/prey", 4)', FILES,
    ),
    Attack(
        "make a folder where anyone may", "files",
        'os.mkdir(world["open_folder"] + f"/folder-{os.getpid()}")', FILES,
    ),
    Attack(
        "remove a file of the host", "files",
        """
path = world["open_folder"] + "/doomed"
os.unlink(path)
open(path, "x").close()
""",
        FILES,
    ),
    Attack(
        "remove a folder of the host", "files", 'os.rmdir(world["open_folder"] + "/full")', FILES,
        control=("ENOTEMPTY",),
    ),
    Attack(
        "link a file of the host into the folder", "files",
        'os.link(world["open_folder"] + "/prey", f"mine-{os.getpid()}")',
        FILES | {"L3": "EXDEV"},  # Landlock says so of links between its folders
    ),
    Attack(
        "move a file out of the folder", "files",
        """
open("own", "w").close()
os.rename("own", world["open_folder"] + f"/moved-{os.getpid()}")
""",
        FILES,
    ),
    Attack(
        "make a pipe for others to find", "files",
        'os.mknod(world["open_folder"] + f"/pipe-{os.getpid()}", 0o010600)', _EPERM,
    ),
    Attack(
        "make a device", "files", 'os.mknod(f"device-{os.getpid()}", 0o020600, os.makedev(1, 3))',
        _EPERM,
    ),
    Attack(
        "loosen the mode of a host's file", "files",
        'call("fchmodat", -100, world["open_file"].encode(), 0o644, 0)',
        _EPERM,
    ),
    Attack(
        "loosen a package it may read", "files",
        'os.fchmod(os.open(world["site"] + "/of_a_site.py", os.O_RDONLY), 0o644)',
        everywhere("EPERM", L4="EROFS"),
        with_site=True,
    ),
    Attack(
        "write a package it may read", "files",
        'os.open(world["site"] + "/of_a_site.py", os.O_RDWR)', INSIDE, with_site=True,
    ),
    Attack(
        "write the standard library", "files", "os.open(os.__file__, os.O_RDWR)", INSIDE,
    ),
    Attack(
        "give a host's file away", "files", 'os.chown(world["open_file"], -1, -1)', _EPERM,
    ),
    Attack(
        "set the times of a host's file", "files",
        'call("utimensat", -100, world["open_file"].encode(), 0, 0)',
        _EPERM,
    ),
    Attack(
        "mark a host's file", "files",
        'os.setxattr(world["open_folder"] + "/prey", "user.mark", b"x")', _EPERM,
        control=("through", "ENOTSUP"),
    ),
    Attack(
        "take a file's handle", "files",
        """
handle = ctypes.create_string_buffer((128).to_bytes(4, sys.byteorder), 136)
call("name_to_handle_at", -100, world["open_file"].encode(), handle, words(0), 0)
""",
        _EPERM,
    ),
    Attack(
        "open a file by its handle", "files",
        """
handle = ctypes.create_string_buffer((128).to_bytes(4, sys.byteorder), 136)
name = world["open_file"].encode()
otherwise(-1, "name_to_handle_at", -100, name, handle, words(0), 0)
folder = otherwise(-1, "openat", -100, b"/", 0)
call("open_by_handle_at", folder, handle, 0)
""",
        _EPERM,
    ),
    Attack("watch the host's folder", "files", 'call("inotify_init1", 0)', _EPERM),
    Attack(
        "watch every file", "files", 'call("fanotify_init", 0x200, 0)', _EPERM,
        control=("through",),
    ),
    Attack(
        "read the kernel's log device", "files", 'os.open("/dev/kmsg", os.O_RDONLY)', FILES,
    ),
    Attack("read the machine's memory", "files", 'os.open("/dev/mem", os.O_RDONLY)', FILES),
    Attack(
        "write shared memory", "files", 'os.open("/dev/shm/" + world["token"], os.O_CREAT)', FILES,
    ),
    Attack("open a terminal", "files", 'os.open("/dev/ptmx", os.O_RDWR | os.O_NOCTTY)', FILES),
    Attack(
        "type into a terminal", "files",
        """
_, terminal = os.openpty()
call("ioctl", terminal, 0x5412, b"x")
""",
        FILES,
        control=("through", "EIO"),
    ),
    Attack("list the system's devices", "files", 'found(os.listdir("/sys/class"))', FILES),
    Attack(
        "write a setting of the kernel", "files",
        'os.open("/proc/sys/kernel/core_pattern", os.O_WRONLY)', FILES,
    ),
    Attack(
        "reach the emergency keys", "files", 'os.open("/proc/sysrq-trigger", os.O_WRONLY)', FILES,
    ),
    Attack(
        "make a control group", "files",
        """
path = "/sys/fs/cgroup/" + world["token"]
os.mkdir(path)
os.rmdir(path)
""",
        FILES,
    ),
    Attack("change the root", "files", 'call("chroot", b".")', _EPERM),
    Attack(
        "mount a file system", "files",
        'call("mount", b"none", b".", b"no such kind", 0, None)', _EPERM, control=("ENODEV",),
    ),
    Attack("mount by the newer calls", "files", 'call("fsopen", b"tmpfs", 0)', _EPERM),
    Attack(
        "clone a tree of mounts", "files", 'call("open_tree", -100, b"/", 1)', _EPERM,
    ),
    Attack(
        "move a mount", "files", 'call("move_mount", -1, b"", -1, b"", 4)', _EPERM,
        control=("EBADF", "EINVAL", "ENOENT"),
    ),
    Attack("unmount", "files", 'call("umount2", b".", 0)', _EPERM, control=("EINVAL",)),
    Attack(
        "swap the root", "files", 'call("pivot_root", b".", b".")', _EPERM,
        control=("EINVAL", "EBUSY"),
    ),
    Attack(
        "swap to a file", "files", 'call("swapon", b"/no such file", 0)', _EPERM,
        control=("ENOENT",),
    ),
    Attack(
        "fill the disk", "files",
        """
block = bytes(1_000_000)
for number in range(64):
    with open(f"big-{number}", "wb", 0) as file:
        for _ in range(3):
            if file.write(block) < len(block):
                raise OSError(errno.ENOSPC, "cut short")
time.sleep(0.3)
""",
        _SPACE,
    ),
    Attack(
        "fill the disk with names", "files",
        """
for number in range(8_000):
    os.close(os.open(f"name-{number}", os.O_CREAT | os.O_WRONLY))
time.sleep(0.3)
""",
        _SPACE,
        limits=Limits(wall_s=30, cpu_s=30, memory_mib=400),
    ),
    Attack(
        "make one endless file", "files",
        'with open("endless", "wb", 0) as file:\n    file.truncate(1 << 40)',
        everywhere("EFBIG", L1="EFBIG", L2="EPERM"),
    ),
)
