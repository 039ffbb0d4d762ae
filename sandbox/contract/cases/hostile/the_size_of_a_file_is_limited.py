try:
    with open("big", "wb", 0) as file:
        while True: file.write(bytes(1_000_000))
except OSError as error:
    print(error.errno)
