import os, tempfile
with tempfile.TemporaryDirectory() as folder:
    with tempfile.NamedTemporaryFile("w+", dir=folder) as file:
        file.write("x")
        file.flush()
        print(os.path.getsize(file.name))
print(os.path.exists(folder))
with tempfile.TemporaryFile() as file, tempfile.SpooledTemporaryFile() as spooled:
    file.write(b"abc")
    spooled.write(b"abc")
    file.seek(0)
    print(file.read(), tempfile.gettempdir() == os.environ["TMPDIR"])
