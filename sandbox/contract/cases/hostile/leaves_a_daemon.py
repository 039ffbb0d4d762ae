import os, sys, time
sign = sys.argv[1]
if os.fork():
    while not os.path.exists(sign): time.sleep(0.01)
    print("away", flush=True)
    os._exit(0)
os.setsid()
if os.fork():
    os._exit(0)
while True:
    with open(sign, "a") as file: file.write("x")
    time.sleep(0.01)
