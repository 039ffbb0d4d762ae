"""Implements the commands on saved runs: `runs`, `show`, `fork` and `compare`."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import AbstractContextManager
from pathlib import Path

from agent.core.domain import counted
from agent.core.events import Critiqued, Diagnosed, LogEntry, Parent, TestRuled, without_retries
from agent.core.settings import Settings
from agent.interfaces.exits import HEALED
from agent.interfaces.preparation import OpenSession
from agent.interfaces.request import HealRequest
from agent.interfaces.terminal.commands import (
    Display,
    end_command,
    is_interactive,
    read_log,
    show_progress,
)
from agent.interfaces.terminal.display import (
    TONE_STYLES,
    age,
    coloured,
    shown_lines,
    status_line,
    table,
)
from agent.iteration.models import LOCAL_USER
from agent.log.history import History, open_history
from agent.report.iterations import JudgedIteration, iterations, program_of, run_comparison
from agent.report.result import document, fold, in_one_text
from agent.report.words import APPROACH_WORDS, best_words
from agent.target.source import read_source
from agent.target.task import TestText, snippet_texts

SHOWN_ID = 8  # characters
FINDINGS = (Diagnosed, TestRuled, Critiqued)


def list_runs(limit: int, display: Display) -> int:
    with _history() as history:
        listed = history.runs(limit)
    if display.json:
        display.data({"runs": [one.document for one in listed]})
    elif not listed:
        display.terminal.say("There are no saved runs yet. Start one with `heal run PATH`.")
    else:
        display.terminal.stdout.print(table(("run", "outcome", "age", "title", "fork of"), [
            (one.id[:SHOWN_ID], one.status, age(one.created), one.title, _fork_of(one.parent))
            for one in listed
        ]))
    return HEALED


def show_run(name: str, iteration: int | None, display: Display) -> int:
    """Shows a run with all its programs, or prints the program of one iteration."""
    with _history() as history:
        log = _log(history, name)
        if iteration is None:
            return _show_all(log, display)
        one = program_of(log, iteration)
    if display.json:
        display.data({"run_id": fold(log).run_id, **one.document})
        return HEALED
    origin = "" if one.parent is None else f", derived from iteration {one.parent}"
    display.terminal.say(
        f"Iteration {one.iteration}: program by {one.by}{origin}; {one.passed} of "
        f"{counted(one.of, 'test')} pass", "bold",
    )
    display.terminal.tests(one.report, display.terminal.messages)
    display.terminal.messages.print(coloured(one.diff), end="")
    display.terminal.program(in_one_text([(file.path, file.text) for file in one.solution.files]))
    return HEALED


def compare_runs(left: str, right: str, display: Display) -> int:
    with _history() as history:
        found = run_comparison(_log(history, left), _log(history, right))
    if display.json:
        display.data(found.document)
        return HEALED
    for side in (found.left, found.right):
        display.terminal.messages.print(f"{side.run_id[:SHOWN_ID]} ", end="", style="bold")
        display.terminal.messages.print(status_line(side))
    if found.related:
        display.terminal.say(f"{found.related[0].upper()}{found.related[1:]}.")
    if found.differences:
        sides = (side.run_id[:SHOWN_ID] for side in (found.left, found.right))
        display.terminal.messages.print(table(("test", *sides), [
            (one.name, one.left or "(not run)", one.right or "(not run)")
            for one in found.differences
        ]))
    else:
        display.terminal.say("All tests have the same result in both runs.")
    display.terminal.patch(found.diff)
    return HEALED


def fork_run(
    opener: OpenSession, name: str, iteration: int, code: Sequence[str], request: HealRequest,
    display: Display,
) -> int:
    """Starts a new run from a program of a saved run, shows it, and returns its exit code.

    Args:
        name: The id of the saved run, or the path of its log.
        iteration: The iteration whose program is the start; 0 is the first program.
        code: Replacement texts; each is `FILE`, or `PATH=FILE` for one file of several.
        request: The settings and outputs of the new run, and tests to add or remove.
    """
    from agent.loop.fork import Edits

    request.refuse_overwriting()
    edits = Edits(_code(code), _tests(request), request.deselect)
    settings = request.settings()
    chosen = bool(request.provider or request.model or request.role)

    async def drive() -> tuple[LogEntry, ...]:
        async with opener(settings) as session:
            plan = session.plan() if chosen else None
            asks = is_interactive(display)
            arguments = request.run_arguments(pauses=asks, asks=asks)
            run = await session.fork(name, iteration, edits, plan=plan, **arguments)
            return await show_progress(session, run, display)

    log = asyncio.run(drive())
    if not display.json:
        display.terminal.say(f"Run {log[0].run}, a fork of {_fork_of(fold(log).parent)}.", "bold")
    return end_command(fold(log), log, request, display)


def _show_all(log: tuple[LogEntry, ...], display: Display) -> int:
    result, found = fold(log), iterations(log)
    if display.json:
        programs = [one.document for one in found]
        display.data({**document(result), "title": result.title, "programs": programs})
        return HEALED
    display.terminal.say(f"Run {result.run_id} {result.title}".rstrip(), "bold")
    if result.parent is not None:
        display.terminal.say(f"This is a fork of {_fork_of(result.parent)}.")
    display.terminal.messages.print(status_line(result))
    if result.reason:
        display.terminal.say(result.reason)
    display.terminal.stdout.print(table(("iteration", "from", "by", "how", "tests"), [
        (
            str(one.iteration), "" if one.parent is None else str(one.parent), one.by, _how(one),
            f"{one.passed} of {one.of}",
        ) for one in found
    ]))
    for entry in without_retries(log):
        if isinstance(entry.event, FINDINGS):
            for line in shown_lines(entry.event):
                display.terminal.say(line.text, TONE_STYLES[line.tone])
    if result.best is not None:
        display.terminal.say(best_words(result), "bold")
    return HEALED


def _how(one: JudgedIteration) -> str:
    approach = APPROACH_WORDS[one.approach] if one.approach else ""
    return ": ".join(filter(None, (approach, one.solution.note)))


def _fork_of(parent: Parent | None) -> str:
    if parent is None:
        return ""
    edits = f" ({', '.join(parent.edits)})" if parent.edits else ""
    return f"{parent.run[:SHOWN_ID]} at iteration {parent.iteration}{edits}"


def _log(history: History, name: str) -> tuple[LogEntry, ...]:
    return read_log(name) if Path(name).is_file() else history.log(name)


def _code(options: Sequence[str]) -> dict[str, str]:
    texts = {}
    for option in options:
        path, _, file = option.rpartition("=")
        texts[path] = read_source(Path(file)).text
    return texts


def _tests(request: HealRequest) -> tuple[TestText, ...]:
    texts = snippet_texts(request.tests)
    if request.tests_file is not None:
        source = read_source(request.tests_file)
        texts.append(TestText(source.text, source.name))
    return tuple(texts)


def _history() -> AbstractContextManager[History]:
    return open_history(Settings.from_env(), LOCAL_USER)
