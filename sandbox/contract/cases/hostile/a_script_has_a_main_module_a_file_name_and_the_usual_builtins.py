import os, sys, __main__
print(__name__, os.path.basename(__file__), len(sys.argv), __main__.os is os)
print(os.path.samefile(os.getcwd(), os.environ["HOME"]), sorted(os.listdir()))
exit(3)
