"""What the terminal's commands about the memory do; each returns its exit code."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import typer
from rich.table import Table
from rich.text import Text

from agent.commands import Face, Usage
from agent.domain import unified
from agent.exits import HEALED, NOT_HEALED, USAGE
from agent.memory import LessonRow, Memory, MemoryFault, Remembered
from agent.memory.exchange import LARGEST_FILE, BadExchange, Imported, exported, import_lines
from agent.memory.hub import HubFault, Place, sync
from agent.settings import Settings, data_folder
from agent.terminal import cut, printable
from agent.writeback import write_new

WHERE_TOKENS = "https://huggingface.co/settings/tokens"


@dataclass(frozen=True)
class Keys:
    """Rows named by a user: fixes by number, lessons as L and a number."""

    fixes: tuple[int, ...] = ()
    lessons: tuple[int, ...] = ()


def listed(face: Face) -> int:
    """Everything remembered, the newest first."""
    with _opened(face) as memory:
        fixes, lessons = memory.fixes(), memory.lessons()
        if face.json:
            face.data({
                "fixes": [_fix_document(known) for known in fixes],
                "lessons": [_lesson_document(row) for row in lessons], "skipped": memory.skipped,
            })
            return HEALED
        if not fixes and not lessons:
            face.terminal.say("Nothing is remembered yet.")
        if fixes:
            face.terminal.out.print(_fix_table(fixes))
        if lessons:
            face.terminal.out.print(_lesson_table(lessons))
        if memory.skipped:
            skipped = _count(memory.skipped, "row")
            face.terminal.say(f"{skipped} made no sense and will not be used.")
    return HEALED


def show(key: str, face: Face) -> int:
    """One fix, with its patch, or one lesson."""
    with _opened(face) as memory:
        keys = _known(memory, [key])
        if keys.lessons:
            row = next(row for row in memory.lessons() if row.number == keys.lessons[0])
            if face.json:
                face.data(_lesson_document(row))
            else:
                print(printable(row.lesson.text))
                face.terminal.say(f"{row.lesson.category}, {_age(row.created)}, {row.origin}")
            return HEALED
        known = memory.fix(keys.fixes[0])
    if face.json:
        face.data(_fix_document(known, whole=True))
        return HEALED
    for label, text in _facts(known):
        face.terminal.say(f"{label:<12}{text}")
    face.terminal.patch(_patch(known))
    return HEALED


def forget(keys: Sequence[str], face: Face, *, everything: bool, sure: bool) -> int:
    """Drops rows for good: those that are named, or all after a question."""
    if everything == bool(keys):
        raise Usage("Name what to forget (see `memory list`), or give --all; not both.")
    with _opened(face) as memory:
        if everything:
            if not (sure or _agreed(face, "Forget all fixes and lessons?")):
                face.terminal.say("Nothing was forgotten.")
                return NOT_HEALED
            count = len(memory.fixes()) + len(memory.lessons())
            memory.forget_all()
        else:
            found = _known(memory, keys)
            memory.forget(found.fixes, found.lessons)
            count = len(found.fixes) + len(found.lessons)
    return _told(face, {"forgotten": count}, f"Forgot {_count(count, 'row')}.")


def export(target: str, face: Face, *, force: bool) -> int:
    """Writes everything remembered as lines; `-` is standard output."""
    if target == "-" and face.json:
        raise Usage("The lines go to standard output; --json needs a FILE.")
    with _opened(face) as memory:
        found = exported(memory)
    if target == "-":
        sys.stdout.write(found.text)
    else:
        write_new(Path(target), found.text.encode(), overwrite=force)
    words = (
        f"Wrote {_count(found.fixes, 'fix', 'fixes')}, with the programs, and "
        f"{_count(found.lessons, 'lesson')}."
    )
    if found.held_back:
        words += (f" Left out {_count(found.held_back, 'row')}: too long, or with what looks like "
                  "a key or a home folder.")
    document = {"fixes": found.fixes, "lessons": found.lessons, "held_back": found.held_back}
    return _told(face, document, words)


def import_file(source: Path, face: Face, *, trusted: bool) -> int:
    """Takes in an export; lines that are refused are told, and the others are taken."""
    try:
        if source.stat().st_size > 4 * LARGEST_FILE:
            raise Usage(f"{source} is larger than {LARGEST_FILE:,} characters.")
        text = source.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise Usage(f"{source} cannot be read: {error}") from error
    with _opened(face) as memory:
        try:
            found = import_lines(memory, text, source.name, trusted=trusted)
        except BadExchange as error:
            raise Usage(f"{source} cannot be imported: {error}.") from error
    for refusal in found.refused[:20]:
        face.terminal.say(f"refused {refusal}", "yellow")
    _told(face, _import_document(found), _import_words(found))
    return USAGE if found.refused else HEALED


def share(face: Face, *, with_fixes: bool) -> int:
    """Shares lessons through the Hub, and takes in those of others."""
    settings = Settings.from_env()
    missing = [
        name for name, value in (
            ("HF_TOKEN", settings.hf_token), ("HF_LESSONS_REPO", settings.hf_lessons_repo)
        ) if not value
    ]
    if missing:
        raise Usage(
            f"Sharing needs HF_TOKEN and HF_LESSONS_REPO; {' and '.join(missing)} "
            f"{'is' if len(missing) == 1 else 'are'} not set. Make a token that may write at "
            f"{WHERE_TOKENS}, name a dataset of yours as owner/name, and put both into .env or "
            "the environment."
        )
    place = Place(
        settings.hf_lessons_repo, settings.hf_token, settings.environment.get("HF_ENDPOINT", "")
    )
    with _opened(face) as memory:
        try:
            done = sync(memory, place, with_fixes=with_fixes)
        except HubFault as error:
            raise Usage(f"Nothing was shared: {error}.") from error
    shared = f"Shared {_count(done.lessons, 'lesson')}"
    shared += f" and {_count(done.fixes, 'fix', 'fixes')}" if with_fixes else ""
    document = {
        "pulled": _import_document(done.pulled), "lessons": done.lessons, "fixes": done.fixes,
    }
    return _told(face, document, f"{shared}. {_import_words(done.pulled)}")


@contextmanager
def _opened(face: Face) -> Iterator[Memory]:
    """The memory; what is told of its file is said, and its faults become sentences."""
    folder, warning = data_folder(Settings.from_env())
    if warning:
        face.terminal.say(f"warning: {warning}", "yellow")
    try:
        memory = Memory(folder / "memory.db")
        if memory.notice:
            face.terminal.say(f"warning: {memory.notice}", "yellow")
        try:
            yield memory
        finally:
            memory.close()
    except MemoryFault as error:
        raise Usage(str(error)) from error


def _known(memory: Memory, keys: Sequence[str]) -> Keys:
    """The rows that are named; raises `Usage`, and then nothing is done, where one is not."""
    there = {
        **{str(known.number): (True, known.number) for known in memory.fixes()},
        **{f"L{row.number}": (False, row.number) for row in memory.lessons()},
    }
    unknown = [key for key in keys if key.upper() not in there]
    if unknown:
        raise Usage(f"There is no {', '.join(unknown)} in the memory; see `memory list`.")
    found = [there[key.upper()] for key in dict.fromkeys(keys)]
    return Keys(
        tuple(number for is_fix, number in found if is_fix),
        tuple(number for is_fix, number in found if not is_fix),
    )


def _agreed(face: Face, question: str) -> bool:
    if face.json or not sys.stdin.isatty():
        raise Usage("There is no one to ask; add --yes to forget everything.")
    return typer.confirm(question, err=True)


def _told(face: Face, document: Mapping[str, object], words: str) -> int:
    if face.json:
        face.data(document)
    else:
        face.terminal.say(words)
    return HEALED


def _fix_table(fixes: Sequence[Remembered]) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    for name in ("id", "failure", "what helped", "proof", "replays", "elsewhere", "age", "origin"):
        table.add_column(name, overflow="fold", no_wrap=name in ("id", "proof", "age"))
    for known in fixes:
        failure = known.fix.failure
        seen = f"{failure.exception}: {failure.message}".rstrip(": ") or "not recorded"
        table.add_row(*(
            Text(printable(cut(text))) for text in (
                str(known.number), seen, known.fix.note, known.fix.proof,
                _share(known.successes, known.failures),
                _share(known.transfers, known.misfits), _age(known.created), known.origin,
            )
        ))
    return table


def _lesson_table(lessons: Sequence[LessonRow]) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    for name in ("id", "lesson", "age", "origin"):
        table.add_column(name, overflow="fold", no_wrap=name in ("id", "age"))
    for row in lessons:
        table.add_row(*(
            Text(printable(cut(text)))
            for text in (f"L{row.number}", row.lesson.text, _age(row.created), row.origin)
        ))
    return table


def _facts(known: Remembered) -> Iterator[tuple[str, str]]:
    fix, failure = known.fix, known.fix.failure
    yield "failure", f"{failure.exception}: {failure.message}".rstrip(": ") or "not recorded"
    if failure.place:
        yield "place", f"a {failure.place} statement"
    yield "what helped", fix.note
    yield "proof", f"before: {failure.passed or 'not recorded'}; after: {fix.proof}"
    yield "replays", _record(known.successes, known.failures)
    yield "elsewhere", _record(known.transfers, known.misfits)
    yield "kept", f"{_age(known.created)}, {known.origin}{'' if known.trusted else ', untrusted'}"
    edit = fix.edit
    if edit is None:
        yield "edit", "stays with its own program"
        return
    for hunk in edit.hunks:
        place = f" in `{hunk.context}`" if hunk.context else ""
        old = f"`{hunk.old}` becomes " if hunk.old else f"{hunk.kind}: "
        yield "edit", f"{old}`{hunk.new}`{place}"


def _fix_document(known: Remembered, *, whole: bool = False) -> dict[str, object]:
    fix, failure = known.fix, known.fix.failure
    short: dict[str, object] = {
        "id": str(known.number), "exception": failure.exception, "message": failure.message,
        "place": failure.place, "note": fix.note, "proof_before": failure.passed,
        "proof_after": fix.proof, "successes": known.successes, "failures": known.failures,
        "transfers": known.transfers, "misfits": known.misfits, "created": known.created,
        "used": known.used, "origin": known.origin, "trusted": known.trusted,
    }
    if not whole:
        return short
    edit = fix.edit
    return short | {
        "before": fix.before, "after": fix.after,
        "edit": edit.model_dump() if edit is not None else None, "diff": _patch(known),
    }


def _lesson_document(row: LessonRow) -> dict[str, object]:
    return {
        "id": f"L{row.number}", "text": row.lesson.text, "category": row.lesson.category,
        "created": row.created, "origin": row.origin,
    }


def _import_document(found: Imported) -> dict[str, object]:
    return {
        "fixes": found.fixes, "lessons": found.lessons, "known": found.known,
        "refused": list(found.refused),
    }


def _import_words(found: Imported) -> str:
    fixes, lessons = _count(found.fixes, "fix", "fixes"), _count(found.lessons, "lesson")
    words = f"Took in {fixes} and {lessons}"
    words += f"; {found.known} were here already" if found.known else ""
    return words + (f"; refused {len(found.refused)}." if found.refused else ".")


def _patch(known: Remembered) -> str:
    return unified("program.py", known.fix.before, known.fix.after)


def _record(helped: int, failed: int) -> str:
    return f"{helped} helped, {failed} failed" if helped or failed else "none yet"


def _share(helped: int, failed: int) -> str:
    return f"{helped} of {helped + failed}" if helped or failed else "-"


def _age(created: float) -> str:
    seconds = max(0.0, time.time() - created)
    for size, name in ((86_400, "day"), (3_600, "hour"), (60, "minute")):
        if seconds >= size:
            count = int(seconds // size)
            return f"{count} {name}{'' if count == 1 else 's'} ago"
    return "just now"


def _count(number: int, noun: str, plural: str = "") -> str:
    return f"{number} {noun if number == 1 else plural or noun + 's'}"
