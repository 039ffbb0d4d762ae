import os, sys
import pytest

def test_descriptors_are_captured(capfd):
    os.write(1, b"out")
    os.write(2, b"err")
    assert capfd.readouterr() == ("out", "err")

def test_prints_are_captured(capsys):
    print("out")
    assert capsys.readouterr().out == "out\n"

def test_input_is_refused():
    with pytest.raises(OSError, match="reading from stdin"):
        input()

def test_folders_are_made_within_the_jobs_own(tmp_path, tmp_path_factory):
    import getpass, tempfile
    assert tempfile.gettempdir() == os.environ["TMPDIR"]
    assert str(tmp_path).startswith(os.environ["TMPDIR"])
    assert f"pytest-of-{getpass.getuser()}" in str(tmp_path)
    assert tmp_path_factory.mktemp("more").is_dir()

def test_the_folder_is_changed(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("NAME", "value")
    assert (os.getcwd(), os.environ["NAME"]) == (str(tmp_path), "value")

def test_links_are_made(tmp_path):
    (tmp_path / "file").write_text("text")
    os.symlink(tmp_path / "file", tmp_path / "link")
    os.link(tmp_path / "file", tmp_path / "other")
    assert (tmp_path / "link").read_text() == (tmp_path / "other").read_text() == "text"

def test_archives_are_packed_and_unpacked(tmp_path):
    import shutil, zipfile
    with zipfile.ZipFile(tmp_path / "z", "w") as archive:
        archive.writestr("a/b", "c")
    with zipfile.ZipFile(tmp_path / "z") as archive:
        archive.extractall(tmp_path / "out")
    assert (tmp_path / "out/a/b").read_text() == "c"

@pytest.mark.parametrize("mode", ["delete", "wal", "truncate"])
def test_rows_are_kept_in_a_file_and_in_memory(tmp_path, mode):
    import sqlite3
    for place in (tmp_path / "rows.db", ":memory:"):
        with sqlite3.connect(place) as one:
            one.execute(f"pragma journal_mode={mode}")
            one.execute("create table t (a)")
            one.execute("insert into t values (5)")
            assert one.execute("select a from t").fetchall() == [(5,)]
        one.close()
    one, other = (sqlite3.connect(tmp_path / "rows.db", timeout=0) for _ in range(2))
    one.execute("begin exclusive")
    with pytest.raises(sqlite3.OperationalError, match="locked"):
        other.execute("begin exclusive")
    one.rollback()
    other.execute("begin exclusive")
    one.close()
    other.close()

def test_a_shelf_keeps_values(tmp_path):
    import shelve
    with shelve.open(str(tmp_path / "shelf")) as shelf:
        shelf["a"] = [1]
    with shelve.open(str(tmp_path / "shelf")) as shelf:
        assert shelf["a"] == [1]

def test_a_lock_on_its_own_file_keeps_another_opening_out(tmp_path):
    import fcntl
    with open(tmp_path / "lock", "w") as one, open(tmp_path / "lock", "w") as other:
        fcntl.flock(one, fcntl.LOCK_EX)
        with pytest.raises(BlockingIOError):
            fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)
        fcntl.flock(one, fcntl.LOCK_UN)
        fcntl.flock(other, fcntl.LOCK_SH | fcntl.LOCK_NB)
        fcntl.lockf(one, fcntl.LOCK_EX)
        fcntl.lockf(one, fcntl.LOCK_UN)
    with open(tmp_path / "lock") as again:
        fcntl.flock(again, fcntl.LOCK_EX | fcntl.LOCK_NB)

def test_logs_are_written_and_caught(tmp_path, caplog):
    import logging, logging.handlers
    handler = logging.handlers.RotatingFileHandler(tmp_path / "log", maxBytes=10, backupCount=2)
    log = logging.getLogger("theirs")
    log.addHandler(handler)
    log.warning("hello")
    log.warning("again")
    log.removeHandler(handler)
    handler.close()
    assert "hello" in caplog.text and (tmp_path / "log.1").exists()

def test_threads_share_a_counter():
    import threading
    count, lock = [0], threading.Lock()
    def add():
        for _ in range(100):
            with lock:
                count[0] += 1
    threads = [threading.Thread(target=add) for _ in range(8)]
    for thread in threads: thread.start()
    for thread in threads: thread.join()
    assert count == [800]

def test_a_loop_runs():
    import asyncio, socket
    async def main():
        one, other = socket.socketpair()
        reader, writer = await asyncio.open_connection(sock=one)
        other.sendall(b"line\n")
        line = await reader.readline()
        writer.close()
        other.close()
        return line, await asyncio.to_thread(abs, -1)
    assert asyncio.run(main()) == (b"line\n", 1)

def test_alarms_interrupt():
    import signal, time
    class Late(Exception): pass
    def stop(number, frame): raise Late
    before = signal.signal(signal.SIGALRM, stop)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.02)
        with pytest.raises(Late):
            while True: pass
        assert signal.alarm(5) == 0 and signal.alarm(0) == 5
    finally:
        signal.signal(signal.SIGALRM, before)

def test_objects_of_multiprocessing_are_made_without_processes():
    import multiprocessing
    from multiprocessing.pool import ThreadPool
    with multiprocessing.Lock() as held, multiprocessing.RLock(): assert held
    semaphore = multiprocessing.BoundedSemaphore(1)
    assert semaphore.acquire() and not semaphore.acquire(timeout=0.01)
    semaphore.release()
    with pytest.raises(ValueError): semaphore.release()
    event = multiprocessing.Event()
    event.set()
    assert event.wait(1)
    queue = multiprocessing.Queue()
    queue.put([1])
    assert queue.get(timeout=5) == [1]
    queue.close()
    queue.join_thread()
    value, array = multiprocessing.Value("i", 3), multiprocessing.Array("d", [1, 2])
    with value.get_lock(): value.value += 1
    assert (value.value, array[:]) == (4, [1.0, 2.0])
    one, other = multiprocessing.Pipe()
    one.send("x")
    assert other.recv() == "x"
    with ThreadPool(2) as pool: assert pool.map(abs, [-1, -2]) == [1, 2]
    import concurrent.futures.process

def test_a_module_is_written_and_reloaded(monkeypatch):
    import importlib, inspect, py_compile
    with open("written.py", "w") as file: file.write("def value(): return 1\n")
    monkeypatch.syspath_prepend(os.getcwd())
    import written
    assert inspect.getsource(written.value) == "def value(): return 1\n"
    with open("written.py", "w") as file: file.write("def value(): return 22\n")
    importlib.reload(written)
    assert written.value() == 22
    assert os.path.exists(py_compile.compile("written.py"))

def test_the_environment_is_usual():
    assert {"HOME", "USER", "LOGNAME", "LANG", "PATH", "TMPDIR"} <= {*os.environ}
    assert os.path.expanduser("~") == os.environ["HOME"]
    for name in ("HOME", "TMPDIR"): assert os.access(os.environ[name], os.W_OK)

def test_the_machine_is_asked_after():
    import ctypes, gc, locale, platform, resource, shutil, socket, time, uuid, weakref
    assert platform.system() == "Linux" and platform.platform() and platform.uname().release
    assert socket.gethostname() and uuid.getnode() and uuid.uuid1().version == 1
    assert os.cpu_count() and os.sched_getaffinity(0) == os.sched_getaffinity(os.getpid())
    assert resource.getrusage(resource.RUSAGE_SELF).ru_utime >= 0
    assert locale.setlocale(locale.LC_ALL, "C") == "C" and locale.getpreferredencoding().lower() == "utf-8"
    assert shutil.disk_usage(".").free and shutil.get_terminal_size().columns
    assert os.getpgid(0) == os.getpgrp() and os.getsid(0) >= 0 and os.getpriority(0, 0) >= 0
    assert time.clock_gettime(time.CLOCK_MONOTONIC) > 0 and time.process_time() >= 0
    class Thing: pass
    thing = Thing()
    gone = weakref.ref(thing)
    assert sys.getrefcount(thing) == 2
    del thing
    gc.collect()
    assert gone() is None

def test_a_thread_asks_after_its_own_clock():
    import threading, time
    seen = []
    def ask(): seen.append(time.clock_gettime(time.pthread_getcpuclockid(threading.get_ident())))
    thread = threading.Thread(target=ask)
    thread.start()
    thread.join()
    assert seen[0] >= 0

def test_files_are_mapped_and_random(tmp_path):
    import mmap
    (tmp_path / "file").write_bytes(b"abcd")
    with open(tmp_path / "file", "r+b") as file, mmap.mmap(file.fileno(), 0) as memory:
        memory[0] = 65
    assert (tmp_path / "file").read_bytes() == b"Abcd"
    with open(os.devnull, "w") as file: file.write("x")
    with open("/dev/urandom", "rb") as file: assert len(file.read(4)) == 4
