import fileinput, sys
print(sys.stdin.buffer.readline(), sys.stdin.readline().strip(), sys.stdin.isatty())
print(sum(int(line) for line in fileinput.input()))
