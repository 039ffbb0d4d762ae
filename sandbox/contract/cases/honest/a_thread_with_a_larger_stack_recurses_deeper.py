import sys, threading
sys.setrecursionlimit(60_000)
threading.stack_size(64 << 20)
def depth(n):
    return n and 1 + depth(n - 1)
thread = threading.Thread(target=lambda: print(depth(50_000)))
thread.start()
thread.join()
