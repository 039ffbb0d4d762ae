"""Reads a user's text file in its encoding, and encodes an edited text in the same way."""

from __future__ import annotations

import codecs
import difflib
import io
import keyword
import re
import sys
import tokenize
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from agent.core.domain import File
from agent.target.errors import BadInput

LARGEST_BYTES = 1_000_000
LARGEST = "1 MB"
MAX_WITH = 200
_TEXT_SUFFIXES = frozenset(
    {".py", ".txt", ".json", ".csv", ".toml", ".yaml", ".yml", ".md", ".cfg", ".ini"}
)
"""Suffixes of text files."""

_BOMS: tuple[tuple[bytes, str], ...] = (
    # UTF-32 first: its little-endian mark starts with that of UTF-16.
    (codecs.BOM_UTF32_LE, "utf-32-le"), (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"),
    (codecs.BOM_UTF8, "utf-8"),
)


_SENTENCE = re.compile(r"[^\W\d]{2,}[.!?](?= |$)|[^\W\d], [^\W\d]")
_CODE = re.compile(r"[=\[\]{}_\\@]|\w\(|:$|\w\.\w|[\"']{3}")
_STATEMENTS = {*keyword.kwlist, *keyword.softkwlist, "print", "exec"}


@dataclass(frozen=True)
class SourceFile:
    """A text with `\\n` line ends, and what is needed to write it back unchanged."""

    path: Path | None
    text: str
    raw: bytes = b""
    encoding: str = "utf-8"
    bom: bytes = b""
    newline: str = "\n"
    """The most frequent line end."""

    @property
    def name(self) -> str:
        """The file's name, or `solution.py` for standard input and pasted text."""
        return self.path.name if self.path is not None else "solution.py"

    def encode(self, text: str) -> bytes:
        """An edited text in the encoding of this file, with its byte order mark and line ends.

        If the file mixes line ends, unchanged lines keep theirs.

        Raises:
            BadInput: The encoding lacks a character of the text.
        """
        try:
            return self.bom + self._with_ends(text).encode(self.encoding)
        except UnicodeEncodeError as error:
            raise BadInput(
                f"{self.name} is written in {self.encoding}, which has no character "
                f"{error.object[error.start]!r}. Save the file as UTF-8 and try again."
            ) from None

    def _with_ends(self, text: str) -> str:
        # `splitlines` would split at more line ends than Python's three.
        before = io.StringIO(self.raw[len(self.bom) :].decode(self.encoding), newline="")
        old = [(body := line.rstrip("\r\n"), line[len(body) :]) for line in before]
        if len({end for _, end in old if end}) <= 1:
            return text.replace("\n", self.newline)
        new = text.split("\n")
        ends = [self.newline] * len(new)
        matcher = difflib.SequenceMatcher(None, [body for body, _ in old], new, autojunk=False)
        for block in matcher.get_matching_blocks():
            for step in range(block.size):
                ends[block.b + step] = old[block.a + step][1] or self.newline
        return "".join(line + end for line, end in zip(new[:-1], ends, strict=False)) + new[-1]


def read_source(path: Path | Literal["-"], *, allow_empty: bool = False) -> SourceFile:
    """The text of a file, or of standard input for `-`; raises `BadInput`."""
    if path == "-":
        return from_bytes(sys.stdin.buffer.read(LARGEST_BYTES + 1), None, allow_empty=allow_empty)
    try:
        if path.is_dir():
            raise BadInput(f"{path} is a folder. Name a Python file in it.")
        with path.open("rb") as file:
            raw = file.read(LARGEST_BYTES + 1)
    except FileNotFoundError:
        raise missing(path) from None
    except PermissionError:
        raise BadInput(f"{path} may not be read. Change its permissions.") from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise BadInput(f"{path} cannot be read: {reason}.") from None
    return from_bytes(raw, path, allow_empty=allow_empty)


def refuse_file_names(snippets: Sequence[str]) -> None:
    """Raises `BadInput` if a file name was given instead of asserts."""
    for snippet in snippets:
        if snippet.endswith(".py") and Path(snippet).is_file():
            raise BadInput(f"{snippet} is a file, but --tests takes code. Use --tests-file.")


_COOKIE = re.compile(r"^([ \t\f]*#.*?coding[:=][ \t]*)([-\w.]+)", re.ASCII)


def read_support_file(path: Path) -> str:
    """The text of a supporting file for the sandbox; raises `BadInput`.

    The coding cookie of a Python file is changed to UTF-8. Other files keep their line ends and
    byte order mark.
    """
    source = read_source(path, allow_empty=True)
    if path.suffix not in (".py", ".pyi"):
        return source.raw.decode(source.encoding)
    lines = source.text.split("\n", 2)
    for index, line in enumerate(lines[:2]):
        lines[index] = _COOKIE.sub(r"\1utf-8", line)
    return "\n".join(lines)


def read_support_files(path: Path) -> Iterator[File]:
    """Yields a file, or the text files of a folder under its name; raises `BadInput`."""
    if not path.is_dir():
        yield File(path=path.name, text=read_support_file(path))
        return
    found = [
        one for one in sorted(path.rglob("*"))
        if one.is_file() and not one.is_symlink() and not _is_hidden(one.relative_to(path))
    ]
    if len(found) > MAX_WITH:
        raise BadInput(f"{path} has {len(found)} files, but at most {MAX_WITH} are allowed. "
                       "Name a smaller folder, such as that of the package.")
    top = path.resolve().parent
    for one in found:
        if one.suffix in _TEXT_SUFFIXES:
            place = path.resolve() / one.relative_to(path)
            yield File(path=place.relative_to(top).as_posix(), text=read_support_file(one))


def _is_hidden(path: Path) -> bool:
    return any(part.startswith(".") or part == "__pycache__" for part in path.parts)


def missing(path: Path) -> BadInput:
    """The error for a path that does not exist."""
    return BadInput(f"{path} does not exist.{_hint(path)}")


def _hint(path: Path) -> str:
    """A suggestion for a missing file: a similar name in its folder, or to check the path."""
    folder = path.parent
    try:
        names = sorted(entry.name for entry in folder.iterdir())
    except OSError:
        return f" The folder {folder} does not exist either."
    close = difflib.get_close_matches(path.name, names, n=1, cutoff=0.6)
    return f" Did you mean {folder / close[0]}?" if close else " Check the path."


def from_bytes(raw: bytes, path: Path | None = None, *, allow_empty: bool = False) -> SourceFile:
    """Decodes a file's bytes as Python would; raises `BadInput` if that is impossible."""
    name = str(path) if path is not None else "standard input"
    if len(raw) > LARGEST_BYTES:
        raise BadInput(f"{name} is larger than {LARGEST}. Submit only the part that fails.")
    bom, encoding = next(((mark, codec) for mark, codec in _BOMS if raw.startswith(mark)),
                         (b"", ""))
    if not encoding:
        if b"\0" in raw:
            raise BadInput(f"{name} is a binary file, not Python text.")
        encoding = _cookie(raw, name)
    try:
        decoded = raw[len(bom) :].decode(encoding)
    except (UnicodeDecodeError, UnicodeError) as error:
        line = raw.count(b"\n", 0, getattr(error, "start", 0)) + 1
        raise BadInput(
            f"{name} is not valid {encoding} (line {line}). Save it as UTF-8, or declare its "
            "encoding in the first line: # -*- coding: latin-1 -*-"
        ) from None
    if "\0" in decoded:
        raise BadInput(f"{name} is a binary file, not Python text.")
    text = decoded.replace("\r\n", "\n").replace("\r", "\n")
    if not allow_empty:
        refuse_without_code(text, name)
    return SourceFile(path, text, raw, encoding, bom, _usual_end(decoded))


def refuse_without_code(text: str, name: str) -> None:
    lines = [line.strip() for line in text.split("\n")]
    if not any(lines):
        raise BadInput(f"{name} is empty. Submit the code to repair.")
    code = [line for line in lines if line and not line.startswith("#")]
    if not code:
        raise BadInput(f"{name} contains only comments. Submit the code to repair.")
    if _is_prose(code):
        raise BadInput(
            f"{name} looks like prose, not like Python. Submit the program as code, and describe "
            "what it should do in the task description."
        )


def _is_prose(lines: Sequence[str]) -> bool:
    """Whether all lines are sentences: many words, punctuation, and no characters of code."""
    words = re.findall(r"[^\W\d]+", " ".join(lines))
    return len(words) >= 6 and any(_SENTENCE.search(line) for line in lines) and not any(
        _CODE.search(line) or line.split()[0].rstrip(":") in _STATEMENTS for line in lines
    )


def _cookie(raw: bytes, name: str) -> str:
    first = raw.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(first).readline)
    except SyntaxError as error:
        if "unknown encoding" in str(error.msg):
            raise BadInput(
                f"{name} declares an encoding that does not exist ({error.msg}). Correct its first "
                "line, or remove it and save the file as UTF-8."
            ) from None
        return "utf-8"
    return encoding


def _usual_end(decoded: str) -> str:
    windows = decoded.count("\r\n")
    counts = {
        "\n": decoded.count("\n") - windows,
        "\r\n": windows,
        "\r": decoded.count("\r") - windows,
    }
    return max(counts, key=lambda end: counts[end]) if any(counts.values()) else "\n"
