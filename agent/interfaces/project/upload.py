"""Submitted files or a zip, unpacked into an empty folder: nothing leaves it, is linked, exceeds
the limits, or could run outside of the jail."""

from __future__ import annotations

import io
import stat
import struct
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from agent.target.errors import BadInput
from agent.target.interpreter import ENVIRONMENTS
from agent.target.repository.layout import TEST_FILES
from agent.target.repository.tree import is_collected

MAX_UPLOAD = 2_000_000  # bytes
MAX_BYTES = 8_000_000  # bytes, unpacked
MAX_FILES = 500
LONGEST_PATH = 200
_LEFT_OUT = frozenset({"__pycache__", "__MACOSX", "node_modules", "site-packages", *ENVIRONMENTS})
_CHUNK = 65_536
_SMALLER = "Send the modules and tests that the failure needs, or heal it where it lies: heal run ."


@dataclass(frozen=True)
class UploadedFile:
    """A file by the name that its sender gives it."""

    name: str
    content: bytes


@dataclass(frozen=True)
class Upload:
    """Files by their paths from the top of what was sent."""

    files: tuple[UploadedFile, ...]
    notices: tuple[str, ...] = ()

    @property
    def program(self) -> UploadedFile | None:
        """The one module that they are, with one file of tests at most; `None` for a project."""
        tests, modules = self._split()
        alone = len(modules) == 1 and len(tests) < 2 and len(self.files) == 1 + len(tests)
        return modules[0] if alone and "/" not in modules[0].name else None

    @property
    def tests(self) -> UploadedFile | None:
        """The one file of tests, where there is one."""
        tests, _ = self._split()
        return tests[0] if len(tests) == 1 else None

    def _split(self) -> tuple[list[UploadedFile], list[UploadedFile]]:
        python = [one for one in self.files if one.name.endswith(".py")]
        tests = [one for one in python if is_collected(one.name, TEST_FILES)]
        return tests, [one for one in python if one not in tests]

    def write_to(self, folder: Path) -> None:
        """Writes them into an empty folder."""
        for one in self.files:
            place = folder / one.name
            place.parent.mkdir(parents=True, exist_ok=True)
            with place.open("xb") as file:
                file.write(one.content)


def read_upload(files: Sequence[UploadedFile]) -> Upload:
    """What was sent, a zip unpacked; raises `BadInput` saying what is refused and what to do."""
    if sum(len(one.content) for one in files) > MAX_UPLOAD:
        raise BadInput(f"What was sent is larger than {MAX_UPLOAD // 1_000_000} MB. {_SMALLER}.")
    if len(files) > MAX_FILES:
        many = f"These are {len(files):,} files, and {MAX_FILES} are the most."
        raise BadInput(f"{many} {_SMALLER}.")
    zips = [one for one in files if one.name.lower().endswith(".zip")]
    if zips and len(files) > 1:
        raise BadInput("Send one zip, or files, and not both at once.")
    found = [*_unpacked(zips[0])] if zips else [*files]
    wanted, left = [], 0
    for one in found:
        path = _safe(one.name)
        if _is_left_out(path):
            left += 1
        else:
            wanted.append(UploadedFile(path.as_posix(), one.content))
    wanted = _from_the_top(wanted)
    counts = Counter(one.name for one in wanted)
    twice = next((name for name, count in counts.items() if count > 1), "")
    if twice:
        raise BadInput(f"{twice} is there twice. Send each file once.")
    clash = next((name for name in counts if any(
        above.as_posix() in counts for above in PurePosixPath(name).parents
    )), "")
    if clash:
        raise BadInput(f"{clash} lies in what is a file. Send a folder or a file of that name.")
    if not any(name.endswith(".py") for name in counts):
        raise BadInput("There is no Python file in what was sent. Send .py files, or a zip.")
    said = f"{left} files were left out: caches, environments, hidden folders." if left else ""
    return Upload(tuple(wanted), tuple(filter(None, [said])))


def _unpacked(sent: UploadedFile) -> Iterator[UploadedFile]:
    """The files of a zip; its stated sizes are not trusted."""
    total = 0
    try:
        with zipfile.ZipFile(io.BytesIO(sent.content)) as archive:
            entries = archive.infolist()
            if len(entries) > 4 * MAX_FILES:
                raise BadInput(f"{sent.name} has {len(entries):,} entries. {_SMALLER}.")
            count = 0
            for entry in entries:
                kind = stat.S_IFMT(entry.external_attr >> 16)
                if kind not in (0, stat.S_IFREG, stat.S_IFDIR):
                    raise BadInput(
                        f"{_shown(entry.filename)} in {sent.name} is a link or a device. Put the "
                        "file itself in its place."
                    )
                if entry.is_dir():
                    continue
                if entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
                    raise ValueError("packed in an unusual way")  # the others may take any memory
                path = _safe(entry.filename)
                if _is_left_out(path):
                    yield UploadedFile(path.as_posix(), b"")
                    continue
                count += 1
                content = _read(archive, entry, MAX_BYTES - total)
                total += len(content)
                if total > MAX_BYTES or count > MAX_FILES:
                    raise BadInput(
                        f"{sent.name} holds more than {MAX_FILES} files or "
                        f"{MAX_BYTES // 1_000_000} MB. {_SMALLER}."
                    )
                yield UploadedFile(path.as_posix(), content)
    except (
        zipfile.BadZipFile, zlib.error, struct.error, EOFError, NotImplementedError, OSError,
        OverflowError, RuntimeError, ValueError,
    ) as error:
        raise BadInput(
            f"{_shown(sent.name)} cannot be unpacked ({error}). Make a plain zip of it, without a "
            "password."
        ) from error


def _read(archive: zipfile.ZipFile, entry: zipfile.ZipInfo, most: int) -> bytes:
    """An entry's bytes; one byte more than `most` where it has more."""
    pieces, left = [], most + 1
    with archive.open(entry) as file:
        while left > 0 and (piece := file.read(min(_CHUNK, left))):
            pieces.append(piece)
            left -= len(piece)
    return b"".join(pieces)


def _safe(name: str) -> PurePosixPath:
    """Raises: BadInput: the path could leave its folder."""
    parts = name.split("/")
    odd = "\\" in name or ":" in name or not name.isprintable()
    if odd or len(name) > LONGEST_PATH or any(part in ("", ".", "..") for part in parts):
        raise BadInput(
            f"{_shown(name)} is no plain name of a file below one folder. Rename it, or pack the "
            "folder again."
        )
    return PurePosixPath(name)


def _is_left_out(path: PurePosixPath) -> bool:
    *folders, last = path.parts
    return (
        any(part in _LEFT_OUT or part.startswith(".") for part in folders)
        or last.endswith((".pyc", ".pyo")) or last in ("pyvenv.cfg", ".git", ".DS_Store")
    )


def _from_the_top(files: Sequence[UploadedFile]) -> list[UploadedFile]:
    """Without the one folder that has them all, unless it is a package."""
    tops = {one.name.partition("/")[0] for one in files}
    if len(tops) != 1 or any("/" not in one.name for one in files):
        return [*files]
    top = tops.pop()
    if any(one.name == f"{top}/__init__.py" for one in files):
        return [*files]
    return [UploadedFile(one.name.removeprefix(f"{top}/"), one.content) for one in files]


def _shown(name: str) -> str:
    return repr(name if len(name) <= LONGEST_PATH else f"{name[:LONGEST_PATH]}…")
