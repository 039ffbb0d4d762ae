import bz2, gzip, io, lzma, tarfile, zipfile, zlib
text = b"again and " * 100
for one in (bz2, gzip, lzma, zlib):
    packed = one.compress(text)
    print(one.__name__, len(packed) < 150, one.decompress(packed) == text)
store = io.BytesIO()
with zipfile.ZipFile(store, "w", zipfile.ZIP_DEFLATED) as archive: archive.writestr("a/b", text)
with zipfile.ZipFile(store) as archive: print(archive.namelist(), archive.read("a/b") == text)
store = io.BytesIO()
with tarfile.open(fileobj=store, mode="w:gz") as archive:
    member = tarfile.TarInfo("c")
    member.size = len(text)
    archive.addfile(member, io.BytesIO(text))
store.seek(0)
with tarfile.open(fileobj=store) as archive: print(archive.getnames())
