"""Parses an answer into a program, edits of a program, or a JSON value. Pure, without guessing.

Reasoning between `<think>` and `</think>` before the answer is removed.

**A program** is one fenced block. Prose and blocks of other languages around it are ignored. An
answer with several candidate blocks is rejected: the last one may be a usage example, the first one
the wrong code. A program may contain fences at the start of a line of a multi-line string. So a
block extends to the last fence if all of it parses as Python. This is unambiguous: backticks are
not valid Python outside of strings, so if the whole parses, its first part ends within a string.
Otherwise the text need not parse, since syntax errors are repaired like other bugs. A fence is made
of backticks and starts its line.

**Edits** are blocks of whole lines to find, with their replacement. The lines must occur exactly
once in the original program, including whitespace, and edits must not overlap. With several files,
a line `FILE path` precedes the blocks of each file and the fenced block of each new file.

**JSON** follows the standard: no NaN, no duplicate keys, no lone surrogates.
"""

from __future__ import annotations

import ast
import difflib
import json
import math
import re
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from llm.errors import BadReply

if TYPE_CHECKING:
    from jsonschema import Draft202012Validator

MAX_QUOTED_CHARS = 120
"""Characters of a line, or of a validator's message, that are quoted."""
MAX_FAULTS = 3

_THOUGHT = re.compile(r"\A\s*<think>.*?</think>\s*", re.DOTALL)
_PYTHON = ("", "python", "python3", "py")

_SEARCH, _MIDDLE, _REPLACE = "<<<<<<< SEARCH", "=======", ">>>>>>> REPLACE"
_MARKS = (_SEARCH, _MIDDLE, _REPLACE)
FILE = "FILE "
"""The prefix of the line that names a file."""


def parse_code(text: str, *, is_whole: bool = True) -> str:
    """The program in an answer's only fenced block; raises `BadReply` without one.

    Unless it `is_whole`, the code is one of several files and may be empty or not Python.
    """
    lines: Sequence[str] = _plain(text).split("\n")
    lines = (is_whole and _only_python(lines)) or lines
    fences = [(place, *_fence(line)) for place, line in enumerate(lines) if _fence(line)[0]]
    if not fences:
        raise BadReply("expected one fenced code block that starts with ```python, got none")
    start, length, language = fences[0]
    if is_whole and language not in _PYTHON:
        raise BadReply(f"expected one fenced code block of Python, got one of {_brief(language)}")
    inside = [one for one in fences[1:] if one[1] >= length]
    if not inside or inside[-1][2]:
        raise BadReply("expected one fenced code block, and it is not closed by a line of ```")
    end = inside[-1][0]
    code = "\n".join(lines[start + 1 : end]) + "\n"
    if fences[-1][0] > end or (len(inside) > 1 and not _parses(code)):
        raise BadReply(
            "expected one fenced code block, got several: put the whole program into one, and "
            "fence it with ```` if it has lines of ``` itself"
        )
    if not is_whole:
        return code if code.strip() else ""
    if not code.strip():
        raise BadReply("expected one fenced code block with a program, and it is empty")
    return code


def _only_python(lines: Sequence[str]) -> Sequence[str]:
    """The lines of the only Python block with its fences, if all other blocks name another
    language; otherwise, or if the blocks may be part of a program, nothing."""
    blocks: list[tuple[int, int, str]] = []
    opened: tuple[int, int, str] | None = None
    for place, line in enumerate(lines):
        size, language = _fence(line)
        if opened is None and size:
            opened = place, size, language
        elif opened is not None and size >= opened[1]:
            if language:
                return ()
            blocks.append((opened[0], place + 1, opened[2]))
            opened = None
    ours = [lines[start:end] for start, end, language in blocks if language in _PYTHON]
    clear = opened is None and len(blocks) > 1 and all(language for *_, language in blocks)
    return ours[0] if clear and len(ours) == 1 else ()


def parse_files(text: str) -> dict[str, str]:
    """The files of an answer, each a fenced block after a line `FILE path`. The path of a single
    block without such a line is empty. Raises `BadReply`."""
    sections: dict[str, list[str]] = {}
    path, fence = "", 0
    for line in _plain(text).split("\n"):
        size, language = _fence(line)
        if not fence and line.startswith(FILE):
            path = line.removeprefix(FILE).strip()
            if path in sections:
                raise BadReply(f"{path} occurs twice; give each file once")
            sections[path] = []
            continue
        if size and not fence:
            fence = size
        elif size >= fence and not language:
            fence = 0
        if path:
            sections[path].append(line)
        elif size:
            return {"": parse_code(text)}
    if not sections:
        return {"": parse_code(text)}
    found = {}
    for path, lines in sections.items():
        with _prefix_errors(path):
            found[path] = parse_code("\n".join(lines), is_whole=False)
    return found


def _fence(line: str) -> tuple[int, str]:
    """The number of backticks of a fence and its language; 0 for other lines."""
    size = len(line) - len(line.lstrip("`"))
    if size < 3 or "`" in line[size:]:
        return 0, ""
    return size, line[size:].strip().partition(" ")[0].lower()


@dataclass(frozen=True)
class TextEdit:
    """Whole lines to find, and their replacement."""

    search: tuple[str, ...]
    replace: tuple[str, ...]


def parse_edits(text: str) -> tuple[TextEdit, ...]:
    """The search/replace blocks of an answer; raises `BadReply` with the number of a bad block."""
    edits: list[TextEdit] = []
    search: list[str] | None = None
    replace: list[str] | None = None
    for line in _plain(text).split("\n"):
        mark = line.rstrip()
        block = f"block {len(edits) + 1}"
        expected = _SEARCH if search is None else _MIDDLE if replace is None else _REPLACE
        if mark not in _MARKS:
            if search is not None:
                (search if replace is None else replace).append(line)
        elif mark != expected and not (mark == _MIDDLE and search is None):
            raise BadReply(
                f"{block}: expected {expected!r} and got {mark!r}; the lines of a block cannot "
                "look like its marks"
            )
        elif mark == _SEARCH:
            search = []
        elif mark == _MIDDLE and search is not None:
            replace = []
        elif mark == _REPLACE and search is not None and replace is not None:
            edits.append(_edit(search, replace, block))
            search = replace = None
    if search is not None:
        raise BadReply(f"block {len(edits) + 1} is not closed by a line {_REPLACE!r}")
    if not edits:
        raise BadReply(f"expected blocks that start with a line {_SEARCH!r}, got none")
    return tuple(edits)


def parse_edits_by_file(text: str) -> dict[str, tuple[TextEdit, ...]]:
    """The search/replace blocks of an answer by file, named by the preceding line `FILE path`;
    raises `BadReply` for an invalid block or one without a file."""
    sections: dict[str, list[str]] = {}
    path, inside = "", False
    for line in _plain(text).split("\n"):
        mark = line.rstrip()
        if not inside and mark.startswith(FILE):
            path = mark.removeprefix(FILE).strip()
            sections.setdefault(path, [])
            continue
        inside = (inside or mark == _SEARCH) and mark != _REPLACE
        if path:
            sections[path].append(line)
        elif inside:
            raise BadReply(f"the first block is under no line {FILE + 'path'!r}: name its file")
    if not sections:
        raise BadReply(f"expected a line {FILE + 'path'!r} and blocks after it, got none")
    found = {}
    for path, lines in sections.items():
        with _prefix_errors(path):
            found[path] = parse_edits("\n".join(lines))
    return found


def apply_edits_by_file(
    files: Mapping[str, str], edits: Mapping[str, Sequence[TextEdit]]
) -> dict[str, str]:
    """The edited files after their edits; raises `BadReply` like `edited`. Every edited file must
    be among `files`."""
    found = {}
    for path, some in edits.items():
        with _prefix_errors(path):
            found[path] = edited(files[path], some)
    return found


@contextmanager
def _prefix_errors(path: str) -> Iterator[None]:
    """Adds the path of a file to a `BadReply`."""
    try:
        yield
    except BadReply as error:
        raise BadReply(f"{path}: {error}") from error


def _edit(search: Sequence[str], replace: Sequence[str], block: str) -> TextEdit:
    if not any(line.strip() for line in search):
        raise BadReply(f"{block}: the lines to find are empty; give the lines around the change")
    if search == replace:
        raise BadReply(f"{block} changes nothing")
    return TextEdit(tuple(search), tuple(replace))


def edited(original: str, edits: Sequence[TextEdit]) -> str:
    """The program after all edits, with its line endings. Raises `BadReply` if lines to find do not
    occur exactly once, or if edits overlap."""
    end = "\r\n" if 0 < original.count("\n") == original.count("\r\n") else "\n"
    last = end if original.endswith(end) else ""
    lines = original.removesuffix(last).split(end)
    spans: list[tuple[int, int, TextEdit]] = []
    for number, edit in enumerate(edits, 1):
        start = _find_lines(lines, edit.search, number)
        spans.append((start, start + len(edit.search), edit))
    spans.sort(key=lambda span: span[0])
    result: list[str] = []
    done = 0
    for start, stop, edit in spans:
        if start < done:
            raise BadReply(f"two blocks change line {start + 1}; make one block of them")
        result += [*lines[done:start], *edit.replace]
        done = stop
    return end.join([*result, *lines[done:]]) + last


def _find_lines(lines: Sequence[str], search: Sequence[str], number: int) -> int:
    """The index of the first of the lines to find."""
    size = len(search)
    places = [
        place for place in range(len(lines) - size + 1)
        if lines[place] == search[0] and tuple(lines[place : place + size]) == tuple(search)
    ]
    if len(places) == 1:
        return places[0]
    if places:
        shown = ", ".join(str(place + 1) for place in places[:5])
        raise BadReply(
            f"block {number}: the lines to find occur {len(places)} times in the program, at "
            f"lines {shown}; add lines around them"
        )
    raise BadReply(
        f"block {number}: the lines to find are not in the program; {_near(lines, search)}"
    )


def _near(lines: Sequence[str], search: Sequence[str]) -> str:
    """A message with the first line that is not found and the line most similar to it."""
    there = {*lines}
    strange = next((line for line in search if line not in there), None)
    if strange is None:
        return "each of them is, but not one after another"
    like = difflib.get_close_matches(strange, lines, n=1, cutoff=0.4)
    if not like:
        return f"nothing is like {_brief(strange)!r}"
    return (
        f"{_brief(strange)!r} is not there; line {lines.index(like[0]) + 1} is "
        f"{_brief(like[0])!r}"
    )


def parse_json(text: str, schema: Mapping[str, object]) -> object:
    """The JSON value of an answer, valid under `schema`; a fence around it is removed. Raises
    `BadReply` with the validator's message."""
    try:
        value: object = json.loads(
            _unfenced(_plain(text).strip()),
            object_pairs_hook=_unique_keys, parse_constant=_no_constant, parse_float=_finite,
        )
        json.dumps(value, ensure_ascii=False).encode()
    except (ValueError, RecursionError) as error:
        raise BadReply(f"the answer is not JSON: {_brief(str(error))}") from error
    faults = sorted(
        _validator(json.dumps(schema, sort_keys=True)).iter_errors(value),
        key=lambda fault: [str(part) for part in fault.absolute_path],
    )
    if faults:
        raise BadReply("; ".join(
            f"{'/'.join(str(part) for part in fault.absolute_path) or 'the answer'}: "
            f"{_brief(fault.message)}"
            for fault in faults[:MAX_FAULTS]
        ))
    return value


def _unfenced(text: str) -> str:
    lines = text.split("\n")
    if len(lines) > 2 and lines[0].rstrip() in ("```", "```json") and lines[-1] == "```":
        return "\n".join(lines[1:-1])
    return text


def _unique_keys(pairs: Sequence[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("an object has the same key twice")
    return found


def _no_constant(name: str) -> object:
    raise ValueError(f"{name} is not a JSON number")


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{text} is too large a number")
    return number


@lru_cache(maxsize=32)
def _validator(schema: str) -> Draft202012Validator:
    from jsonschema import Draft202012Validator

    return Draft202012Validator(json.loads(schema))


def _plain(text: str) -> str:
    """The text without a byte order mark and reasoning, with `\\n` line endings; raises `BadReply`
    for lone surrogates."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise BadReply(
            f"character {error.start + 1} of the answer is a lone surrogate {text[error.start]!r}; "
            "write it as an escape"
        ) from error
    return _THOUGHT.sub("", text.removeprefix("\ufeff").replace("\r\n", "\n"))


def _parses(code: str) -> bool:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # such as an invalid escape sequence in the program
        try:
            ast.parse(code)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return False
        except SystemError:  # up to Python 3.12, if another thread uses the parser
            return _parses(code)
    return True


def _brief(text: str) -> str:
    return text if len(text) <= MAX_QUOTED_CHARS else f"{text[: MAX_QUOTED_CHARS - 1]}…"
