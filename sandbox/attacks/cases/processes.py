"""Attacks that create processes or run other programs."""


def fork():
    """fork"""
    reap(os.fork())


def fork_with_clone():
    """fork with clone"""
    reap(call("clone", 17, 0, 0, 0, 0))


def vfork():
    """vfork"""
    os.waitpid(forking_code(syscall_number("vfork"))(), 0)


def clone_a_process_that_shares_this_memory():
    """clone a process that shares this memory"""
    os.waitpid(forking_code(syscall_number("clone"))(0x4111), 0)


def start_a_thread_in_a_new_mount_namespace():
    """start a thread in a new mount namespace"""
    forking_code(syscall_number("clone"))(0x30900)


def clone_into_a_new_user_namespace():
    """clone into a new user namespace"""
    reap(call("clone", 0x10000011, 0, 0, 0, 0))


def clone3():
    """clone3"""
    reap(call("clone3", words(0, 0, 0, 0, 17, 0, 0, 0), 64))


def execv_another_program():
    """execv another program"""
    os.execv('/bin/sh', ['sh', '-c', 'echo \'{"answer": "through"}\''])


def execveat_a_program_in_memory():
    """execveat a program in memory"""
    program = call_or(-1, "memfd_create", b"program", 0)
    if program != -1:
        os.write(program, b"#!/bin/sh\n" + b'echo \'{"answer": "through"}\'')
    arguments = (ctypes.c_char_p * 2)(b"program", None)
    call("execveat", program, b"", arguments, (ctypes.c_char_p * 1)(None), 0x1000)


def spawn_by_posix_spawn():
    """spawn by posix_spawn"""
    os.waitpid(os.posix_spawn('/bin/true', ['true'], {}), 0)


def spawn_by_subprocess():
    """spawn by subprocess"""
    import subprocess
    require(subprocess.run(['/bin/echo', 'out'], stdout=-1).stdout)


def run_a_shell_with_system():
    """run a shell with system"""
    if libc.system(b'exit 0') != 0:
        raise_errno()


def spawn_by_multiprocessing():
    """spawn by multiprocessing"""
    import multiprocessing
    worker = multiprocessing.get_context("fork").Process(target=int)
    worker.start()
    worker.join()


def spawn_by_asyncio():
    """spawn by asyncio"""
    import asyncio
    async def main():
        process = await asyncio.create_subprocess_exec("/bin/true")
        await process.wait()
    asyncio.run(main())


def leave_a_daemon_by_a_double_fork():
    """leave a daemon by a double fork"""
    child = os.fork()
    if child == 0:
        os.setsid()
        if os.fork() == 0:
            time.sleep(0.5)
        os._exit(0)
    os.waitpid(child, 0)


def fork_a_hundred_processes():
    """fork a hundred processes"""
    for _ in range(100):
        if os.fork() == 0:
            time.sleep(0.5)
            os._exit(0)


def start_a_session_with_setsid():
    """start a session with setsid"""
    call("setsid")


def leave_the_process_group_with_setpgid():
    """leave the process group with setpgid"""
    call("setpgid", 0, 0)


def turn_off_the_signal_at_the_host_s_end():
    """turn off the signal at the host's end"""
    call("prctl", 1, 0, 0, 0, 0)


def become_the_parent_of_orphans():
    """become the parent of orphans"""
    call("prctl", 36, 1, 0, 0, 0)


def make_itself_dumpable():
    """make itself dumpable"""
    call("prctl", 4, 1, 0, 0, 0)


def allow_every_process_to_debug_it():
    """allow every process to debug it"""
    call("prctl", 0x59616d61, -1, 0, 0, 0)
