"""The fix memory: what healed a failure before, by the failure's exact signature.

A hit is only a candidate: it is replayed under the full verdict before use, and demoted
when it fails there. A program is never replaced by the fix of another one, since the
signature holds the program itself.
"""

from __future__ import annotations

import ast
import re
import sqlite3
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from agent.domain import Fix, Lesson, Report, Solution, TestCase, address

_SCHEMA = """
create table if not exists fixes(
    signature text not null, before text not null, after text not null, proof text not null,
    note text not null, successes integer not null default 0, failures integer not null default 0,
    created real not null, used real, primary key(signature, after));
create table if not exists lessons(
    text text not null, category text not null, created real not null,
    primary key(text, category));
"""

_VARIABLE = re.compile(r"0x[0-9a-f]+|\d+")


def signature(solution: Solution, tests: Sequence[TestCase], report: Report) -> str:
    """What identifies a failure: the program, its tests, and how they fail.

    The program counts without comments and layout where it parses. Numbers and addresses in
    messages are left out, since they vary between runs.
    """
    shape = [
        *(f"{file.path}\0{_skeleton(file.text)}" for file in solution.files),
        *sorted(test.code for test in tests),
        *(f"{v.name}\0{v.status}\0{_VARIABLE.sub('#', v.message)}" for v in report.failing),
    ]
    if report.ending is not None:
        shape.append(f"{report.ending.kind}\0{report.ending.exception}")
    return address("\1".join(shape))


def _skeleton(text: str) -> str:
    try:
        return ast.dump(ast.parse(text))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return text


@dataclass(frozen=True)
class Remembered:
    """A fix with its record."""

    fix: Fix
    successes: int
    failures: int


class Memory:
    """Fixes and lessons in one SQLite file; use from one thread."""

    def __init__(self, path: Path) -> None:
        self._db = sqlite3.connect(path, timeout=10, isolation_level=None)
        self._db.execute("pragma journal_mode=wal")
        self._db.execute("pragma synchronous=normal")
        self._db.executescript(_SCHEMA)

    def close(self) -> None:
        self._db.close()

    def recall(self, key: str) -> tuple[Remembered, ...]:
        """Fixes of that signature, best record first; a fix that failed more than it helped is
        no longer offered."""
        rows = self._db.execute(
            "select signature, before, after, proof, note, successes, failures from fixes "
            "where signature = ? and failures <= successes "
            "order by successes - failures desc, created desc",
            (key,),
        )
        return tuple(
            Remembered(
                Fix(signature=row[0], before=row[1], after=row[2], proof=row[3], note=row[4]),
                row[5],
                row[6],
            )
            for row in rows
        )

    def remember(self, fix: Fix) -> None:
        """Keeps a proven fix; the same one again takes its newest proof and note."""
        self._db.execute(
            "insert into fixes(signature, before, after, proof, note, created) "
            "values(?,?,?,?,?,?) on conflict(signature, after) do update set "
            "proof = excluded.proof, note = excluded.note",
            (fix.signature, fix.before, fix.after, fix.proof, fix.note, time.time()),
        )

    def credit(self, fix: Fix, helped: bool) -> None:
        """Counts a replay of the fix: it helped, or it failed and sinks."""
        column = "successes" if helped else "failures"
        self._db.execute(
            f"update fixes set {column} = {column} + 1, used = ? "
            "where signature = ? and after = ?",
            (time.time(), fix.signature, fix.after),
        )

    def learn(self, lesson: Lesson) -> None:
        """Keeps a lesson once."""
        self._db.execute(
            "insert or ignore into lessons(text, category, created) values(?,?,?)",
            (lesson.text, lesson.category, time.time()),
        )

    def lessons(self, category: str, limit: int = 5) -> tuple[Lesson, ...]:
        """The newest lessons of a category."""
        rows = self._db.execute(
            "select text, category from lessons where category = ? "
            "order by created desc limit ?",
            (category, limit),
        )
        return tuple(Lesson(text=row[0], category=row[1]) for row in rows)
