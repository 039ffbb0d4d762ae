import os, time
count = 0
try:
    while count < 5000:
        if os.fork() == 0:
            time.sleep(60)
            os._exit(0)
        count += 1
except OSError:
    pass
os.write(1, b"%d\n" % count)
os._exit(0)
