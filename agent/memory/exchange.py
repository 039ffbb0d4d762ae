"""Export and import of fixes and lessons as JSON lines. Imported lines are untrusted and validated;
rows that may contain a key or a home folder are not exported."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, TypeAdapter, ValidationError

from agent.core.domain import Lesson, ProofLevel, Value
from agent.memory.edits import is_small_edit
from agent.memory.failures import LONGEST_MESSAGE, FailureKey
from agent.memory.fixes import (
    LONGEST_PROGRAM,
    OF_PROJECT,
    Competition,
    Count,
    Fix,
    Memory,
    StoredFix,
)
from llm.redaction import may_hold_a_key

VERSION = 5
LARGEST_FILE = 20_000_000  # characters
MAX_LINES = 10_000
LONGEST_NOTE = 1_000
LONGEST_LESSON = 600

_HOME = re.compile(r"(?:/home|/Users|[A-Za-z]:\\+Users)[/\\]+\w|/root/")

_Result = Literal["fixes", "lessons", "known", "trusted"]


def cleaned(text: str) -> str:
    """`text` in one line, without unprintable characters."""
    return "".join(one for one in " ".join(text.split()) if one.isprintable())


_Clean = AfterValidator(cleaned)
_Word = Annotated[str, Field(max_length=100), _Clean]
_Program = Annotated[str, Field(max_length=LONGEST_PROGRAM)]


class BadExchange(Exception):
    """The file is not an export, or is too large."""


class Header(Value):
    kind: Literal["heal-memory"] = "heal-memory"
    version: Annotated[int, Field(ge=1, le=VERSION)] = VERSION


class FixLine(Value):
    """A fix, and the exporter's replay counts."""

    kind: Literal["fix"] = "fix"
    signature: Annotated[str, Field(pattern=r"^[0-9a-f]{16}$")]
    exception: _Word
    message: Annotated[str, Field(max_length=LONGEST_MESSAGE), _Clean] = ""
    place: _Word = ""
    shape: _Word = ""
    passed: _Word = ""
    note: Annotated[str, Field(max_length=LONGEST_NOTE), _Clean] = ""
    proof: ProofLevel
    confidence: Annotated[float, Field(ge=0, le=1)] = 0.5
    standing: Competition = "unknown"
    """`settled` is accepted only from a trusted exporter."""
    successes: Count = 0
    failures: Count = 0
    before: _Program
    after: _Program


class LessonLine(Value):
    kind: Literal["lesson"] = "lesson"
    text: Annotated[str, Field(min_length=1, max_length=LONGEST_LESSON), _Clean]
    category: _Word = ""


Line = Annotated[FixLine | LessonLine, Field(discriminator="kind")]
_LINE: TypeAdapter[FixLine | LessonLine] = TypeAdapter(Line)


@dataclass(frozen=True)
class Exported:
    """The lines of an export, and the number of rows that were omitted."""

    text: str
    fixes: int
    lessons: int
    held_back: int


@dataclass(frozen=True)
class Imported:
    """The numbers of imported rows, and the refused lines."""

    fixes: int = 0
    lessons: int = 0
    known: int = 0  # fixes and lessons that were already stored
    refused: tuple[str, ...] = ()
    trusted: int = 0  # stored fixes that became trusted


def exported(memory: Memory) -> Exported:
    """Exports all rows except projects' rows and those that may contain a key or a home folder."""
    fixes = [fix_line(known) for known in memory.fixes()]
    lessons = [
        None if row.origin.startswith(OF_PROJECT) else lesson_line(row.lesson)
        for row in memory.lessons()
    ]
    lines = [line for line in (*fixes, *lessons) if line is not None and is_public(line)]
    return Exported(
        text=as_text(lines), fixes=sum(isinstance(line, FixLine) for line in lines),
        lessons=sum(isinstance(line, LessonLine) for line in lines),
        held_back=len(fixes) + len(lessons) - len(lines),
    )


def as_text(lines: Iterable[FixLine | LessonLine]) -> str:
    """The text of an export file, including its header."""
    return "".join(f"{json.dumps(line.model_dump())}\n" for line in (Header(), *lines))


def fix_line(known: StoredFix) -> FixLine | None:
    """A fix as a line; `None` for a project's fix or one that exceeds the limits."""
    fix = known.fix
    if fix.project:
        return None
    try:
        return FixLine(
            **fix.failure.model_dump(), note=fix.note, proof=fix.proof, before=fix.before,
            after=fix.after, confidence=fix.confidence, standing=fix.competition,
            successes=known.successes, failures=known.failures,
        )
    except ValidationError:
        return None


def lesson_line(lesson: Lesson) -> LessonLine | None:
    """A lesson as a line; `None` if it exceeds the limits of an import."""
    try:
        return LessonLine(text=lesson.text, category=lesson.category)
    except ValidationError:
        return None


def is_public(line: FixLine | LessonLine) -> bool:
    """Whether a line contains nothing that looks like a key or a home folder."""
    texts = [value for value in line.model_dump().values() if isinstance(value, str)]
    return not any(may_hold_a_key(text) or _HOME.search(text) for text in texts)


def import_lines(memory: Memory, text: str, source: str, *, trusted: bool = False) -> Imported:
    """Imports the lines of `text`; raises `BadExchange`."""
    return import_parsed_lines(memory, parse_export(text), source, trusted=trusted)


def import_parsed_lines(
    memory: Memory, lines: Iterable[tuple[int, FixLine | LessonLine | str]], source: str, *,
    trusted: bool = False,
) -> Imported:
    """Imports numbered lines. The replay counts of untrusted lines are ignored, and they do not
    change trusted rows."""
    origin = f"imported from {cleaned(source)[:60] or 'elsewhere'}"
    counts: Counter[_Result] = Counter()
    refused: list[str] = []
    for number, line in lines:
        match line:
            case str():
                refused.append(f"line {number}: {line}")
            case LessonLine():
                lesson = Lesson(text=line.text, category=line.category)
                counts["lessons" if memory.learn(lesson, origin=origin) else "known"] += 1
            case FixLine():
                fix = _fix(line, trusted=trusted)
                if isinstance(fix, str):
                    refused.append(f"line {number}: {fix}")
                    continue
                record = (line.successes, line.failures) if trusted else (0, 0)
                counts[_import_fix(memory, fix, origin, record, trusted=trusted)] += 1
    return Imported(
        counts["fixes"], counts["lessons"], counts["known"], tuple(refused), counts["trusted"]
    )


def parse_export(text: str) -> Iterator[tuple[int, FixLine | LessonLine | str]]:
    """Yields each line's number with its value or its error; raises `BadExchange`."""
    if len(text) > LARGEST_FILE:
        raise BadExchange(f"it is larger than {LARGEST_FILE:,} characters")
    lines = [(number, line) for number, line in enumerate(text.split("\n"), 1) if line.strip()]
    if len(lines) > MAX_LINES + 1:
        raise BadExchange(f"it has more than {MAX_LINES:,} lines")
    try:
        Header.model_validate_json(lines[0][1] if lines else "")
    except ValidationError as error:
        raise BadExchange(
            "`memory export` did not write it, or a newer version did (its first line is not a "
            f"header of version {VERSION} or older)"
        ) from error
    return ((number, _line(line)) for number, line in lines[1:])


def _line(text: str) -> FixLine | LessonLine | str:
    try:
        return _LINE.validate_json(text)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(str(part) for part in first["loc"])
        return cleaned(f"{place}: {first['msg']}" if place else first["msg"])[:200]


def _fix(line: FixLine, *, trusted: bool) -> Fix | str:
    if line.before == line.after or not is_small_edit(line.before, line.after):
        return "the fix is not a small edit"
    failure = FailureKey(**line.model_dump(include=set(FailureKey.model_fields)))
    fix = Fix.create(
        failure, line.before, line.after, line.proof, line.note,
        # An untrusted claim that no other repair passes is not accepted.
        "unknown" if line.standing == "settled" and not trusted else line.standing,
        confidence=line.confidence if trusted else min(line.confidence, 0.5),
    )
    return fix or "the fix contains text that cannot be encoded as a file"


def _import_fix(
    memory: Memory, fix: Fix, origin: str, record: tuple[int, int], *, trusted: bool
) -> _Result:
    known = memory.find(fix.failure, fix.after)
    same = known is not None and known.fix.model_copy(update={"competing": None}) == fix
    becomes_trusted = known is not None and trusted and not known.trusted
    if known is not None and not becomes_trusted and (same or (known.trusted and not trusted)):
        return "known"
    memory.remember(fix, origin=origin, trusted=trusted, record=record)
    if known is not None and becomes_trusted:
        memory.trust(known, record)
        return "trusted"
    return "fixes"
