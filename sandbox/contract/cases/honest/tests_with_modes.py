import os

def test_modes_and_times_are_changed(tmp_path):
    file = tmp_path / "file"
    file.write_text("x")
    file.chmod(0o444)
    os.utime(file, (5, 6))
    assert (file.stat().st_mode & 0o777, file.stat().st_mtime) == (0o444, 6)
    file.chmod(0o644)
    file.touch()
    before = os.umask(0o077)
    (tmp_path / "closed").write_text("x")
    os.umask(before)
    assert (tmp_path / "closed").stat().st_mode & 0o777 == 0o600

def test_trees_are_copied_with_them(tmp_path):
    import shutil, tarfile
    (tmp_path / "from").mkdir()
    (tmp_path / "from/file").write_text("x")
    (tmp_path / "from/file").chmod(0o640)
    shutil.copytree(tmp_path / "from", tmp_path / "to")
    assert (tmp_path / "to/file").stat().st_mode & 0o777 == 0o640
    with tarfile.open(tmp_path / "tar", "w") as archive: archive.add(tmp_path / "to", "to")
    with tarfile.open(tmp_path / "tar") as archive: archive.extractall(tmp_path / "out")
    assert (tmp_path / "out/to/file").read_text() == "x"
