import os, select, selectors
reader, writer = os.pipe()
with selectors.DefaultSelector() as selector:
    selector.register(reader, selectors.EVENT_READ, "data")
    print(selector.select(0))
    os.write(writer, b"abc")
    print([key.data for key, _ in selector.select(1)], select.select([reader], [], [], 1)[0] != [])
os.close(writer)
with os.fdopen(reader, "rb") as file: print(file.read())
poll = select.poll()
