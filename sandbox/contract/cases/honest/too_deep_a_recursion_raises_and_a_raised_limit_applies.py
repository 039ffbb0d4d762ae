import sys
def depth(n):
    return n and 1 + depth(n - 1)
print(depth(900))
try:
    depth(10**6)
except RecursionError:
    print("stopped")
sys.setrecursionlimit(20_000)
print(depth(10_000))
