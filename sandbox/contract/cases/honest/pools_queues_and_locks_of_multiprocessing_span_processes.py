import multiprocessing, theirs
from concurrent.futures import ProcessPoolExecutor
from multiprocessing.shared_memory import SharedMemory
def put(queue, lock, value):
    with lock: value.value += 1
    queue.put("put")
if __name__ == "__main__":
    with multiprocessing.Pool(2) as pool: print(pool.map(abs, [-1, -2, 3]))
    with ProcessPoolExecutor(2) as pool: print([*pool.map(theirs.double, [1, 2])])
    queue, lock, value = multiprocessing.Queue(), multiprocessing.Lock(), multiprocessing.Value("i")
    process = multiprocessing.Process(target=put, args=(queue, lock, value))
    process.start()
    print(queue.get(timeout=10), process.join(10), process.exitcode, value.value)
    spawned = multiprocessing.get_context("spawn")
    lock = spawned.Lock()
    process = spawned.Process(target=theirs.hold, args=(lock,))
    process.start()
    print(process.join(20), process.exitcode)
    memory = SharedMemory(create=True, size=8)
    memory.buf[0] = 7
    print(memory.buf[0])
    memory.close()
    memory.unlink()
