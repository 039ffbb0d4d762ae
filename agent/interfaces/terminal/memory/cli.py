"""The commands `memory …`. Each imports its dependencies when it runs."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from agent.interfaces.exits import HEALED, NOT_HEALED, USAGE
from agent.interfaces.terminal.options import Invocation, command

if TYPE_CHECKING:
    from agent.interfaces.terminal.commands import Display
    from agent.memory import Memory

TOKENS_URL = "https://huggingface.co/settings/tokens"
app = typer.Typer(
    help="Manage saved fixes and lessons: list, show, forget, export, import, sync.",
    no_args_is_help=True, rich_markup_mode=None,
)


@command(app, "as_json", name="list")
def list_all(call: Invocation) -> int:
    """List all fixes and lessons, newest first."""
    from agent.core.domain import counted
    from agent.interfaces.terminal.memory import tables

    display = call.display
    with _opened(display) as memory:
        fixes, lessons = memory.fixes(), memory.lessons()
        skipped = memory.skipped
    if display.json:
        display.data({
            "fixes": [tables.fix_document(known) for known in fixes],
            "lessons": [tables.lesson_document(row) for row in lessons], "skipped": skipped,
        })
        return HEALED
    if not fixes and not lessons:
        display.terminal.say("The memory is empty: no run has saved a fix or lesson yet.")
    if fixes:
        display.terminal.stdout.print(tables.fix_table(fixes))
    if lessons:
        display.terminal.stdout.print(tables.lesson_table(lessons))
    if skipped:
        display.terminal.say(f"{counted(skipped, 'row')} could not be read and will not be used.")
    return HEALED


@command(app, "key as_json")
def show(call: Invocation) -> int:
    """Show one fix with its patch, or one lesson."""
    from agent.interfaces.terminal.display import age, printable
    from agent.interfaces.terminal.memory import tables

    display = call.display
    with _opened(display) as memory:
        fixes, lessons = memory.named([call.given["key"]])
        for row in memory.lessons():
            if row.number in lessons:
                text = f"{row.lesson.category}, {age(row.created)}, {row.origin}"
                if not display.json:
                    print(printable(row.lesson.text))
                return _shown(display, tables.lesson_document(row), text)
        known = memory.fix(fixes[0])
    if display.json:
        display.data(tables.fix_document(known, whole=True))
        return HEALED
    for label, text in tables.facts(known):
        display.terminal.say(f"{label:<12}{text}")
    display.terminal.patch(tables.patch_of(known))
    return HEALED


@command(app, "keys everything sure as_json")
def forget(call: Invocation) -> int:
    """Delete fixes and lessons permanently."""
    from agent.core.domain import counted
    from agent.interfaces.request import UsageError

    keys, everything = call.given["keys"] or [], call.given["everything"]
    if everything == bool(keys):
        raise UsageError("Give the ids to forget (see `memory list`), or --all, but not both.")
    with _opened(call.display) as memory:
        if everything:
            if not (call.given["sure"] or _confirmed(call.display, "Forget everything?")):
                call.display.terminal.say("Nothing was forgotten.")
                return NOT_HEALED
            count = len(memory.fixes()) + len(memory.lessons())
            memory.forget_all()
        else:
            found = memory.named(keys)
            memory.forget(*found)
            count = sum(map(len, found))
    return _shown(call.display, {"forgotten": count}, f"Forgot {counted(count, 'row')}.")


@command(app, "target overwrite as_json")
def export(call: Invocation) -> int:
    """Write all fixes and lessons as JSON lines, including the programs."""
    from agent.core.domain import counted
    from agent.interfaces.request import UsageError
    from agent.interfaces.writeback import write_new
    from agent.memory.exchange import exported

    target = call.given["target"]
    if target == "-" and call.display.json:
        raise UsageError("--json cannot be combined with -, because both write to standard output. "
                         "Give a FILE.")
    with _opened(call.display) as memory:
        found = exported(memory)
    if target == "-":
        sys.stdout.write(found.text)
    else:
        write_new(Path(target), found.text.encode(), overwrite=call.given["overwrite"])
    words = (
        f"Wrote {counted(found.fixes, 'fix', 'fixes')}, including the programs, and "
        f"{counted(found.lessons, 'lesson')}."
    )
    if found.held_back:
        words += f" Left out {counted(found.held_back, 'row')}: from a project, too long, or with "
        words += "text that looks like a key or a home folder."
    document = {"fixes": found.fixes, "lessons": found.lessons, "held_back": found.held_back}
    return _shown(call.display, document, words)


@command(app, "source trusted as_json", name="import")
def import_file(call: Invocation) -> int:
    """Import fixes and lessons from a file; each fix is tested again before use."""
    from agent.interfaces.request import UsageError
    from agent.interfaces.terminal.memory.tables import import_document, import_words
    from agent.memory.exchange import LARGEST_FILE, BadExchange, import_lines

    source = call.given["source"]
    try:
        if source.stat().st_size > 4 * LARGEST_FILE:
            raise UsageError(f"{source} is larger than {LARGEST_FILE:,} characters.")
        text = source.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{source} cannot be read: {error}") from error
    with _opened(call.display) as memory:
        try:
            found = import_lines(memory, text, source.name, trusted=call.given["trusted"])
        except BadExchange as error:
            raise UsageError(f"{source} cannot be imported: {error}.") from error
    for refusal in found.refused[:20]:
        call.display.terminal.say(f"refused {refusal}", "yellow")
    _shown(call.display, import_document(found), import_words(found))
    return USAGE if found.refused else HEALED


@command(app, "with_fixes as_json")
def sync(call: Invocation) -> int:
    """Upload lessons to the dataset HF_LESSONS_REPO, and import those of others from it."""
    from agent.core.domain import counted
    from agent.core.settings import Settings
    from agent.interfaces.request import UsageError
    from agent.interfaces.terminal.memory.tables import import_document, import_words
    from agent.memory.hub import Dataset, HubFault, sync

    settings = Settings.from_env()
    given = {"HF_TOKEN": settings.hf_token, "HF_LESSONS_REPO": settings.hf_lessons_repo}
    missing = [name for name, value in given.items() if not value]
    if missing:
        raise UsageError(
            f"Sharing needs HF_TOKEN and HF_LESSONS_REPO; {' and '.join(missing)} "
            f"{'is' if len(missing) == 1 else 'are'} not set. Create a token with write access at "
            f"{TOKENS_URL}, choose a dataset of yours as owner/name, and put both into .env or "
            "the environment."
        )
    dataset = Dataset(
        settings.hf_lessons_repo, settings.hf_token, settings.environment.get("HF_ENDPOINT", "")
    )
    with _opened(call.display) as memory:
        try:
            done = sync(memory, dataset, with_fixes=call.given["with_fixes"])
        except HubFault as error:
            raise UsageError(f"Nothing was shared: {error}.") from error
    shared = f"Shared {counted(done.lessons, 'lesson')}"
    shared += f" and {counted(done.fixes, 'fix', 'fixes')}" if call.given["with_fixes"] else ""
    document = {
        "pulled": import_document(done.pulled), "lessons": done.lessons, "fixes": done.fixes,
    }
    return _shown(call.display, document, f"{shared}. {import_words(done.pulled)}")


@contextmanager
def _opened(display: Display) -> Iterator[Memory]:
    from agent.core.settings import Settings, data_folder
    from agent.interfaces.request import UsageError
    from agent.memory import Memory, MemoryFault

    folder, warning = data_folder(Settings.from_env())
    if warning:
        display.terminal.say(f"warning: {warning}", "yellow")
    try:
        memory = Memory(folder / "memory.db")
        if memory.notice:
            display.terminal.say(f"warning: {memory.notice}", "yellow")
        try:
            yield memory
        finally:
            memory.close()
    except MemoryFault as error:
        raise UsageError(str(error)) from error


def _confirmed(display: Display, question: str) -> bool:
    from agent.interfaces.request import UsageError

    if display.json or not sys.stdin.isatty():
        raise UsageError("Not interactive: add --yes to forget everything.")
    return typer.confirm(question, err=True)


def _shown(display: Display, document: Mapping[str, object], words: str) -> int:
    if display.json:
        display.data(document)
    else:
        display.terminal.say(words)
    return HEALED
