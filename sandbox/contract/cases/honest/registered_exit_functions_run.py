import atexit, threading, time
said = threading.Event()
def work():
    said.wait()
    time.sleep(0.05)
    print("thread")
atexit.register(print, "at exit")
threading.Thread(target=work).start()
print("main")
said.set()
