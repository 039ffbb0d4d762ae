import os, sys
print("a", "b", sep="-", end="!\n")
sys.stdout.write("text\n")
sys.stdout.flush()
sys.stdout.buffer.write(b"bytes\n")
sys.stdout.buffer.flush()
os.write(1, b"raw\n")
print("x" * 100_000 == "", file=sys.stdout)
