import sys
print(input(), ascii(sys.stdin.read()))
try:
    input()
except EOFError:
    print("end")
