"""Writes healed programs atomically, with backups. Raises `NotWritten` if that is impossible."""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import stat
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

WRITE_BITS = stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH


class NotWritten(Exception):
    """A file could not be written; the message is shown to the user."""


def write_back(path: Path, before: bytes, after: bytes, folder: Path | None = None) -> Path:
    """Replaces a file and returns its backup. Symbolic links and permissions are kept.

    Args:
        before: The expected content; another content is refused.
        after: The new content.
        folder: The folder of the backup; default: that of the file.

    Raises:
        NotWritten: The file was not changed.
    """
    target = path.resolve()
    _refuse_read_only(path, target)
    try:
        now = target.read_bytes()
    except OSError as error:
        raise NotWritten(
            f"{path} can no longer be read ({error.strerror}). Nothing was written."
        ) from error
    if now != before:
        raise NotWritten(
            f"{path} changed on disk during the run. Nothing was written. Run the command again."
        )
    try:
        backup = _back_up(target, before, folder or target.parent)
        _replace(target, after)
    except OSError as error:
        raise NotWritten(
            f"{path} was not changed: {error.strerror} ({error.filename or target.parent})"
        ) from error
    return backup


@dataclass(frozen=True)
class Change:
    """A file with its content before and after the repair, and the folder of its backup."""

    path: Path
    before: bytes
    after: bytes
    backups: Path
    within: Path
    """Nothing is written outside of this folder."""


def write_all_back(changes: Sequence[Change]) -> dict[Path, Path]:
    """Replaces all files or none, and returns the backup of each. Raises `NotWritten`."""
    with contextlib.ExitStack() as locks:
        for folder in dict.fromkeys(one.within for one in changes):
            locks.enter_context(_locked(folder))
        return _write_all(changes)


def _write_all(changes: Sequence[Change]) -> dict[Path, Path]:
    done: dict[Path, Path] = {}
    for one in changes:
        if one.path.resolve() != one.within.resolve() / one.path.relative_to(one.within):
            raise NotWritten(
                f"{one.path} is reached through a symbolic link. Nothing was written. Apply the "
                "patch by hand."
            )
    try:
        for one in changes:
            done[one.path] = write_back(one.path, one.before, one.after, one.backups)
    except NotWritten as error:
        _restore(changes[: len(done)], done, error)
        raise
    return done


def _restore(changes: Sequence[Change], backups: Mapping[Path, Path], why: NotWritten) -> None:
    """Restores files. Raises `NotWritten` with the backups of those that cannot be restored."""
    left = []
    for one in changes:
        try:
            _replace(one.path.resolve(), one.before)
        except OSError:
            left.append(f"{one.path} (previous version: {backups[one.path]})")
    if left:
        raise NotWritten(f"{why} Some files were changed. Restore them: {'; '.join(left)}") from why


@contextlib.contextmanager
def _locked(folder: Path) -> Iterator[None]:
    try:
        handle = os.open(folder, os.O_RDONLY)
    except OSError as error:
        raise NotWritten(f"{folder} cannot be reached: {error.strerror}") from error
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def write_new(path: Path, text: bytes, *, overwrite: bool = False) -> None:
    """Writes a file that must not exist yet, unless `overwrite` is set. Raises `NotWritten`."""
    try:
        if overwrite and path.exists():
            _refuse_read_only(path, path.resolve())
            _replace(path.resolve(), text)
        else:
            _write_whole(path, text)
    except FileExistsError as error:
        raise NotWritten(f"{path} exists. Add --force to overwrite it.") from error
    except OSError as error:
        raise NotWritten(f"{path} cannot be written: {error.strerror}") from error


def _write_whole(path: Path, text: bytes) -> None:
    """Writes a new file, and removes it if that fails."""
    with path.open("xb") as file:
        try:
            file.write(text)
            file.flush()
        except OSError:
            path.unlink()
            raise


def write_all_new(folder: Path, texts: Mapping[str, bytes], *, overwrite: bool = False) -> None:
    """Writes files into a folder; without `overwrite` none may exist yet. Raises `NotWritten`."""
    if not overwrite:
        existing = next((path for path in texts if (folder / path).exists()), "")
        if existing:
            raise NotWritten(f"{folder / existing} exists. Add --force to overwrite it.")
    for path, text in texts.items():
        target = folder / path
        if target.resolve() != folder.resolve() / path:
            raise NotWritten(f"{target} is behind a symbolic link. Choose a folder without links.")
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise NotWritten(f"{target.parent} cannot be created: {error.strerror}") from error
        write_new(target, text, overwrite=overwrite)


def _refuse_read_only(path: Path, target: Path) -> None:
    # Root may write any file, and a rename needs only permission for the folder, but a user who
    # removed the write permission wants the file unchanged.
    try:
        writable = os.access(target, os.W_OK) and target.stat().st_mode & WRITE_BITS
    except OSError as error:
        raise NotWritten(f"{path} cannot be reached: {error.strerror}") from error
    if not writable:
        raise NotWritten(
            f"{path} is read-only. Nothing was written. Make it writable and try again."
        )


def _back_up(target: Path, text: bytes, folder: Path) -> Path:
    """Writes the first of NAME.heal-backup, NAME.heal-backup.1, … that does not exist yet."""
    folder.mkdir(parents=True, exist_ok=True)
    first = folder / f"{target.name}.heal-backup"
    backup, number = first, 0
    while True:
        try:
            _write_whole(backup, text)
        except FileExistsError:
            number += 1
            backup = first.with_name(f"{first.name}.{number}")
        else:
            shutil.copystat(target, backup)
            return backup


def _replace(target: Path, text: bytes) -> None:
    before = target.stat()
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(name, stat.S_IMODE(before.st_mode))
        if hasattr(os, "chown") and os.geteuid() == 0:
            os.chown(name, before.st_uid, before.st_gid)
        os.replace(name, target)
    except BaseException:
        os.unlink(name)
        raise
