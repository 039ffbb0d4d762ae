"""Puts a after program back, whole or not at all, with a backup; `NotWritten` where it cannot."""

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
    """Nothing was written; the message is for people."""


def write_back(path: Path, before: bytes, after: bytes, folder: Path | None = None) -> Path:
    """Replaces a file by `after` and returns its backup, in `folder` or beside it. Refuses one
    that is not as `before`; links and permissions stay. Raises: NotWritten."""
    target = path.resolve()
    _refuse_read_only(path, target)
    try:
        now = target.read_bytes()
    except OSError as error:
        raise NotWritten(f"{path} cannot be read any more ({error.strerror}); nothing was "
                      "written") from error
    if now != before:
        raise NotWritten(
            f"{path} changed on disk while it was being after; nothing was written. "
            "Run the command again."
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
    """A file, what it locks when it was read, what it is to hold, and where that is kept."""

    path: Path
    before: bytes
    after: bytes
    backups: Path
    within: Path
    """Nothing is written outside of this folder."""


def write_all_back(changes: Sequence[Change]) -> dict[Path, Path]:
    """Replaces all of the files or none, and returns their backups. Raises: NotWritten."""
    with contextlib.ExitStack() as locks:
        for folder in dict.fromkeys(one.within for one in changes):
            locks.enter_context(_locked(folder))
        return _write_all(changes)


def _write_all(changes: Sequence[Change]) -> dict[Path, Path]:
    done: dict[Path, Path] = {}
    for one in changes:
        if one.path.resolve() != one.within.resolve() / one.path.relative_to(one.within):
            raise NotWritten(
                f"{one.path} is reached by a link; nothing was written. Apply the patch by hand."
            )
    try:
        for one in changes:
            done[one.path] = write_back(one.path, one.before, one.after, one.backups)
    except NotWritten as error:
        _restore(changes[: len(done)], done, error)
        raise
    return done


def _restore(changes: Sequence[Change], backups: Mapping[Path, Path], why: NotWritten) -> None:
    """Restores files; raises `NotWritten` with the backups of those that cannot be."""
    left = []
    for one in changes:
        try:
            _replace(one.path.resolve(), one.before)
        except OSError:
            left.append(f"{one.path} holds the repair, and what it was is in {backups[one.path]}")
    if left:
        raise NotWritten(f"{why} Only a part of the repair was written: {'; '.join(left)}") from why


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
    """Writes a file that must not be there yet, unless `overwrite` allows it."""
    try:
        if overwrite and path.exists():
            _refuse_read_only(path, path.resolve())
            _replace(path.resolve(), text)
        else:
            _write_whole(path, text)
    except FileExistsError as error:
        raise NotWritten(f"{path} exists; add --force to overwrite it") from error
    except OSError as error:
        raise NotWritten(f"{path} cannot be written: {error.strerror}") from error


def _write_whole(path: Path, text: bytes) -> None:
    """Writes a new file; a partial one is removed."""
    with path.open("xb") as file:
        try:
            file.write(text)
            file.flush()
        except OSError:
            path.unlink()
            raise


def write_all_new(folder: Path, texts: Mapping[str, bytes], *, overwrite: bool = False) -> None:
    """Writes files below a folder, none of which may be there yet unless `overwrite` allows it."""
    if not overwrite:
        there = next((path for path in texts if (folder / path).exists()), "")
        if there:
            raise NotWritten(f"{folder / there} exists; add --force to overwrite it")
    for path, text in texts.items():
        target = folder / path
        if target.resolve() != folder.resolve() / path:
            raise NotWritten(f"{target} is reached by a link; it was not written")
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise NotWritten(f"{target.parent} cannot be made: {error.strerror}") from error
        write_new(target, text, overwrite=overwrite)


def _refuse_read_only(path: Path, target: Path) -> None:
    # The system lets root write anything, and a rename ask only the folder; a person who took
    # away the write permission meant it.
    try:
        writable = os.access(target, os.W_OK) and target.stat().st_mode & WRITE_BITS
    except OSError as error:
        raise NotWritten(f"{path} cannot be reached: {error.strerror}") from error
    if not writable:
        raise NotWritten(
            f"{path} is read-only; nothing was written. Make it writable and try again."
        )


def _back_up(target: Path, text: bytes, folder: Path) -> Path:
    """Writes the first free of NAME.heal-backup, NAME.heal-backup.1, …"""
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
    """Replaces the content in one rename."""
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
