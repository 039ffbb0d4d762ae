import threading
barrier = threading.Barrier(40, timeout=20)
threads = [threading.Thread(target=barrier.wait) for _ in range(40)]
for thread in threads: thread.start()
for thread in threads: thread.join()
print(barrier.broken)
