kept = []
try:
    while True: kept.append(open("/dev/null"))
except OSError as error:
    print(error.errno, len(kept) <= 64)
