"""Formats the saved fixes and lessons as tables for people and as JSON documents."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from rich.table import Table

from agent.core.domain import counted, unified
from agent.interfaces.terminal.display import age, table
from agent.memory import FailureKey, StoredFix, StoredLesson
from agent.memory.exchange import Imported
from agent.memory.fixes import Competition
from agent.report.words import PROOF_MEANING

_UNPARSED_AT = re.compile(r" \([^()]*, line #\)$")

STATUSES: dict[Competition, str] = {
    "unknown": "not known whether other repairs would also have passed",
    "open": "other repairs also passed, and none was chosen",
    "settled": "no other repair is known to pass, or this one was chosen",
}


def fix_table(fixes: Sequence[StoredFix]) -> Table:
    columns = ("id", "failure", "repair", "proof", "replays", "elsewhere", "age", "origin")
    return table(columns, [
        (str(known.number), _failure_words(known.fix.failure), known.fix.note, known.fix.proof,
         _share(known.successes, known.failures), _share(known.transfers, known.misfits),
         age(known.created), known.origin)
        for known in fixes
    ])


def lesson_table(lessons: Sequence[StoredLesson]) -> Table:
    return table(("id", "lesson", "age", "origin"), [
        (f"L{row.number}", row.lesson.text, age(row.created), row.origin) for row in lessons
    ])


def facts(known: StoredFix) -> Iterator[tuple[str, str]]:
    """Yields the properties of a fix, without its patch, each with its label."""
    fix, failure = known.fix, known.fix.failure
    yield "failure", _failure_words(failure)
    if failure.place:
        yield "place", f"a {failure.place} statement"
    yield "repair", fix.note
    after = f"{fix.proof} ({PROOF_MEANING[fix.proof]})"
    yield "proof", f"before: {failure.passed or 'not recorded'}; after: {after}"
    yield "others", STATUSES[fix.competition]
    yield "replays", _record(known.successes, known.failures)
    yield "elsewhere", _record(known.transfers, known.misfits)
    yield "saved", f"{age(known.created)}, {known.origin}{'' if known.trusted else ', untrusted'}"


def fix_document(known: StoredFix, *, whole: bool = False) -> dict[str, object]:
    """Returns a fix as a JSON document; `whole` adds its texts and diff."""
    fix, failure = known.fix, known.fix.failure
    shown_separately = {"number", "fix"}
    short: dict[str, object] = {
        "id": str(known.number), "exception": failure.exception, "message": failure.message,
        "place": failure.place, "note": fix.note, "proof_before": failure.passed,
        "proof_after": fix.proof, "competition": fix.competition, "standing": fix.competition,
        **known.model_dump(exclude=shown_separately),
    }
    if not whole:
        return short
    return short | {"before": fix.before, "after": fix.after, "diff": patch_of(known)}


def lesson_document(row: StoredLesson) -> dict[str, object]:
    return {
        "id": f"L{row.number}", "text": row.lesson.text, "category": row.lesson.category,
        "created": row.created, "origin": row.origin,
    }


def import_document(found: Imported) -> dict[str, object]:
    return {**vars(found), "refused": list(found.refused)}


def import_words(found: Imported) -> str:
    fixes, lessons = counted(found.fixes, "fix", "fixes"), counted(found.lessons, "lesson")
    words = f"Imported {fixes} and {lessons}"
    if found.trusted:
        words += f"; {counted(found.trusted, 'known fix', 'known fixes')} now trusted"
    if found.known:
        words += f"; {found.known} already known"
    return words + (f"; refused {len(found.refused)}." if found.refused else ".")


def patch_of(known: StoredFix) -> str:
    return "".join(
        unified(one.path or "program.py", one.before, one.after) for one in known.fix.files
    )


def _failure_words(failure: FailureKey) -> str:
    return _UNPARSED_AT.sub("", failure.words) or "not recorded"


def _record(helped: int, failed: int) -> str:
    return f"{helped} helped, {failed} failed" if helped or failed else "none yet"


def _share(helped: int, failed: int) -> str:
    return f"{helped} of {helped + failed}" if helped or failed else "-"
