"""Validates uploaded files or a zip, and writes them into an empty folder. Refuses links, paths
outside of the folder and uploads above the limits, and leaves out environments."""

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
_SMALLER = "Send only the modules and tests that the failure needs, or run `heal run .` locally"


@dataclass(frozen=True)
class UploadedFile:
    """A file under the name that its sender chose."""

    name: str
    content: bytes


@dataclass(frozen=True)
class Upload:
    """Uploaded files, by their paths relative to the root of the upload."""

    files: tuple[UploadedFile, ...]
    notices: tuple[str, ...] = ()

    @property
    def program(self) -> UploadedFile | None:
        """The only module, if there is at most one test file; `None` for a project."""
        tests, modules = self._split()
        alone = len(modules) == 1 and len(tests) < 2 and len(self.files) == 1 + len(tests)
        return modules[0] if alone and "/" not in modules[0].name else None

    @property
    def tests(self) -> UploadedFile | None:
        """The test file, if there is exactly one."""
        tests, _ = self._split()
        return tests[0] if len(tests) == 1 else None

    def _split(self) -> tuple[list[UploadedFile], list[UploadedFile]]:
        python = [one for one in self.files if one.name.endswith(".py")]
        tests = [one for one in python if is_collected(one.name, TEST_FILES)]
        return tests, [one for one in python if one not in tests]

    def write_to(self, folder: Path) -> None:
        """Writes the files into an empty folder."""
        for one in self.files:
            target = folder / one.name
            target.parent.mkdir(parents=True, exist_ok=True)
            with target.open("xb") as file:
                file.write(one.content)


def read_upload(files: Sequence[UploadedFile]) -> Upload:
    """Validates uploaded files, and unpacks a zip. Raises `BadInput` for an invalid upload."""
    if sum(len(one.content) for one in files) > MAX_UPLOAD:
        raise BadInput(f"The upload is larger than {MAX_UPLOAD // 1_000_000} MB. {_SMALLER}.")
    if len(files) > MAX_FILES:
        many = f"The upload has {len(files):,} files; at most {MAX_FILES} are allowed."
        raise BadInput(f"{many} {_SMALLER}.")
    zips = [one for one in files if one.name.lower().endswith(".zip")]
    if zips and len(files) > 1:
        raise BadInput("The upload mixes a zip with other files. Send one zip, or only files.")
    found = [*_unpacked(zips[0])] if zips else [*files]
    accepted, left_out = [], 0
    for one in found:
        path = _safe(one.name)
        if _is_left_out(path):
            left_out += 1
        else:
            accepted.append(UploadedFile(path.as_posix(), one.content))
    accepted = _without_common_folder(accepted)
    counts = Counter(one.name for one in accepted)
    twice = next((name for name, count in counts.items() if count > 1), "")
    if twice:
        raise BadInput(f"The upload contains {twice} twice. Send each file once.")
    clash = next((name for name in counts if any(
        parent.as_posix() in counts for parent in PurePosixPath(name).parents
    )), "")
    if clash:
        raise BadInput(f"A folder of {clash} is also the name of a file. Rename one of them.")
    if not any(name.endswith(".py") for name in counts):
        raise BadInput("The upload contains no Python file. Send .py files, or a zip.")
    note = f"{left_out} files were left out: caches, environments, hidden folders."
    return Upload(tuple(accepted), (note,) if left_out else ())


def _unpacked(sent: UploadedFile) -> Iterator[UploadedFile]:
    """Yields the files of a zip, without trusting its stated sizes."""
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
                        f"{_shown(entry.filename)} in {sent.name} is a link or a device. Replace "
                        "it by the file itself."
                    )
                if entry.is_dir():
                    continue
                if entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
                    # Other compression methods may take unlimited memory.
                    raise ValueError("unsupported compression")
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
            f"{_shown(sent.name)} cannot be unpacked ({error}). Create a standard zip without a "
            "password."
        ) from error


def _read(archive: zipfile.ZipFile, entry: zipfile.ZipInfo, limit: int) -> bytes:
    chunks, remaining = [], limit + 1
    with archive.open(entry) as file:
        while remaining > 0 and (chunk := file.read(min(_CHUNK, remaining))):
            chunks.append(chunk)
            remaining -= len(chunk)
    return b"".join(chunks)


def _safe(name: str) -> PurePosixPath:
    """Raises `BadInput` for a path that could lead out of its folder."""
    parts = name.split("/")
    odd = "\\" in name or ":" in name or not name.isprintable()
    if odd or len(name) > LONGEST_PATH or any(part in ("", ".", "..") for part in parts):
        raise BadInput(
            f"{_shown(name)} is not a plain relative file name. Rename the file, or pack the "
            "folder again."
        )
    return PurePosixPath(name)


def _is_left_out(path: PurePosixPath) -> bool:
    *folders, last = path.parts
    return (
        any(part in _LEFT_OUT or part.startswith(".") for part in folders)
        or last.endswith((".pyc", ".pyo")) or last in ("pyvenv.cfg", ".git", ".DS_Store")
    )


def _without_common_folder(files: Sequence[UploadedFile]) -> list[UploadedFile]:
    """Removes the folder that contains all files, unless it is a package."""
    tops = {one.name.partition("/")[0] for one in files}
    if len(tops) != 1 or any("/" not in one.name for one in files):
        return [*files]
    top = tops.pop()
    if any(one.name == f"{top}/__init__.py" for one in files):
        return [*files]
    return [UploadedFile(one.name.removeprefix(f"{top}/"), one.content) for one in files]


def _shown(name: str) -> str:
    return repr(name if len(name) <= LONGEST_PATH else f"{name[:LONGEST_PATH]}…")
