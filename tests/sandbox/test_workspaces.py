"""Rooms are private, and nothing of them stays."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import pytest

from sandbox.inside.removal import remove
from sandbox.types import SandboxUnavailable
from sandbox.workspaces import _link_tree, _make_home_folder


def test_a_folder_is_removed_without_following_its_links(tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    kept.mkdir()
    (kept / "file").write_text("here")
    folder = tmp_path / "room"
    (folder / "inner").mkdir(parents=True)
    (folder / "link").symlink_to(kept)
    (folder / "inner" / "link").symlink_to(kept)

    assert remove(str(folder))

    assert not folder.exists()
    assert (kept / "file").read_text() == "here"


def test_a_folder_nested_deeper_than_any_path_is_removed(tmp_path: Path) -> None:
    folder = tmp_path / "room"
    folder.mkdir()
    here = os.open(folder, os.O_RDONLY)
    for _ in range(1200):
        os.mkdir("d" * 9, dir_fd=here)
        inner = os.open("d" * 9, os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = inner
    os.close(here)

    assert remove(str(folder))

    assert not folder.exists()


def test_a_full_folder_is_left_to_be_removed_elsewhere(tmp_path: Path) -> None:
    for number in range(20):
        (tmp_path / str(number)).touch()

    assert remove(str(tmp_path), most=10) is False
    assert remove(str(tmp_path)) is True


def test_removing_what_is_gone_is_done(tmp_path: Path) -> None:
    assert remove(str(tmp_path / "never"))


@pytest.mark.parametrize("place", ["others may write", "a link"])
def test_what_is_not_ours_alone_is_no_home(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    home = tmp_path / f"code-jails-{os.geteuid()}"
    if place == "a link":
        (tmp_path / "else").mkdir()
        home.symlink_to(tmp_path / "else")
    else:
        home.mkdir()
        home.chmod(0o777)

    with pytest.raises(SandboxUnavailable, match="writable for other users"):
        _make_home_folder(for_spare_users=False)


def test_an_image_of_a_folder_is_read_only_and_survives_cycles(tmp_path: Path) -> None:
    source = tmp_path / "source"
    (source / "inner").mkdir(parents=True)
    (source / "inner" / "back").symlink_to(source)
    (source / "gone").symlink_to(tmp_path / "nothing")
    (source / "left_out").mkdir()
    for name, mode in (("plain", 0o644), ("loose", 0o666), ("inner/closed", 0o600)):
        (source / name).write_text(name)
        (source / name).chmod(mode)
    image = tmp_path / "image"

    _link_tree(str(source), str(image), left_out=("left_*",))

    modes = {
        str(path.relative_to(image)): oct(path.stat().st_mode & 0o777) for path in image.rglob("*")
    }
    assert modes == {
        "plain": "0o644", "loose": "0o644", "inner": "0o755", "inner/closed": "0o644",
    }
    assert (source / "loose").stat().st_mode & 0o777 == 0o666
