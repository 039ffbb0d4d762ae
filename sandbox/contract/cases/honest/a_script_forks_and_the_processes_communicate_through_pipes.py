import os, signal
reader, writer = os.pipe()
child = os.fork()
if child == 0:
    os.write(writer, b"from the child")
    os._exit(3)
print(os.read(reader, 99), os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
child = os.fork()
if child == 0: signal.pause()
os.kill(child, signal.SIGTERM)
print(os.waitstatus_to_exitcode(os.wait()[1]), os.getppid() != os.getpid())
