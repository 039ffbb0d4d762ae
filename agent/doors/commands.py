"""What the terminal's commands do; each returns its exit code.

Everything a user did wrong leaves here as an exception with a sentence for people; `cli`
turns it into an exit code, and with `--json` into a document.
"""

from __future__ import annotations

import asyncio
import json
import signal
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import typer

from agent.core.domain import Report, Rivals, RunOutcome, Task
from agent.core.events import Stamped, Waiting, from_jsonl, to_jsonl
from agent.core.settings import Settings
from agent.doors.exits import (
    HEALED,
    INTERRUPTED,
    NOT_FIXABLE,
    USAGE,
    Requirements,
    exit_code,
    shortfall,
)
from agent.doors.terminal import Terminal
from agent.doors.writeback import NotWritten, write_all_new, write_back, write_new
from agent.intake.brought import Inputs
from agent.intake.errors import BadInput, NotFixable
from agent.log.result import KEPT, Result, document, fold, in_one_text
from agent.log.words import OUTCOME_WORDS, STANDING_SIGNS, raised_words, taking_words
from llm.plan import parse_roles

if TYPE_CHECKING:
    from agent.intake import PreparedTask, SourceFile
    from agent.run.session import Session

REFUSALS: dict[int, RunOutcome] = {NOT_FIXABLE: "not_fixable", INTERRUPTED: "cancelled"}
"""The outcome of a command that ended before a run had one, by exit code."""

OpenSession = Callable[[Settings], AbstractAsyncContextManager["Session"]]
Say = Callable[[str, str], None]
"""Takes a line of talk, and how it is styled."""


def unsaid(text: str, style: str) -> None:
    """Tells nobody."""


class Usage(Exception):
    """Arguments that parse, but cannot be used; the message says which and why."""


@dataclass(frozen=True)
class Display:
    """How a command speaks: to a person, or to a program in one JSON document."""

    terminal: Terminal
    json: bool = False

    def data(self, found: object) -> None:
        """The one document on standard output."""
        print(json.dumps(found, ensure_ascii=True, indent=2))


@dataclass(frozen=True)
class WriteOptions:
    """What a user wants to happen with a healed program."""

    out: Path | None = None
    log: Path | None = None
    apply: bool = False
    force: bool = False
    least: Requirements = field(default_factory=Requirements)


@dataclass(frozen=True)
class RunOptions:
    """What a user wants otherwise than the settings."""

    provider: str | None = None
    model: str | None = None
    roles: Sequence[str] = ()
    """As `ROLE=PROVIDER/MODEL`."""
    max_iterations: int | None = None
    ask: bool | None = None
    """Whether a person is asked where the tests leave several behaviours open."""
    budget_usd: float | None = None
    budget_s: float | None = None
    """Wall seconds; the search gets as much more or less."""
    require_confidence: float | None = None

    def settings(self, **given: object) -> Settings:
        """The settings of the environment with these; raises `Usage` and `BadSettings`."""
        try:
            roles = parse_roles(",".join(self.roles))
        except ValueError as error:
            raise Usage(f"--role: {error}") from error
        if self.budget_s is not None:
            given["model_s"] = 0.0  # whoever names the seconds means all of them
            given["search_s"] = Settings.from_env().search_seconds(self.budget_s)
        return Settings.from_env(None, **{**vars(self), "roles": roles or None}, **given)


def run(
    opener: OpenSession, inputs: Inputs, writing: WriteOptions, face: Display, options: RunOptions
) -> int:
    """Heals what was brought, shows the result, and writes where that was asked for. Without a
    person at the terminal nobody is asked."""
    _refuse_contradictions(inputs, writing)
    brought = _brought(inputs, face)
    settings = options.settings(drafts=_drafts() if inputs.path is None else None)
    if settings.ask and not attended(face):
        settings = settings.model_copy(update={"ask": False})
        face.terminal.say("note: nobody can be asked here; the likeliest repair is taken", "yellow")

    async def drive() -> tuple[Stamped, ...]:
        async with opener(settings) as session:
            run = await session.start(
                brought.task, title=inputs.title, **of_run(writing.least, face)
            )
            return await watched(session, run, face)

    return ended(
        asyncio.run(drive()), writing, face, brought.source, program=inputs.path is None
    )


def of_run(least: Requirements, face: Display) -> dict[str, Any]:
    """The arguments by which a session starts or forks a run of the terminal."""
    return {
        "pauses": attended(face),
        "require_proof": least.proof, "require_integrity": least.integrity,
    }


def ended(
    log: tuple[Stamped, ...], writing: WriteOptions, face: Display,
    source: SourceFile | None = None, *, program: bool = False,
) -> int:
    """Shows what a run came to, and writes where that was asked for; returns the exit code. Of a
    task in words the `program` is shown, unless it was written to where it was to go."""
    result = fold(log)
    code = exit_code(result, writing.least)
    kept, refusals = _kept(result, code, writing, log, source)
    result = replace(result, error=" ".join([result.error, *refusals]).strip())
    written = writing.out is not None and code == HEALED and not refusals
    show_result(against(result, writing.least), face, program=program and not written)
    for words in kept:
        face.terminal.say(words, "bold")
    for words in refusals:
        face.terminal.say(words, "bold red")
    return code or (USAGE if refusals else HEALED)


def check(opener: OpenSession, inputs: Inputs, least: Requirements, face: Display) -> int:
    """Judges what was brought by its tests, and repairs nothing."""

    _refuse_contradictions(inputs, WriteOptions())
    task = _brought(inputs, face).task
    result = asyncio.run(checked(opener, task, inputs.title, face.terminal.say))
    result = against(result, least)
    if face.json:
        face.data(document(result))
    else:
        face.terminal.checked(result)
    return exit_code(result, least)


async def checked(opener: OpenSession, task: Task, title: str, say: Say = unsaid) -> Result:
    """What the tests of a task say of its program as it is.

    Raises `NotFixable` for tests that run another program, and `Usage` where there is none.
    """
    from agent.intake import outside_failure_words, with_outside_failures

    solution = task.solution
    if solution is None:
        raise Usage("There is no program to judge; give a PATH.")
    started = time.monotonic()
    async with opener(Settings.from_env()) as session:
        jail = await session.jail(task)
        say(f"sandbox: {jail.words}", "dim")
        report = await session.judge(task, solution)
    if report.astray:
        raise NotFixable("invalid_tests", report.astray)
    report = with_outside_failures(report, task)
    aside = outside_failure_words(report)
    if aside:
        say(f"note: {aside}.", "yellow")
    shown = any(verdict.passed for verdict in report.verdicts) or not aside
    failed = any(verdict.fails for verdict in report.verdicts)
    good = shown and report.passed and not failed
    return Result(
        title=title,
        # What no test could say of the program, no edit of it can mend.
        outcome="healthy" if good else "unresolved" if shown or failed else "not_fixable",
        proof=("E0" if report.weakest is None else "E1") if good else None,
        reason=_unshown(report) if good else "" if shown or failed else f"{aside}.",
        code=solution.text,
        files=tuple((file.path, file.text) for file in solution.files),
        report=report,
        stdout=report.ending.stdout if report.ending else "",
        seconds=time.monotonic() - started,
        sandbox=jail.words,
        level=jail.level,
    )


def replay(source: str, face: Display) -> int:
    """Shows a saved run again."""
    log = read_log(source)
    with face.terminal.progress() as progress:
        for stamped in log:
            progress.show(stamped.event)
    show_result(fold(log), face, program=False)
    return HEALED


def read_log(source: str) -> tuple[Stamped, ...]:
    """The log of a saved run, from a file or, as `-`, from standard input; raises `Usage`."""
    try:
        text = sys.stdin.read() if source == "-" else Path(source).read_text(encoding="utf-8")
        log = from_jsonl(text)
    except OSError as error:
        raise Usage(f"{source} cannot be read: {error.strerror}.") from error
    except ValueError as error:
        first, _, _ = str(error).partition("\n")
        raise Usage(f"{source} is not a run's log: {first}") from error
    if not log:
        raise Usage(f"{source} holds no event; a run writes its log with --log FILE.")
    return log


def resume(opener: OpenSession, run_id: str | None, least: Requirements, face: Display) -> int:
    """Takes up the runs whose process was ended, or the one that is named; one that waits is asked
    about, also while the process that has asked lives on."""
    settings = Settings.from_env(drafts=_drafts())

    async def drive() -> tuple[Result, ...]:
        async with opener(settings) as session:
            taken = await session.recover(run_id, require_proof=least.proof)
            if run_id is not None and run_id not in taken:
                try:
                    result = fold(session.log(run_id))
                except KeyError as error:
                    raise Usage(f"There is no run {run_id} here; `resume` alone takes up all "
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
            show_result(result, face, program=False)
    return code


def list_examples(face: Display) -> int:
    """The worked tasks, one a line."""
    from agent.thinking.drafts import read_drafts

    drafts = read_drafts()
    if face.json:
        face.data([{"id": draft.id, "title": draft.title, "task": draft.task} for draft in drafts])
    else:
        width = max(len(draft.id) for draft in drafts) + 2
        for draft in drafts:
            print(f"{draft.id:<{width}}{draft.title}")
    return HEALED


def example_words(name: str | None) -> str:
    """The words of a worked task; the first when no name is given."""
    from agent.thinking.drafts import read_drafts

    drafts = read_drafts()
    if name is None:
        return drafts[0].task
    for draft in drafts:
        if draft.id == name:
            return draft.task
    raise Usage(f"There is no worked task {name!r}; choose one of: "
                f"{', '.join(draft.id for draft in drafts)}.")


def refused(face: Display, code: int, words: str) -> int:
    """Says why a command ended before it had a result; returns its exit code."""
    outcome: RunOutcome | None = REFUSALS.get(code)
    if face.json:
        face.data(document(Result(outcome=outcome, reason=words, error=words)))
    else:
        name = OUTCOME_WORDS[outcome] if outcome else "ERROR"
        face.terminal.say(f"{name}: {words}", "bold red")
    return code


def _refuse_contradictions(inputs: Inputs, writing: WriteOptions) -> None:
    """Refuses, before anything runs, what cannot end well."""
    if inputs.path is None and inputs.words is None:
        raise Usage("Nothing to do: give a PATH, - for standard input, or a task in words "
                    "with --task where that is offered.")
    if inputs.words is not None and not inputs.words.strip():
        raise Usage("The task is empty; say in words what the program must do.")
    if writing.apply and (inputs.path is None or inputs.path == "-"):
        raise Usage("--apply writes to PATH, and there is no file to write to; use --out FILE.")
    refuse_overwriting(writing)


def refuse_overwriting(writing: WriteOptions, *more: tuple[str, Path | None]) -> None:
    """Refuses files that are there already, before anything runs."""
    for option, path in (("--out", writing.out), ("--log", writing.log), *more):
        if path is not None and path.exists() and not writing.force:
            raise Usage(f"{option}: {path} exists; add --force to overwrite it.")
        if path is not None and not path.parent.is_dir():
            raise Usage(f"{option}: there is no folder {path.parent}.")


def _drafts() -> Mapping[str, str]:
    """The programs of the worked tasks, by their words."""
    from agent.thinking.drafts import by_words, read_drafts

    return by_words(read_drafts())


def _brought(inputs: Inputs, face: Display) -> PreparedTask:
    """Reads what was named and says what its reader must know about it."""
    from agent.intake import from_command_line

    brought = from_command_line(inputs)
    for notice in brought.notices:
        face.terminal.say(f"note: {notice}", "yellow")
    return brought


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
    """A person's word on a repair: yes, no, the program as they would have it, or a hint."""
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


def _chosen(asked: str, rivals: Rivals, face: Display) -> str:
    """A person's choice among behaviours, asked for until it is one."""
    from agent.repair.ranking.question import SKIP, BadAnswer, answered_test

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


def keep_log(writing: WriteOptions, log: tuple[Stamped, ...]) -> tuple[list[str], list[str]]:
    """Writes the run's log where that was asked for; what was done, and what was refused."""
    if writing.log is None:
        return [], []
    try:
        write_new(writing.log, to_jsonl(log).encode(), overwrite=writing.force)
    except NotWritten as error:
        return [], [str(error)]
    return [f"The run's log is in {writing.log}."], []


def _kept(
    result: Result, code: int, writing: WriteOptions, log: tuple[Stamped, ...],
    source: SourceFile | None,
) -> tuple[list[str], list[str]]:
    """Writes the log and the healed program where the user wants them.

    Returns what was done and what was refused; neither keeps the other from happening.
    """
    kept, refusals = keep_log(writing, log)
    try:
        kept += _keep_program(result, code, writing, source)
    except (NotWritten, BadInput) as error:
        refusals.append(str(error))
    return kept, refusals


def _keep_program(
    result: Result, code: int, writing: WriteOptions, source: SourceFile | None
) -> list[str]:
    if not (writing.apply or writing.out):
        return []
    if code != HEALED:
        taking = taking_words(result)
        said = "" if result.outcome == "cancelled" else "Nothing was written."  # said already
        given = f"The best program so far is given by: {taking}" if taking else ""
        return [" ".join(filter(None, (said, given)))] if said or given else []
    healed = source.encode(result.code) if source is not None else result.code.encode()
    kept = []
    if writing.out is not None and len(result.files) > 1:
        write_all_new(
            writing.out, {path: text.encode() for path, text in result.files},
            overwrite=writing.force,
        )
        kept.append(f"Wrote {', '.join(path for path, _ in result.files)} in {writing.out}.")
    elif writing.out is not None:
        write_new(writing.out, healed, overwrite=writing.force)
        kept.append(f"Wrote {writing.out}.")
    if writing.apply and source is not None and source.path is not None:
        if result.diff:
            backup = write_back(source.path, source.raw, healed)
            kept.append(f"Wrote {source.path}; what it was is kept in {backup.name}.")
        else:
            kept.append(f"{source.path} is left as it is.")
    return kept


def _unshown(report: Report) -> str:
    """Why verdicts without a failure show nothing; empty where they do."""
    if report.weakest is not None:
        return ""
    if not report.verdicts:
        return "there is no test; only the end of the program was seen"
    return f"no test shows anything: each sets itself aside, or {STANDING_SIGNS['vacuous'].meaning}"


def against(result: Result, least: Requirements) -> Result:
    """The result with its shortfall, where it has one, before its reason, and the next step
    after it."""
    missing, step = shortfall(result, least)
    if not missing:
        return result
    reason = f"{result.reason.rstrip('.')}." if result.reason else ""
    return replace(result, reason=" ".join(filter(None, (missing, reason, step))))


def show_result(result: Result, face: Display, *, program: bool) -> None:
    """The result: one document, or the talk and then the data, a patch or a program."""
    if face.json:
        face.data(document(result))
        return
    face.terminal.result(result)
    if result.outcome in KEPT:
        if program:
            face.terminal.program(result.program)
        else:
            face.terminal.patch(result.diff)
    elif result.best is not None and result.drafted:
        face.terminal.program(in_one_text(result.best.files))
