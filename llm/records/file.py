"""A file of whole lines, for several writers.

A line is written at once and whole, under a lock that other threads and processes honour. What a
kill leaves of one is recognised: a reader is told, and the next writer cuts it off and says so.
"""

from __future__ import annotations

import logging
import os
import stat
from pathlib import Path

from llm.errors import LlmError

log = logging.getLogger("llm")


class BadRecord(LlmError):
    """A record that cannot be read or written; the message says which and why."""


def writable(path: Path) -> None:
    """Raises `BadRecord` where no line can be added; the file is made where there is none."""
    append(path, b"")


def append(path: Path, line: bytes) -> None:
    """Adds a line whole or not at all, behind whole lines only."""
    try:
        import fcntl
    except ImportError as error:
        raise BadRecord("a record needs locks on files, which this system has not") from error
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise BadRecord(f"a record is a plain file, and {path} is none")
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            os.fchmod(descriptor, 0o600)  # a file that was there may be open to others
            size = _whole(descriptor, path)
            if os.write(descriptor, line) != len(line):
                os.ftruncate(descriptor, size)
                raise BadRecord(f"the record {path} cannot be written: the disk is full")
        finally:
            os.close(descriptor)
    except OSError as error:
        raise BadRecord(f"the record {path} cannot be written: {error.strerror}") from error


def _whole(descriptor: int, path: Path) -> int:
    """The file's size, once what a kill left of its last line is cut off."""
    size = os.fstat(descriptor).st_size
    if size == 0 or os.pread(descriptor, 1, size - 1) == b"\n":
        return size
    end = size
    while end:
        start = max(0, end - 65_536)
        found = os.pread(descriptor, end - start, start).rfind(b"\n")
        if found >= 0:
            end = start + found + 1
            break
        end = start
    log.warning("the record %s ended within a line; %d bytes were cut off", path, size - end)
    os.ftruncate(descriptor, end)
    return end


def read(path: Path) -> tuple[list[str], str]:
    """The whole lines, and what there is to tell of one that is not; raises `BadRecord`."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeError) as error:
        raise BadRecord(f"the record {path} cannot be read: {error}") from error
    *lines, rest = text.split("\n")
    if not rest:
        return lines, ""
    notice = (
        f"the record {path} ends within line {len(lines) + 1}: its writer was killed, and the "
        "call of that line is missing"
    )
    log.warning("%s", notice)
    return lines, notice
