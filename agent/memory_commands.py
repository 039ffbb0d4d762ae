"""What the terminal's commands about the memory do; each returns its exit code."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import typer

from agent.commands import Face, Usage
from agent.exits import HEALED, NOT_HEALED, USAGE
from agent.memory import Memory, MemoryFault
from agent.memory.exchange import LARGEST_FILE, BadExchange, exported, import_lines
from agent.memory.hub import HubFault, Place, sync
from agent.memory_shown import (
    age,
    count_of,
    facts,
    fix_document,
    fix_table,
    import_document,
    import_words,
    lesson_document,
    lesson_table,
    patch_of,
)
from agent.settings import ANSWERS, Settings, data_folder
from agent.terminal import printable
from agent.writeback import write_new
from llm.cache import Answers

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
                "fixes": [fix_document(known) for known in fixes],
                "lessons": [lesson_document(row) for row in lessons], "skipped": memory.skipped,
            })
            return HEALED
        if not fixes and not lessons:
            face.terminal.say("Nothing is remembered yet.")
        if fixes:
            face.terminal.out.print(fix_table(fixes))
        if lessons:
            face.terminal.out.print(lesson_table(lessons))
        if memory.skipped:
            skipped = count_of(memory.skipped, "row")
            face.terminal.say(f"{skipped} made no sense and will not be used.")
    return HEALED


def show(key: str, face: Face) -> int:
    """One fix, with its patch, or one lesson."""
    with _opened(face) as memory:
        keys = _known(memory, [key])
        if keys.lessons:
            row = next(row for row in memory.lessons() if row.number == keys.lessons[0])
            if face.json:
                face.data(lesson_document(row))
            else:
                print(printable(row.lesson.text))
                face.terminal.say(f"{row.lesson.category}, {age(row.created)}, {row.origin}")
            return HEALED
        known = memory.fix(keys.fixes[0])
    if face.json:
        face.data(fix_document(known, whole=True))
        return HEALED
    for label, text in facts(known):
        face.terminal.say(f"{label:<12}{text}")
    face.terminal.patch(patch_of(known))
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
    return _told(face, {"forgotten": count}, f"Forgot {count_of(count, 'row')}.")


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
        f"Wrote {count_of(found.fixes, 'fix', 'fixes')}, with the programs, and "
        f"{count_of(found.lessons, 'lesson')}."
    )
    if found.held_back:
        left = count_of(found.held_back, "row")
        words += f" Left out {left}: too long, or with what looks like a key or a home folder."
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
    _told(face, import_document(found), import_words(found))
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
    shared = f"Shared {count_of(done.lessons, 'lesson')}"
    shared += f" and {count_of(done.fixes, 'fix', 'fixes')}" if with_fixes else ""
    document = {
        "pulled": import_document(done.pulled), "lessons": done.lessons, "fixes": done.fixes,
    }
    return _told(face, document, f"{shared}. {import_words(done.pulled)}")


def answers(face: Face, *, clear: bool) -> int:
    """How many answers of models are kept, or how many there were."""
    folder, _ = data_folder(Settings.from_env())
    path = folder / ANSWERS
    count, octets = 0, 0
    if path.exists():
        kept = Answers(path)
        try:
            count, octets = kept.size()
            if clear:
                kept.clear()
        finally:
            kept.close()
    told = "forgotten" if clear else "kept to be given again"
    return _told(
        face, {"answers": count, "bytes": octets, "cleared": clear, "error": None},
        f"{count} answers of models, {octets:,} bytes, are {told}.",
    )


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
