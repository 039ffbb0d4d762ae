import ctypes, mmap
with mmap.mmap(-1, 8192) as memory:
    memory[:5] = b"hello"
    print(memory.find(b"lo"), len(memory), memory.read(5))
library = ctypes.CDLL(None)
library.strlen.restype = ctypes.c_size_t
print(library.strlen(b"four"), library.abs(-3), ctypes.sizeof(ctypes.c_long))
class Point(ctypes.Structure):
    _fields_ = [("x", ctypes.c_int), ("y", ctypes.c_int)]
ordered = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(ctypes.c_int), ctypes.POINTER(ctypes.c_int))
numbers = (ctypes.c_int * 4)(3, 1, 4, 2)
library.qsort(numbers, 4, 4, ordered(lambda a, b: a[0] - b[0]))
print([*numbers], Point(1, 2).y, ctypes.string_at(ctypes.create_string_buffer(b"ab")))
