import queue, threading
jobs, done = queue.Queue(2), queue.PriorityQueue()
def work():
    while (job := jobs.get()) is not None:
        done.put(-job)
worker = threading.Thread(target=work)
worker.start()
for job in (1, 3, 2, None): jobs.put(job)
worker.join(10)
condition = threading.Condition()
with condition: print(condition.wait(0.01), [done.get() for _ in range(3)])
local = threading.local()
local.value = 1
print(local.value, threading.Semaphore(2).acquire(timeout=1), threading.current_thread().name)
