import os
open("/proc/self/cmdline", "rb").read()
for name in ("environ", "mem", "maps"):
    try:
        with open(f"/proc/{os.getppid()}/{name}", "rb") as file:
            print("opened", name)
    except PermissionError:
        print("refused")
