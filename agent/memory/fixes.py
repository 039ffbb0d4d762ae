"""Fixes and lessons in one SQLite file. A fix is found by its exact failure, or by a similar
failure of another program; it is replayed under the full verdict before use."""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, ValidationError

from agent.core.domain import CompetingPatches, FileChange, Lesson, ProofLevel, Value
from agent.core.sqlite import changing
from agent.memory.failures import FailureKey, skeleton
from agent.memory.file import FORMAT, open_file, open_nowhere, working
from agent.memory.lessons import MAX_LESSONS, FailureDescription, query_of, words_of
from agent.target.errors import BadInput

OWN = "own"
OF_PROJECT = "the project at "
"""How the origin of a project's lesson begins."""
LONGEST_PROGRAM = 200_000  # characters
MAX_LOOKED_AT = 40
"""Fixes that are looked at for one failure: its own, and then those of other programs."""

MAX_FILES = 6  # of a project, in one fix
MAX_COMPETING_LENGTH = 600_000  # characters of JSON

VerdictStatus = Literal["unknown", "open", "settled"]
"""Whether other repairs passed the tests too when a fix was learned, and no one has chosen."""
Count = Annotated[int, Field(ge=0)]


class Fix(Value):
    """A proven repair: what failed, and what helped."""

    failure: FailureKey
    before: Annotated[str, Field(max_length=LONGEST_PROGRAM)]
    after: Annotated[str, Field(max_length=LONGEST_PROGRAM)]
    proof: ProofLevel
    note: str = ""
    confidence: Annotated[float, Field(ge=0, le=1)] = 0.5
    """How likely it was right when it was learned; 1 where a person accepted it."""
    standing: VerdictStatus = "unknown"
    rivals: CompetingPatches | None = None
    project: str = ""
    """The key of the only project that is offered it; empty for a program."""
    path: str = ""
    others: Annotated[tuple[FileChange, ...], Field(max_length=MAX_FILES - 1)] = ()

    @classmethod
    def made(
        cls, failure: FailureKey, before: str, after: str, proof: ProofLevel, note: str,
        standing: VerdictStatus = "unknown", rivals: CompetingPatches | None = None,
        confidence: float = 0.5, *, project: str = "", path: str = "",
        others: tuple[FileChange, ...] = (),
    ) -> Fix | None:
        """The fix; `None` where a text is too long to be kept, or no text for a file."""
        fits = (
            standing == "open"
            and rivals is not None
            and len(rivals.to_json()) <= MAX_COMPETING_LENGTH
        )
        texts = [text for one in others for text in (one.before, one.after)]
        try:
            for text in (before, after, note, failure.message, *texts):
                text.encode()
            return None if max(map(len, texts), default=0) > LONGEST_PROGRAM else cls(
                failure=failure, before=before, after=after, proof=proof, note=note,
                standing=standing, rivals=rivals if fits else None, confidence=confidence,
                project=project, path=path, others=others,
            )
        except ValueError:
            return None

    @property
    def files(self) -> tuple[FileChange, ...]:
        """What was changed, by file."""
        return (FileChange(path=self.path, before=self.before, after=self.after), *self.others)


class StoredFix(Value):
    """A fix with its record."""

    number: int
    fix: Fix
    successes: Count
    failures: Count
    """Replays on its own program."""
    transfers: Count
    misfits: Count
    """Replays on other programs that helped, and that did not."""
    created: float
    used: float | None
    origin: str
    trusted: bool

    def fits(self, text: str) -> bool:
        """Whether a program is the one that was mended, up to comments and layout."""
        return text == self.fix.before or skeleton(text) == skeleton(self.fix.before)


class StoredLesson(Value):
    """A lesson with its record."""

    number: int
    lesson: Lesson
    created: float
    origin: str


class UnknownEntry(BadInput):
    """There is no fix or lesson of that id."""


class Memory:
    """Use from one thread. Every method raises `MemoryFault` where the file fails."""

    def __init__(self, path: Path | None) -> None:
        self._name = str(path) if path is not None else "of this process"
        self.notice = ""
        self.skipped = 0
        """Rows met that make no sense; they are never used."""
        if path is None:
            self._db = open_nowhere()
        else:
            self._db, self.notice = open_file(path)

    def close(self) -> None:
        self._db.close()

    # Fixes.

    def exact(self, failure: FailureKey) -> tuple[StoredFix, ...]:
        """Fixes of that very failure, the best first; none that failed more often than it
        helped."""
        return self._fixes(
            "where signature = ? and failures <= successes "
            "order by trusted desc, standing = 'settled' desc, successes - failures desc, "
            "created desc limit ?",
            (failure.signature, MAX_LOOKED_AT),
        )

    def kept(self, failure: FailureKey, after: str) -> StoredFix | None:
        """The fix of that very failure that made `after` of the program, whatever its record."""
        found = self._fixes("where signature = ? and after = ?", (failure.signature, after))
        return found[0] if found else None

    def alike(self, failure: FailureKey) -> tuple[StoredFix, ...]:
        """Fixes of other failures like that one."""
        return self._fixes(
            "where alike = ? and signature != ? and project = '' and misfits <= transfers "
            "order by trusted desc, transfers - misfits desc, created desc limit ?",
            (failure.alike, failure.signature, MAX_LOOKED_AT),
        )

    def of_project(self, failure: FailureKey, project: str) -> tuple[StoredFix, ...]:
        """Fixes of a project, those of that very failure first."""
        return self._fixes(
            "where project = ? and failures <= successes "
            "order by signature = ? desc, successes - failures desc, created desc limit ?",
            (project, failure.signature, MAX_LOOKED_AT),
        )

    def remember(
        self, fix: Fix, *, origin: str = OWN, trusted: bool = True,
        record: tuple[int, int] = (0, 0),
    ) -> None:
        """Keeps a proven fix, or updates it with the newest proof; `record`: replays that helped
        and failed."""
        failure = fix.failure
        values = {
            **failure.model_dump(exclude={"passed"}), "alike": failure.alike,
            "before": fix.before, "after": fix.after, "note": fix.note,
            "proof_before": failure.passed, "proof_after": fix.proof,
            "confidence": fix.confidence, "standing": fix.standing,
            "rivals": fix.rivals.to_json() if fix.rivals is not None else "",
            "project": fix.project, "path": fix.path,
            "others": json.dumps([one.model_dump() for one in fix.others]),
            "successes": record[0], "failures": record[1],
            "created": time.time(), "origin": origin, "trusted": trusted, "version": FORMAT,
        }
        with working(self._name):
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

    def credit(self, known: StoredFix, *, helped: bool, elsewhere: bool = False) -> None:
        """Counts a replay, on its own program or elsewhere: it helped, or it sinks."""
        column = (("failures", "successes"), ("misfits", "transfers"))[elsewhere][helped]
        with working(self._name):
            self._db.execute(
                f"update fixes set {column} = {column} + 1, used = ? where id = ?",
                (time.time(), known.number),
            )

    def trust(self, known: StoredFix, record: tuple[int, int]) -> None:
        """Treats a fix as one's own, and adds its owner's record."""
        with working(self._name):
            self._db.execute(
                "update fixes set trusted = 1, successes = successes + ?, failures = failures + ? "
                "where id = ?", (*record, known.number),
            )

    def fixes(self) -> tuple[StoredFix, ...]:
        """All of them, the newest first."""
        return self._fixes("order by created desc, id desc", ())

    def fix(self, key: int) -> StoredFix:
        """One of them; raises `KeyError`."""
        found = self._fixes("where id = ?", (key,))
        if not found:
            raise KeyError(key)
        return found[0]

    def _fixes(self, clause: str, values: Sequence[object]) -> tuple[StoredFix, ...]:
        with working(self._name):
            rows = self._db.execute(f"select * from fixes {clause}", values).fetchall()
        found = []
        for row in rows:
            known = _remembered(row)
            if known is None:
                self.skipped += 1
            else:
                found.append(known)
        return tuple(found)

    # Lessons.

    def learn(
        self, lesson: Lesson, symptom: FailureDescription | None = None, *, origin: str = OWN
    ) -> bool:
        """Keeps a lesson once; returns whether it is new."""
        shown = symptom or FailureDescription()
        words = words_of(
            lesson.category, lesson.text, shown.exception, shown.message, shown.cause
        )
        with working(self._name):
            return self._db.execute(
                "insert or ignore into lessons(text, category, words, names, created, origin) "
                "values(?,?,?,?,?,?)",
                (lesson.text, lesson.category, " ".join(words), " ".join(words_of(*shown.names)),
                 time.time(), origin),
            ).rowcount > 0

    def lessons_for(
        self, symptom: FailureDescription, project: str = ""
    ) -> tuple[Lesson, ...]:
        """The closest lessons, at most five; a project's lessons only in that project."""
        query = query_of(symptom)
        if not query:
            return ()
        with working(self._name):
            rows = self._db.execute(
                "select lessons.* from lesson_index "
                "join lessons on lessons.id = lesson_index.rowid where lesson_index match ? "
                "and (substr(origin, 1, ?) <> ? or origin = ?) "
                "order by bm25(lesson_index, 3.0, 1.0), created desc limit ?",
                (query, len(OF_PROJECT), OF_PROJECT, of_project(project), MAX_LESSONS),
            ).fetchall()
        return tuple(row.lesson for row in self._lessons(rows))

    def lessons(self) -> tuple[StoredLesson, ...]:
        """All of them, the newest first."""
        with working(self._name):
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

    # Forgetting.

    def named(self, keys: Iterable[str]) -> tuple[list[int], list[int]]:
        """Numbers of fixes and lessons by their ids, as `3` and `L1`. Raises: UnknownEntry."""
        fixes = {str(known.number): known.number for known in self.fixes()}
        lessons = {f"L{row.number}": row.number for row in self.lessons()}
        wanted = [key.upper() for key in dict.fromkeys(keys)]
        if unknown := [key for key in wanted if key not in fixes and key not in lessons]:
            raise UnknownEntry(f"There is no {', '.join(unknown)} in the memory; see its list.")
        return (
            [fixes[key] for key in wanted if key in fixes],
            [lessons[key] for key in wanted if key in lessons],
        )

    def forget(self, fixes: Iterable[int] = (), lessons: Iterable[int] = ()) -> None:
        """Drops these, for good."""
        with working(self._name), changing(self._db):
            self._db.executemany("delete from fixes where id = ?", [(key,) for key in fixes])
            self._db.executemany("delete from lessons where id = ?", [(key,) for key in lessons])

    def forget_all(self) -> None:
        """Drops everything, for good; also rows that make no sense."""
        with working(self._name), changing(self._db):
            self._db.execute("delete from fixes")
            self._db.execute("delete from lessons")


def of_project(root: str) -> str:
    """The origin of what the project at this place taught."""
    return f"{OF_PROJECT}{root}"


def _remembered(row: sqlite3.Row) -> StoredFix | None:
    values = dict(row) | {
        "number": row["id"], "passed": row["proof_before"], "proof": row["proof_after"],
    }
    try:
        values["rivals"] = CompetingPatches.from_json(str(row["rivals"])) if row["rivals"] else None
        values["others"] = json.loads(str(row["others"]))
        failure = FailureKey.model_validate(_of(FailureKey, values))
        fix = Fix.model_validate(_of(Fix, values) | {"failure": failure})
        known = StoredFix.model_validate(_of(StoredFix, values) | {"fix": fix})
    except ValueError:  # among them pydantic's
        return None
    return None if row["alike"] != failure.alike or fix.before == fix.after else known


def _of(kind: type[Value], values: Mapping[str, object]) -> dict[str, object]:
    return {name: values[name] for name in kind.model_fields if name in values}
