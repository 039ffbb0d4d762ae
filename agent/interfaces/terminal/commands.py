"""What the terminal's commands do; each returns its exit code, and raises what a user did wrong."""

from __future__ import annotations

import asyncio
import json
import signal
import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import click
import typer

from agent.core.domain import CompetingPatches, RunOutcome
from agent.core.events import Stamped, Waiting, from_jsonl
from agent.core.settings import COMMAND
from agent.interfaces.exits import HEALED, INTERRUPTED, NOT_FIXABLE, USAGE, against, exit_code
from agent.interfaces.preparation import NOTHING, OpenSession, Prepared, checked, prepare, standing
from agent.interfaces.request import HealRequest, UsageError
from agent.interfaces.terminal.display import Terminal
from agent.interfaces.terminal.outputs import write
from agent.report.result import KEPT, Result, document, fold, in_one_text
from agent.report.words import OUTCOME_WORDS, raised_words
from agent.target.repository.layout import find_layout

if TYPE_CHECKING:
    from agent.interfaces.project.discovery import Seen
    from agent.loop.session import Session

REFUSALS: dict[int, RunOutcome] = {NOT_FIXABLE: "not_fixable", INTERRUPTED: "cancelled"}
"""The outcome of a command that ended before a run had one."""

@dataclass(frozen=True)
class Display:
    """How a command speaks: to a person, or to a program in one JSON document."""

    terminal: Terminal
    json: bool = False

    def data(self, found: object) -> None:
        """The one document on standard output."""
        print(json.dumps(found, ensure_ascii=True, indent=2))


def run(opener: OpenSession, request: HealRequest, face: Display) -> int:
    """Heals what is asked for, shows the result, and writes where that was asked for."""
    request.refuse_contradictions()
    if request.commit:
        from agent.interfaces.project.branch import refuse_what_cannot_be_committed

        refuse_what_cannot_be_committed(find_layout(request.start).root)
    settings = request.settings(drafts=_drafts() if request.path is None else None)
    prepared = asyncio.run(prepare(request, settings, face.terminal.say))
    if prepared.seen is not None:
        from agent.interfaces.project.display import show_failing

        show_failing(prepared.seen, face)
    elif (request.ask or settings.ask) and not attended(face):
        face.terminal.say("Not interactive: applying the top-ranked patch.", "yellow")
    task = prepared.task
    if task is None:
        status_so = asyncio.run(standing(prepared, request.require_integrity))
        return ended(status_so, (), request, face, prepared)

    async def drive() -> tuple[Stamped, ...]:
        async with opener(settings) as session:
            run = await session.start(
                task, title=prepared.title, **request.asked(
                    pauses=attended(face), asks=attended(face) and prepared.seen is None
                ),
            )
            return await watched(session, run, face, calm=prepared.seen is not None)

    log = asyncio.run(drive())
    return ended(prepared.concluded(log), log, request, face, prepared)


def ended(
    result: Result, log: tuple[Stamped, ...], request: HealRequest, face: Display,
    prepared: Prepared = NOTHING,
) -> int:
    """Shows a run's result, writes what was asked for, and returns the exit code."""
    code = exit_code(result, request.least)
    done = write(result, code, request, log, prepared)
    result = replace(result, error=" ".join([result.error, *done.refusals]).strip())
    result = against(result, request.least)
    if face.json:
        face.data(prepared.document(result, done.commits))
    else:
        written = request.out is not None and code == HEALED and not done.refusals
        in_words = prepared.submitted is not None and request.path is None
        show_result(result, face, program=in_words and not written, seen=prepared.seen)
        if prepared.seen is not None and result.diff and not request.writes and code == HEALED:
            done.kept.append("Next: nothing is written yet; add --apply, --commit or --out FILE.")
    for words in done.kept:
        face.terminal.say(words, "bold")
    for words in done.refusals:
        face.terminal.say(words, "bold red")
    return code or (USAGE if done.refusals else HEALED)


def check(opener: OpenSession, request: HealRequest, face: Display) -> int:
    """Judges what is asked for by its tests, and repairs nothing."""
    request.refuse_contradictions()
    settings = request.settings()
    prepared, result = asyncio.run(checked(opener, request, settings, face.terminal.say))
    result = against(result, request.least)
    if face.json:
        face.data(prepared.document(result))
    else:
        face.terminal.checked(result, prepared.seen.wanted if prepared.seen is not None else None)
        if result.outcome == "unresolved" and prepared.seen is not None:
            root = prepared.seen.project.root
            face.terminal.say(f"Next: `{COMMAND} run {root}` searches for a repair.", "bold")
    return exit_code(result, request.least)


def replay(source: str, face: Display) -> int:
    """Shows a saved run again."""
    log = read_log(source)
    with face.terminal.progress() as progress:
        for stamped in log:
            progress.show(stamped.event)
    show_result(fold(log), face)
    return HEALED


def read_log(source: str) -> tuple[Stamped, ...]:
    """The log of a saved run, from a file or, as `-`, from standard input; raises `UsageError`."""
    try:
        text = sys.stdin.read() if source == "-" else Path(source).read_text(encoding="utf-8")
        log = from_jsonl(text)
    except OSError as error:
        raise UsageError(f"{source} cannot be read: {error.strerror}.") from error
    except ValueError as error:
        first, _, _ = str(error).partition("\n")
        raise UsageError(f"{source} is not a run's log: {first}") from error
    if not log:
        raise UsageError(f"{source} holds no event; a run writes its log with --log FILE.")
    return log


def resume(opener: OpenSession, run_id: str | None, request: HealRequest, face: Display) -> int:
    """Resumes the interrupted runs, or the named one; one that waits is asked about."""
    settings, least = request.settings(drafts=_drafts()), request.least

    async def drive() -> tuple[Result, ...]:
        async with opener(settings) as session:
            taken = await session.recover(
                run_id, require_proof=least.proof, require_integrity=least.integrity,
                pauses=True if attended(face) else None,
            )
            if run_id is not None and run_id not in taken:
                try:
                    result = fold(session.log(run_id))
                except KeyError as error:
                    raise UsageError(f"There is no run {run_id} here; `resume` alone takes up all "
                                "that were interrupted.") from error
                if result.waiting is None:
                    return (result,)
                taken = (run_id,)  # whichever process has asked, its question is answered here
            results: list[Result] = []
            for run in taken:
                results.append(fold(await watched(session, run, face)))
                if results[-1].outcome == "cancelled":
                    break
            return tuple(results)

    results = asyncio.run(drive())
    code = max((exit_code(result, least) for result in results), default=HEALED)
    results = tuple(against(result, least) for result in results)
    if face.json:
        face.data({"runs": [document(result) for result in results], "error": None})
    else:
        if not results:
            face.terminal.say("No run was interrupted.")
        for result in results:
            face.terminal.say(f"Run {result.run_id} {result.title}".rstrip(), "bold")
            show_result(result, face)
    return code


def list_examples(face: Display) -> int:
    """The worked tasks, one a line."""
    from agent.propose.drafts import read_drafts

    drafts = read_drafts()
    if face.json:
        face.data([{"id": draft.id, "title": draft.title, "task": draft.task} for draft in drafts])
    else:
        width = max(len(draft.id) for draft in drafts) + 2
        for draft in drafts:
            print(f"{draft.id:<{width}}{draft.title}")
    return HEALED


def run_example(opener: OpenSession, name: str | None, request: HealRequest, face: Display) -> int:
    """Heals a worked task; the first when no name is given."""
    from agent.propose.drafts import read_drafts

    drafts = read_drafts()
    words = {draft.id: draft.task for draft in drafts}.get(name or drafts[0].id)
    if words is None:
        raise UsageError(f"There is no worked task {name!r}; choose one of: "
                    f"{', '.join(draft.id for draft in drafts)}.")
    face.terminal.say(f"Task: {words}", "bold")
    return run(opener, replace(request, task=words), face)


def refused(face: Display, code: int, words: str) -> int:
    """Says why a command ended before it had a result; returns its exit code."""
    outcome: RunOutcome | None = REFUSALS.get(code)
    if face.json:
        face.data(document(Result(outcome=outcome, reason=words, error=words)))
    else:
        name = OUTCOME_WORDS[outcome] if outcome else "ERROR"
        face.terminal.say(f"{name}: {words}", "bold red")
    return code


def _drafts() -> Mapping[str, str]:
    from agent.propose.drafts import by_words, read_drafts

    return by_words(read_drafts())


async def watched(
    session: Session, run: str, face: Display, *, calm: bool = False
) -> tuple[Stamped, ...]:
    """Shows a run until it ends and returns its log. Ctrl-C cancels the run, cleanly."""
    seen = 0
    try:
        while True:
            with face.terminal.progress(calm=calm) as progress:
                async for batch in session.follow(run, seen):
                    seen = batch[-1].seq
                    for stamped in batch:
                        progress.show(stamped.event)
            if not await _answered(session, run, face):
                break
    except asyncio.CancelledError:
        task = asyncio.current_task()
        if task is not None:
            task.uncancel()
        face.terminal.say("Interrupted; the run is being ended.", "yellow")
        await session.cancel(run)
    return session.log(run)


async def _answered(session: Session, run: str, face: Display) -> bool:
    """Asks the person at the terminal what the run waits for; without one it stays open."""
    question = fold(session.log(run)).waiting
    if question is not None and question.needs == "key":
        return session.can_go_on(run) and await session.answer(run, question.interrupt, {})
    if question is None or not attended(face):
        return False
    # The loop's own handler would let Ctrl-C wait until the question is answered.
    handler = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        if question.needs == "budget":
            face.terminal.say(question.question, "yellow")
            more = question.more is not None and typer.confirm(
                f"Add {raised_words(question.more)} and go on?", err=True
            )
            value: dict[str, object] = {} if more else {"end": True}
        elif question.needs == "leave":
            value = {"approve": typer.confirm(question.question, err=True)}
        elif question.rivals is None:
            face.terminal.patch(question.diff)
            value = _reviewed(question)
        else:
            value = {"answer": _chosen(question.question, question.rivals, face)}
    except typer.Abort:
        raise asyncio.CancelledError from None
    finally:
        signal.signal(signal.SIGINT, handler)
    return await session.answer(run, question.interrupt, value)


def _reviewed(question: Waiting) -> dict[str, object]:
    hinted = "" if question.unhinted else ", or what to do otherwise"
    asked = f"{question.question}\n[y]es, [n]o, [e]dit{hinted}"
    said: str = typer.prompt(asked, err=True).strip()
    match said.lower():
        case "y" | "yes":
            return {"approve": True}
        case "n" | "no":
            return {"approve": False}
        case "e" | "edit":
            edited = click.edit(question.tried or question.code, extension=".py")
            return _reviewed(question) if edited is None else {"code": edited}
        case _ if question.unhinted:
            typer.echo(f"A hint cannot be followed: {question.unhinted}.", err=True)
            return _reviewed(question)
        case _:
            return {"approve": False, "hint": said}


def attended(face: Display) -> bool:
    """Whether a person sits at the terminal."""
    return not face.json and sys.stdin.isatty()


def _chosen(asked: str, rivals: CompetingPatches, face: Display) -> str:
    from agent.search.ranking.question import SKIP, BadAnswer, answered_test

    face.terminal.question(rivals)
    labels = ", ".join(one.label for one in rivals.behaviours)
    while True:
        answer: str = typer.prompt(f"{asked} ({labels}, none or skip)", err=True)
        if answer.strip() == "none":
            answer = typer.prompt(
                f"What is right for {rivals.call}, as Python writes it? (skip)",
                default=SKIP, show_default=False, err=True,
            )
        try:
            answered_test(rivals, answer)
        except BadAnswer as error:
            face.terminal.say(str(error), "yellow")
        else:
            return answer


def show_result(
    result: Result, face: Display, *, program: bool = False, seen: Seen | None = None
) -> None:
    """The result: one document, or the talk and then the data, a patch or a program."""
    if face.json:
        face.data(document(result))
        return
    face.terminal.result(result, seen)
    if result.outcome in KEPT:
        if program:
            face.terminal.program(result.program)
        else:
            face.terminal.patch(result.diff)
    elif result.best is not None and result.drafted:
        face.terminal.program(in_one_text(result.best.files))
