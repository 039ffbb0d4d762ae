import ctypes, os, sys
name = sys.argv[1]
print(os.environ.get(name), os.environ.get("LANG"))
print(ctypes.CDLL(None).getenv(name.encode()))
