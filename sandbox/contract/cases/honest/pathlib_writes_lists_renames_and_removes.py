from pathlib import Path
folder = Path("a") / "b"
folder.mkdir(parents=True)
file = folder / "c.txt"
file.write_text("one\ntwo\n", encoding="utf-8")
with file.open("a") as more: more.write("three\n")
print(file.read_text().split(), file.stat().st_size, file.suffix, file.resolve().name)
moved = file.rename(folder / "d.txt")
print([str(path) for path in sorted(Path("a").rglob("*"))], Path.home() == Path.cwd())
moved.unlink()
folder.rmdir()
print(folder.exists(), Path("a").is_dir())
