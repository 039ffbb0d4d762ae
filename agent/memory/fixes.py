"""The memory of fixes and lessons in one SQLite file. A fix is found by its exact failure or by a
similar failure of another program, and replayed under the full verdict before use."""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, ValidationError

from agent.core.domain import CompetingPatches, FileChange, Lesson, ProofLevel, Value
from agent.core.sqlite import write_transaction
from agent.memory.failures import FailureKey, skeleton
from agent.memory.file import FORMAT, memory_faults, open_file, open_temporary
from agent.memory.lessons import MAX_LESSONS, FailureDescription, query_of, words_of
from agent.target.errors import BadInput

OWN = "own"
OF_PROJECT = "the project at "
"""The prefix of the origin of a project's lesson."""
LONGEST_PROGRAM = 200_000  # characters
MAX_MATCHES = 40
"""The maximum number of fixes of a failure, and of similar failures."""

MAX_FILES = 6  # of a project, in one fix
MAX_COMPETING_LENGTH = 600_000  # characters of JSON

Competition = Literal["unknown", "open", "settled"]
"""`open` if other repairs passed the tests too when a fix was learned, and no user has chosen."""
Count = Annotated[int, Field(ge=0)]


class Fix(Value):
    """A proven repair of a failure."""

    failure: FailureKey
    before: Annotated[str, Field(max_length=LONGEST_PROGRAM)]
    after: Annotated[str, Field(max_length=LONGEST_PROGRAM)]
    proof: ProofLevel
    note: str = ""
    confidence: Annotated[float, Field(ge=0, le=1)] = 0.5
    """How likely it was correct when it was learned; 1 if the user accepted it."""
    competition: Competition = "unknown"
    competing: CompetingPatches | None = None
    project: str = ""
    """The key of the only project that may use it; empty for a program."""
    path: str = ""
    others: Annotated[tuple[FileChange, ...], Field(max_length=MAX_FILES - 1)] = ()

    @classmethod
    def create(
        cls, failure: FailureKey, before: str, after: str, proof: ProofLevel, note: str,
        competition: Competition = "unknown", competing: CompetingPatches | None = None,
        confidence: float = 0.5, *, project: str = "", path: str = "",
        others: tuple[FileChange, ...] = (),
    ) -> Fix | None:
        """Creates a fix; `None` if a text is too long or cannot be encoded as a file."""
        fits = (
            competition == "open"
            and competing is not None
            and len(competing.to_json()) <= MAX_COMPETING_LENGTH
        )
        texts = [text for one in others for text in (one.before, one.after)]
        try:
            for text in (before, after, note, failure.message, *texts):
                text.encode()
            return None if max(map(len, texts), default=0) > LONGEST_PROGRAM else cls(
                failure=failure, before=before, after=after, proof=proof, note=note,
                competition=competition, competing=competing if fits else None,
                confidence=confidence, project=project, path=path, others=others,
            )
        except ValueError:
            return None

    @property
    def files(self) -> tuple[FileChange, ...]:
        return (FileChange(path=self.path, before=self.before, after=self.after), *self.others)


class StoredFix(Value):
    """A fix with its record of replays."""

    number: int
    fix: Fix
    successes: Count
    failures: Count
    """Failed replays on its own program."""
    transfers: Count
    misfits: Count
    """Failed replays on other programs; `transfers` counts the successful ones."""
    created: float
    used: float | None
    origin: str
    trusted: bool

    def fits(self, text: str) -> bool:
        """Whether a program is the repaired one, except for comments and layout."""
        return text == self.fix.before or skeleton(text) == skeleton(self.fix.before)


class StoredLesson(Value):
    number: int
    lesson: Lesson
    created: float
    origin: str


class UnknownEntry(BadInput):
    """The memory has no fix or lesson of this id."""


class Memory:
    """Fixes and lessons; use from one thread. Every method may raise `MemoryFault`."""

    def __init__(self, path: Path | None) -> None:
        self._name = str(path) if path is not None else "of this process"
        self.notice = ""
        self.skipped = 0
        """The number of invalid rows that were read; they are never used."""
        if path is None:
            self._db = open_temporary()
        else:
            self._db, self.notice = open_file(path)

    def close(self) -> None:
        self._db.close()

    def exact(self, failure: FailureKey) -> tuple[StoredFix, ...]:
        """Fixes of exactly this failure, the best first, except those that failed more often than
        they helped."""
        return self._fixes(
            "where signature = ? and failures <= successes "
            "order by trusted desc, standing = 'settled' desc, successes - failures desc, "
            "created desc limit ?",
            (failure.signature, MAX_MATCHES),
        )

    def find(self, failure: FailureKey, after: str) -> StoredFix | None:
        """The fix of exactly this failure with the repaired text `after`."""
        found = self._fixes("where signature = ? and after = ?", (failure.signature, after))
        return found[0] if found else None

    def alike(self, failure: FailureKey) -> tuple[StoredFix, ...]:
        return self._fixes(
            "where alike = ? and signature != ? and project = '' and misfits <= transfers "
            "order by trusted desc, transfers - misfits desc, created desc limit ?",
            (failure.alike, failure.signature, MAX_MATCHES),
        )

    def of_project(self, failure: FailureKey, project: str) -> tuple[StoredFix, ...]:
        """Fixes of a project, those of exactly this failure first."""
        return self._fixes(
            "where project = ? and failures <= successes "
            "order by signature = ? desc, successes - failures desc, created desc limit ?",
            (project, failure.signature, MAX_MATCHES),
        )

    def remember(
        self, fix: Fix, *, origin: str = OWN, trusted: bool = True,
        record: tuple[int, int] = (0, 0),
    ) -> None:
        """Stores a proven fix, or updates it with the newest proof; `record` is the numbers of
        successful and failed replays."""
        failure = fix.failure
        values = {
            **failure.model_dump(exclude={"passed"}), "alike": failure.alike,
            "before": fix.before, "after": fix.after, "note": fix.note,
            "proof_before": failure.passed, "proof_after": fix.proof,
            "confidence": fix.confidence, "standing": fix.competition,
            "rivals": fix.competing.to_json() if fix.competing is not None else "",
            "project": fix.project, "path": fix.path,
            "others": json.dumps([one.model_dump() for one in fix.others]),
            "successes": record[0], "failures": record[1],
            "created": time.time(), "origin": origin, "trusted": trusted, "version": FORMAT,
        }
        with memory_faults(self._name):
            self._db.execute(
                f"insert into fixes({', '.join(values)}) values({', '.join('?' * len(values))}) "
                "on conflict(signature, after) do update set "
                "proof_after = excluded.proof_after, confidence = excluded.confidence, "
                "note = excluded.note, "
                "others = excluded.others, "
                "rivals = iif(excluded.standing = 'settled' or excluded.rivals != '', "
                "excluded.rivals, rivals), "
                "standing = iif(excluded.standing = 'unknown', standing, excluded.standing)",
                tuple(values.values()),
            )

    def credit(self, known: StoredFix, *, helped: bool, other_failure: bool = False) -> None:
        """Counts a successful or failed replay on the fix's own program or elsewhere."""
        column = (("failures", "successes"), ("misfits", "transfers"))[other_failure][helped]
        with memory_faults(self._name):
            self._db.execute(
                f"update fixes set {column} = {column} + 1, used = ? where id = ?",
                (time.time(), known.number),
            )

    def trust(self, known: StoredFix, record: tuple[int, int]) -> None:
        """Marks a fix as trusted and adds its owner's record."""
        with memory_faults(self._name):
            self._db.execute(
                "update fixes set trusted = 1, successes = successes + ?, failures = failures + ? "
                "where id = ?", (*record, known.number),
            )

    def fixes(self) -> tuple[StoredFix, ...]:
        return self._fixes("order by created desc, id desc", ())

    def fix(self, key: int) -> StoredFix:
        """The fix of a number; raises `KeyError`."""
        found = self._fixes("where id = ?", (key,))
        if not found:
            raise KeyError(key)
        return found[0]

    def _fixes(self, clause: str, values: Sequence[object]) -> tuple[StoredFix, ...]:
        with memory_faults(self._name):
            rows = self._db.execute(f"select * from fixes {clause}", values).fetchall()
        found = []
        for row in rows:
            known = _read_fix(row)
            if known is None:
                self.skipped += 1
            else:
                found.append(known)
        return tuple(found)

    def learn(
        self, lesson: Lesson, symptom: FailureDescription | None = None, *, origin: str = OWN
    ) -> bool:
        """Stores a lesson; returns whether it is new."""
        symptom = symptom or FailureDescription()
        words = words_of(
            lesson.category, lesson.text, symptom.exception, symptom.message, symptom.cause
        )
        with memory_faults(self._name):
            return self._db.execute(
                "insert or ignore into lessons(text, category, words, names, created, origin) "
                "values(?,?,?,?,?,?)",
                (lesson.text, lesson.category, " ".join(words), " ".join(words_of(*symptom.names)),
                 time.time(), origin),
            ).rowcount > 0

    def lessons_for(self, symptom: FailureDescription, project: str = "") -> tuple[Lesson, ...]:
        """The most similar lessons, at most `MAX_LESSONS`; a project's only in that project."""
        query = query_of(symptom)
        if not query:
            return ()
        with memory_faults(self._name):
            rows = self._db.execute(
                "select lessons.* from lesson_index "
                "join lessons on lessons.id = lesson_index.rowid where lesson_index match ? "
                "and (substr(origin, 1, ?) <> ? or origin = ?) "
                "order by bm25(lesson_index, 3.0, 1.0), created desc limit ?",
                (query, len(OF_PROJECT), OF_PROJECT, project_origin(project), MAX_LESSONS),
            ).fetchall()
        return tuple(row.lesson for row in self._lessons(rows))

    def lessons(self) -> tuple[StoredLesson, ...]:
        with memory_faults(self._name):
            rows = self._db.execute(
                "select * from lessons order by created desc, id desc"
            ).fetchall()
        return tuple(self._lessons(rows))

    def _lessons(self, rows: Iterable[sqlite3.Row]) -> list[StoredLesson]:
        found = []
        for row in rows:
            try:
                found.append(StoredLesson(
                    number=row["id"], created=row["created"], origin=row["origin"],
                    lesson=Lesson(text=row["text"], category=row["category"]),
                ))
            except ValidationError:
                self.skipped += 1
        return found

    def named(self, keys: Iterable[str]) -> tuple[list[int], list[int]]:
        """The numbers of fixes and lessons by ids such as `3` and `L1`. Raises `UnknownEntry`."""
        fixes = {str(known.number): known.number for known in self.fixes()}
        lessons = {f"L{row.number}": row.number for row in self.lessons()}
        ids = [key.upper() for key in dict.fromkeys(keys)]
        if unknown := [key for key in ids if key not in fixes and key not in lessons]:
            raise UnknownEntry(
                f"There is no {', '.join(unknown)} in the memory; `memory list` shows its ids."
            )
        return (
            [fixes[key] for key in ids if key in fixes],
            [lessons[key] for key in ids if key in lessons],
        )

    def forget(self, fixes: Iterable[int] = (), lessons: Iterable[int] = ()) -> None:
        with memory_faults(self._name), write_transaction(self._db):
            self._db.executemany("delete from fixes where id = ?", [(key,) for key in fixes])
            self._db.executemany("delete from lessons where id = ?", [(key,) for key in lessons])

    def forget_all(self) -> None:
        """Deletes all rows permanently, including invalid ones."""
        with memory_faults(self._name), write_transaction(self._db):
            self._db.execute("delete from fixes")
            self._db.execute("delete from lessons")


def project_origin(root: str) -> str:
    """The origin of lessons of the project at this path."""
    return f"{OF_PROJECT}{root}"


def _read_fix(row: sqlite3.Row) -> StoredFix | None:
    values = dict(row) | {
        "number": row["id"], "passed": row["proof_before"], "proof": row["proof_after"],
        "competition": row["standing"],
    }
    try:
        stored = str(row["rivals"])
        values["competing"] = CompetingPatches.from_json(stored) if stored else None
        values["others"] = json.loads(str(row["others"]))
        failure = FailureKey.model_validate(_fields_of(FailureKey, values))
        fix = Fix.model_validate(_fields_of(Fix, values) | {"failure": failure})
        known = StoredFix.model_validate(_fields_of(StoredFix, values) | {"fix": fix})
    except ValueError:  # includes pydantic's errors
        return None
    return None if row["alike"] != failure.alike or fix.before == fix.after else known


def _fields_of(kind: type[Value], values: Mapping[str, object]) -> dict[str, object]:
    return {name: values[name] for name in kind.model_fields if name in values}
