import os
os.closerange(0, 10_000)
while True: pass
