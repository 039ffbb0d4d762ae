import time, timeit, sched
start, began = time.perf_counter(), time.monotonic()
time.sleep(0.02)
print(0.02 <= time.perf_counter() - start < 5, time.monotonic() > began, time.time_ns() > 10**18)
print(timeit.timeit("1 + 1", number=10) < 1, time.process_time() >= 0, time.thread_time() >= 0)
plan = sched.scheduler(time.monotonic, time.sleep)
plan.enter(0.01, 1, print, ("planned",))
plan.run()
