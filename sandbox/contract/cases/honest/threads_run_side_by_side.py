import threading
seen = []
threads = [threading.Thread(target=seen.append, args=(n,)) for n in range(20)]
for thread in threads: thread.start()
for thread in threads: thread.join()
print(sorted(seen) == [*range(20)])
