import os, platform, resource, sys, sysconfig
print(sys.version_info >= (3, 11), platform.system() in ("Linux", "Darwin"), os.cpu_count() > 0)
print(os.getpid() > 0, os.getcwd() == os.environ["HOME"], sys.getsizeof(1) > 0, os.sep)
print(sys.stdin.encoding, sys.stdout.encoding, sys.getfilesystemencoding(), os.getenv("NONE", "-"))
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss > 0, "re" in sys.stdlib_module_names)
