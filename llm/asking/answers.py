"""What an answer's text says: a program, edits of one, or a JSON value. Pure; nothing is salvaged.

What a model thought aloud before its answer, between `<think>` and `</think>`, is none of it.

**A program** is one fenced block, and there may be words around it, and blocks that name another
language. Where a reader would have to choose among several blocks, the answer is refused: the last
one may be a way to call the program, the first one what was wrong. A program may hold fences
itself, at the start of a line in a string of several lines. So a block reaches to the last fence if
all of it parses as Python. That leaves no doubt: backticks are no Python outside of strings, so if
the whole parses, its first piece has a string that does not end and is no program. Otherwise the
text need not parse: syntax is repaired like any other fault. A fence is of backticks and starts its
line; tildes underline headings.

**Edits** are blocks of whole lines to find and lines to put there instead. All are found in the
program as it was, each exactly once, whitespace included, and none touches another's lines. Where
there are several files, a line `FILE path` stands before the blocks of each, and before the fenced
block of each new file.

**JSON** is what the standard says: no NaN, no key twice, no text that no encoding can carry.
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

SHOWN = 120
"""Characters of a line, or of a validator's message, that are quoted."""
MAX_FAULTS = 3

_THOUGHT = re.compile(r"\A\s*<think>.*?</think>\s*", re.DOTALL)
_PYTHON = ("", "python", "python3", "py")

_SEARCH, _MIDDLE, _REPLACE = "<<<<<<< SEARCH", "=======", ">>>>>>> REPLACE"
_MARKS = (_SEARCH, _MIDDLE, _REPLACE)
FILE = "FILE "
"""Begins the line that names a file, before what the answer says of it."""


def code_of(text: str, *, is_whole: bool = True) -> str:
    """The program in an answer's only fenced block; raises `BadReply` where there is not one. What
    is not the `whole` of it, a file among others, may be empty or no Python."""
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
    """The block that names Python, fences and all, where each other names another language; nothing
    where that is not so, or where they may be lines of a program."""
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


def files_of(text: str) -> dict[str, str]:
    """The files of an answer: each a fenced block, with a line `FILE path` before it. One block
    without such a line is the file of no name. Raises `BadReply`."""
    sections: dict[str, list[str]] = {}
    path, fence = "", 0
    for line in _plain(text).split("\n"):
        size, language = _fence(line)
        if not fence and line.startswith(FILE):
            path = line.removeprefix(FILE).strip()
            if path in sections:
                raise BadReply(f"{path} stands there twice; give each file once")
            sections[path] = []
            continue
        if size and not fence:
            fence = size
        elif size >= fence and not language:
            fence = 0
        if path:
            sections[path].append(line)
        elif size:
            return {"": code_of(text)}
    if not sections:
        return {"": code_of(text)}
    found = {}
    for path, lines in sections.items():
        with _naming(path):
            found[path] = code_of("\n".join(lines), is_whole=False)
    return found


def _fence(line: str) -> tuple[int, str]:
    """The backticks of a fence and the language after them; 0 where the line is none."""
    size = len(line) - len(line.lstrip("`"))
    if size < 3 or "`" in line[size:]:
        return 0, ""
    return size, line[size:].strip().partition(" ")[0].lower()


@dataclass(frozen=True)
class TextEdit:
    """Whole lines to find, and what to put there instead."""

    search: tuple[str, ...]
    replace: tuple[str, ...]


def edits_of(text: str) -> tuple[TextEdit, ...]:
    """The search/replace blocks of an answer; raises `BadReply` naming the block that is wrong."""
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
                f"{block}: expected {expected!r} and got {mark!r}; a block cannot hold a line "
                "that reads like its marks"
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


def edits_by_file(text: str) -> dict[str, tuple[TextEdit, ...]]:
    """The search/replace blocks of an answer by the file that a line `FILE path` before them names;
    raises `BadReply` where one is under no such line, or is wrong."""
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
        with _naming(path):
            found[path] = edits_of("\n".join(lines))
    return found


def edited_files(
    files: Mapping[str, str], edits: Mapping[str, Sequence[TextEdit]]
) -> dict[str, str]:
    """The files that have edits, with them made; raises `BadReply` as `edited` does. Every edited
    file must be among `files`."""
    found = {}
    for path, some in edits.items():
        with _naming(path):
            found[path] = edited(files[path], some)
    return found


@contextmanager
def _naming(path: str) -> Iterator[None]:
    """A refusal of what is said of a file names the file."""
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
    """The program with all edits made; its line ends stay. Raises `BadReply` where lines to find
    are not there exactly once, or where edits touch the same lines."""
    end = "\r\n" if 0 < original.count("\n") == original.count("\r\n") else "\n"
    last = end if original.endswith(end) else ""
    lines = original.removesuffix(last).split(end)
    spans: list[tuple[int, int, TextEdit]] = []
    for number, edit in enumerate(edits, 1):
        start = _place(lines, edit.search, number)
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


def _place(lines: Sequence[str], search: Sequence[str], number: int) -> int:
    """Where the lines to find stand."""
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
            f"block {number}: the lines to find stand {len(places)} times in the program, from "
            f"lines {shown}; add lines around them"
        )
    raise BadReply(
        f"block {number}: the lines to find are not in the program; {_near(lines, search)}"
    )


def _near(lines: Sequence[str], search: Sequence[str]) -> str:
    """The first line that is not there and what is most like it, in words."""
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


def json_of(text: str, schema: Mapping[str, object]) -> object:
    """The JSON value of an answer, valid under `schema`; one fence around it is taken off. Raises
    `BadReply` with the validator's words."""
    try:
        value: object = json.loads(
            _unfenced(_plain(text).strip()),
            object_pairs_hook=_once, parse_constant=_no_constant, parse_float=_finite,
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


def _once(pairs: Sequence[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a key stands twice in one object")
    return found


def _no_constant(name: str) -> object:
    raise ValueError(f"{name} is no JSON number")


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
    """The text without a byte order mark and what was thought before it, its lines ended by a
    newline alone; raises `BadReply` where no file could hold it."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise BadReply(
            f"character {error.start + 1} of the answer is half of one, {text[error.start]!r}; "
            "write it as an escape"
        ) from error
    return _THOUGHT.sub("", text.removeprefix("\ufeff").replace("\r\n", "\n"))


def _parses(code: str) -> bool:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a "\d" in the program is its author's business
        try:
            ast.parse(code)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return False
        except SystemError:  # a thread beside it was in the parser too, up to Python 3.12
            return _parses(code)
    return True


def _brief(text: str) -> str:
    return text if len(text) <= SHOWN else f"{text[: SHOWN - 1]}…"
