"""Implements the terminal commands. Each returns its exit code, and raises on unusable input."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import click
import typer

from agent.core.domain import CompetingPatches, RunOutcome
from agent.core.events import LogEntry, Waiting, from_jsonl
from agent.core.settings import COMMAND, Settings
from agent.interfaces.exits import (
    BUDGET,
    HEALED,
    INTERRUPTED,
    NOT_FIXABLE,
    USAGE,
    exit_code,
    with_missed_requirement,
)
from agent.interfaces.preparation import (
    NO_REQUEST,
    OpenSession,
    Preparation,
    checked,
    prepare,
    suite_result,
)
from agent.interfaces.project.selection import project_around
from agent.interfaces.request import HealRequest, UsageError
from agent.interfaces.terminal.display import Terminal, coloured
from agent.interfaces.terminal.outputs import write
from agent.report.result import ACCEPTED, Result, document, fold, in_one_text
from agent.report.words import OUTCOME_WORDS, extension_words
from agent.target.repository.layout import find_layout

if TYPE_CHECKING:
    from agent.interfaces.project.discovery import Inspection
    from agent.loop.session import Session

OUTCOME_BY_EXIT_CODE: dict[int, RunOutcome] = {
    NOT_FIXABLE: "not_fixable", INTERRUPTED: "cancelled", BUDGET: "budget"
}
"""The outcome for an exit code, if a command ended before its run started."""


@dataclass(frozen=True)
class Display:
    """The output of a command: text for a person, or one JSON document for a program."""

    terminal: Terminal
    json: bool = False
    annotates: bool = False
    """Whether standard output is workflow commands of GitHub."""

    def data(self, found: object) -> None:
        print(json.dumps(found, ensure_ascii=True, indent=2))


def run(opener: OpenSession, request: HealRequest, display: Display) -> int:
    """Heals the requested program or project, shows the result, and writes the output files."""
    if request.path is None and request.task is None:
        project = project_around(Path.cwd())
        request = replace(request, path=None if project is None else str(project))
    request.refuse_contradictions()
    if request.commit:
        from agent.interfaces.project.branch import check_committable

        check_committable(find_layout(request.start).root)
    settings = request.settings(drafts=_drafts() if request.path is None else None)
    if request.watch:
        if display.json or display.annotates:
            raise UsageError("--watch prints text only. Remove --json or --format, and run again.")
        from agent.interfaces.terminal.watching import heal_at_changes

        return asyncio.run(
            heal_at_changes(lambda: _heal(opener, request, settings, display), request, display)
        )
    return asyncio.run(_heal(opener, request, settings, display))


async def _heal(
    opener: OpenSession, request: HealRequest, settings: Settings, display: Display
) -> int:
    prepared = await prepare(request, settings, display.terminal.say)
    if prepared.inspected is not None:
        from agent.interfaces.project.display import show_failing

        show_failing(prepared.inspected, display)
    elif (request.ask or settings.ask) and not is_interactive(display):
        display.terminal.say("Not interactive: no question is asked.", "yellow")
    task = prepared.task
    if task is None:
        unchanged = await suite_result(prepared, request.require_integrity)
        return end_command(unchanged, (), request, display, prepared)
    async with opener(settings) as session:
        run = await session.start(
            task, title=prepared.title, judged=prepared.first_report(task), **request.run_arguments(
                pauses=is_interactive(display),
                asks=is_interactive(display) and prepared.inspected is None,
                spent_s=prepared.spent_s,
            ),
        )
        log = await show_progress(session, run, display, terse=prepared.inspected is not None)
    return end_command(prepared.heal_result(log), log, request, display, prepared)


def end_command(
    result: Result, log: tuple[LogEntry, ...], request: HealRequest, display: Display,
    prepared: Preparation = NO_REQUEST,
) -> int:
    """Shows a run's result, writes the requested files, and returns the exit code."""
    code = exit_code(result, request.required)
    if request.watch and result.outcome == "cancelled":
        return code
    done = write(result, code, request, log, prepared)
    result = replace(result, error=" ".join([result.error, *done.refusals]).strip())
    result = with_missed_requirement(result, request.required)
    if display.json:
        display.data(prepared.document(result, done.commits))
    else:
        written = request.out is not None and code == HEALED and not done.refusals
        is_task = prepared.submitted is not None and request.path is None
        show_result(
            _located(result, prepared), display, program=is_task and not written,
            inspected=prepared.inspected,
        )
        annotate(result, display, prepared)
        if prepared.inspected and result.diff and not request.writes and code == HEALED:
            done.messages.append(
                "Nothing was written. To write the repair, add --apply, --commit or --out FILE."
            )
    for words in done.messages:
        display.terminal.say(words, "bold")
    for words in done.refusals:
        display.terminal.say(words, "bold red")
    return code or (USAGE if done.refusals else HEALED)


def check(opener: OpenSession, request: HealRequest, display: Display) -> int:
    """Runs the tests of a program or project, without a repair."""
    request.refuse_contradictions()
    settings = request.settings()
    prepared, result = asyncio.run(checked(opener, request, settings, display.terminal.say))
    result = with_missed_requirement(result, request.required)
    if display.json:
        display.data(prepared.document(result))
    else:
        inspected = prepared.inspected
        display.terminal.checked(result, inspected.to_heal if inspected is not None else None)
        if result.outcome == "unresolved" and inspected is not None:
            root = inspected.project.root
            display.terminal.say(
                f"Next: run `{COMMAND} run {root}` to repair it, if its code is the cause.", "bold"
            )
        annotate(result, display, prepared)
    return exit_code(result, request.required)


def replay(source: str, display: Display) -> int:
    log = read_log(source)
    with display.terminal.progress() as progress:
        for entry in log:
            progress.show(entry.event)
    show_result(fold(log), display)
    return HEALED


def read_log(source: str) -> tuple[LogEntry, ...]:
    """Reads the log of a saved run from a file, or for `-` from standard input. Raises:
    UsageError."""
    try:
        text = sys.stdin.read() if source == "-" else Path(source).read_text(encoding="utf-8")
        log = from_jsonl(text)
    except OSError as error:
        raise UsageError(f"{source} cannot be read: {error.strerror}.") from error
    except ValueError as error:
        first, _, _ = str(error).partition("\n")
        raise UsageError(f"{source} is not a run's log: {first}") from error
    if not log:
        raise UsageError(f"{source} is empty. Write a run's log with --log FILE.")
    return log


def resume(opener: OpenSession, run_id: str | None, request: HealRequest, display: Display) -> int:
    """Resumes all interrupted runs, or the named one, and asks the questions they wait for."""
    settings, required = request.settings(drafts=_drafts()), request.required

    async def drive() -> tuple[Result, ...]:
        async with opener(settings) as session:
            taken = await session.recover(
                run_id, require_proof=required.proof, require_integrity=required.integrity,
                pauses=True if is_interactive(display) else None,
            )
            if run_id is not None and run_id not in taken:
                try:
                    result = fold(session.log(run_id))
                except KeyError as error:
                    raise UsageError(
                        f"There is no run {run_id}. `{COMMAND} runs` lists the saved runs."
                    ) from error
                if result.waiting is None:
                    return (result,)
                taken = (run_id,)  # another process may have asked the question
            results: list[Result] = []
            for run in taken:
                results.append(fold(await show_progress(session, run, display)))
                if results[-1].outcome == "cancelled":
                    break
            return tuple(results)

    results = asyncio.run(drive())
    code = max((exit_code(result, required) for result in results), default=HEALED)
    results = tuple(with_missed_requirement(result, required) for result in results)
    if display.json:
        display.data({"runs": [document(result) for result in results], "error": None})
    else:
        if not results:
            display.terminal.say("There is no interrupted run to resume.")
        for result in results:
            display.terminal.say(f"Run {result.run_id} {result.title}".rstrip(), "bold")
            show_result(result, display)
    return code


def list_examples(display: Display) -> int:
    from agent.propose.drafts import read_drafts

    drafts = read_drafts()
    if display.json:
        display.data([{"id": one.id, "title": one.title, "task": one.task} for one in drafts])
    else:
        width = max(len(draft.id) for draft in drafts) + 2
        for draft in drafts:
            print(f"{draft.id:<{width}}{draft.title}")
    return HEALED


def run_example(
    opener: OpenSession, name: str | None, request: HealRequest, display: Display
) -> int:
    """Heals the named example; without a name the first one."""
    from agent.propose.drafts import read_drafts

    drafts = read_drafts()
    words = {draft.id: draft.task for draft in drafts}.get(name or drafts[0].id)
    if words is None:
        raise UsageError(f"There is no example {name!r}. Choose one of: "
                         f"{', '.join(draft.id for draft in drafts)}.")
    display.terminal.say(f"Task: {words}", "bold")
    return run(opener, replace(request, task=words), display)


def print_error(display: Display, code: int, words: str) -> int:
    """Prints why a command ended without a result, and returns its exit code."""
    outcome: RunOutcome | None = OUTCOME_BY_EXIT_CODE.get(code)
    if display.json:
        display.data(document(Result(outcome=outcome, reason=words, error=words)))
    name = OUTCOME_WORDS[outcome] if outcome else "ERROR"
    display.terminal.say(f"{name}: {words}", "bold red")
    return code


def _drafts() -> Mapping[str, str]:
    from agent.propose.drafts import by_words, read_drafts

    return by_words(read_drafts())


async def show_progress(
    session: Session, run: str, display: Display, *, terse: bool = False
) -> tuple[LogEntry, ...]:
    """Shows a run until it ends and returns its log. Ctrl-C cancels the run."""
    last_seq = 0
    try:
        while True:
            with display.terminal.progress(terse=terse) as progress:
                async for batch in session.follow(run, last_seq):
                    last_seq = batch[-1].seq
                    for entry in batch:
                        progress.show(entry.event)
            if not await _ask_user(session, run, display):
                break
    except asyncio.CancelledError:
        task = asyncio.current_task()
        if task is not None:
            task.uncancel()
        display.terminal.say("Interrupted. Stopping the run.", "yellow")
        await session.cancel(run)
    return session.log(run)


async def _ask_user(session: Session, run: str, display: Display) -> bool:
    """Asks the user the question that the run waits for, and returns whether it was answered."""
    question = fold(session.log(run)).waiting
    if question is not None and question.needs == "key":
        return session.has_all_keys(run) and await session.answer(run, question.interrupt, {})
    if question is None or not is_interactive(display):
        return False
    # With asyncio's handler, Ctrl-C would have no effect until the question is answered.
    handler = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        if question.needs == "budget":
            display.terminal.say(question.question, "yellow")
            more = question.budget_extension is not None and typer.confirm(
                f"Add {extension_words(question.budget_extension)} and continue?", err=True
            )
            value: dict[str, object] = {} if more else {"end": True}
        elif question.needs == "permission":
            value = {"approve": typer.confirm(question.question, err=True)}
        elif question.competing is None:
            display.terminal.messages.print(coloured(question.diff), end="")
            value = _ask_for_review(question)
        else:
            value = {"answer": _ask_value(question.question, question.competing, display)}
    except typer.Abort:
        raise asyncio.CancelledError from None
    finally:
        signal.signal(signal.SIGINT, handler)
    return await session.answer(run, question.interrupt, value)


def _ask_for_review(question: Waiting) -> dict[str, object]:
    hinted = "" if question.hint_refusal else ", or a hint for another repair"
    prompt = f"{question.question}\n[y]es, [n]o, [e]dit{hinted}"
    reply: str = typer.prompt(prompt, err=True).strip()
    match reply.lower():
        case "y" | "yes":
            return {"approve": True}
        case "n" | "no":
            return {"approve": False}
        case "e" | "edit":
            edited = click.edit(question.tried or question.code, extension=".py")
            return _ask_for_review(question) if edited is None else {"code": edited}
        case _ if question.hint_refusal:
            typer.echo(f"Hints are not possible here: {question.hint_refusal}.", err=True)
            return _ask_for_review(question)
        case _:
            return {"approve": False, "hint": reply}


def is_interactive(display: Display) -> bool:
    """Whether a user can be asked at this terminal."""
    return not display.json and sys.stdin.isatty()


def _ask_value(question: str, patches: CompetingPatches, display: Display) -> str:
    from agent.search.ranking.question import SKIP, BadAnswer, answer_warning

    display.terminal.question(patches)
    labels = ", ".join(one.label for one in patches.behaviours)
    accepted = f"(a Python value, {labels} for the value of that patch, none or skip)"
    doubted = ""
    while True:
        answer: str = typer.prompt(
            "Enter or a value" if doubted else f"{question} {accepted}",
            default=doubted or None, show_default=False, err=True,
        )
        if answer.strip() == "none":
            answer = typer.prompt(
                f"What should {patches.call} return, as a Python value? (skip)",
                default=SKIP, show_default=False, err=True,
            )
        try:
            why = answer_warning(patches, answer)
        except BadAnswer as error:
            display.terminal.say(str(error), "yellow")
            continue
        if not why or answer == doubted:
            return answer
        doubted = answer
        display.terminal.say(f"{why}. Press Enter to go on, or type another value.", "yellow")


def _located(result: Result, prepared: Preparation) -> Result:
    """The result with a diff that `git apply` accepts in the current folder."""
    source = prepared.submitted.source if prepared.submitted is not None else None
    path = Path(os.path.relpath(source.path)).as_posix() if source and source.path else ".."
    if path.startswith("..") or result.diff.count("\n+++ b/") != 1:
        return result
    diff = re.sub(
        r"^(--- a|\+\+\+ b)/.*$", lambda header: f"{header[1]}/{path}", result.diff, count=2,
        flags=re.MULTILINE,
    )
    return replace(result, diff=diff)


def show_result(
    result: Result, display: Display, *, program: bool = False, inspected: Inspection | None = None
) -> None:
    """Shows a result as one JSON document, or as messages followed by a patch or a program."""
    if display.json:
        display.data(document(result))
        return
    display.terminal.result(result, inspected)
    if display.annotates:
        return
    if result.outcome in ACCEPTED:
        if program:
            display.terminal.program(result.program)
        else:
            display.terminal.patch(result.diff)
    elif result.best is not None and result.from_description:
        display.terminal.program(in_one_text(result.best.files))


def annotate(result: Result, display: Display, prepared: Preparation) -> None:
    if display.annotates:
        from agent.interfaces.project.github import workflow_commands
        from agent.interfaces.sarif import sarif

        sys.stdout.write(workflow_commands(sarif(result, prepared)))
