import ctypes, os
pid, folder = int(input()), input()
os.kill(os.getpid(), 0)
try:
    os.kill(pid, 0)
    print("signalled")
except PermissionError: print("refused")
try: print(os.listdir(folder))
except PermissionError: print("refused")
print(ctypes.CDLL(None, use_errno=True).ptrace(16, pid, 0, 0))
