kept = []
try:
    while True: kept.append(bytearray(50_000_000))
except MemoryError:
    print("stopped", 50 <= len(kept) * 50 <= 400)
