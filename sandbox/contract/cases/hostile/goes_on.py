"""Writes to a file for ever."""
import sys, time
while True:
    open(sys.argv[1], "a").write("x")
    time.sleep(0.01)
