import sys
try:
    print(open(sys.argv[1]).read())
except OSError:
    print("refused")
