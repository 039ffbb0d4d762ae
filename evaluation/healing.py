"""One row of a suite, healed in a session of its own, and the truth asked afterwards.

The session's folder is fresh, so that no row is helped by another. What it is brought is made
from `Row.broken` alone.
"""

from __future__ import annotations

import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TypedDict

from agent.core.domain import File, Rivals, Solution, Task
from agent.core.events import Stamped
from agent.doors.bundle import true_name
from agent.intake.environment import site_folders
from agent.intake.errors import BadInput, NotFixable
from agent.intake.task import TestText, make_task
from agent.log.result import Result, fold
from agent.run.session import Settings, open_session
from evaluation.suite import BadRow, Broken, Row, Truth
from evaluation.truth import right
from sandbox import Sandbox, SandboxError

HEALED = ("healed", "proposed", "healthy")
"""Outcomes of a program that passes the tests it was given."""


class Shown(TypedDict):
    """One behaviour that a reader may choose."""

    label: str
    gives: str
    note: str
    diff: str
    files: dict[str, str]


class Clusters(TypedDict):
    """The behaviours shown, and the call that tells them apart; the first is the healed one's."""

    call: str
    behaviours: list[Shown]


class Line(TypedDict):
    """What stands of a row in the results."""

    id: str
    outcome: str
    """That of the run; `refused` for what could not be run, `failed` for a fault of ours."""
    proof: str | None
    files: dict[str, str]
    diff: str
    seconds: float
    iterations: int
    candidates: int
    clusters: Clusters | None
    rank1_held_out: bool | None
    any_held_out: bool | None


@dataclass(frozen=True)
class Measured:
    """A row's line, the log of its run, and what a reader of the terminal must know."""

    line: Line
    log: tuple[Stamped, ...] = ()
    why: str = ""


async def measured(row: Row | BadRow, settings: Settings) -> Measured:
    """Heals a row, then asks the truth. Only a broken sandbox or a bug of ours raises."""
    if isinstance(row, BadRow):
        return Measured(line_of(row.id, "refused"), why=row.why)
    started = time.monotonic()
    try:
        task = brought(row.broken)
    except (BadInput, NotFixable) as error:
        return Measured(line_of(row.id, "refused", known=row.truth.known), why=str(error))
    words = row.broken.words
    with tempfile.TemporaryDirectory(prefix="benchmark-") as folder:
        own = settings.model_copy(update={
            "data_dir": Path(folder), "drafts": {words: row.broken.program} if words else {},
        })
        async with open_session(own) as session:
            run = await session.start(task, ask=False)
            async for _ in session.follow(run):
                pass
            seconds = time.monotonic() - started
            log = session.log(run)
            result = fold(log)
            line = line_of(
                row.id, "failed" if result.error else str(result.outcome), result, seconds,
                known=row.truth.known,
            )
            try:
                known = await _with_truth(line, result, row.truth, task, session.sandbox)
            except SandboxError as error:
                why = f"the truth could not be asked: {error}"
                return Measured({**line, "rank1_held_out": None, "any_held_out": None}, log, why)
    return Measured(known, log, result.error)


def brought(broken: Broken) -> Task:
    """What the agent is given, as its library gives it. Raises `BadInput` and `NotFixable`."""
    tests = [TestText(text, f"tests[{number}]") for number, text in enumerate(broken.tests)]
    code = None if broken.words else broken.program
    return make_task(code, words=broken.words, tests=tests, sites=site_folders().sites).task


def line_of(
    key: str, outcome: str, result: Result | None = None, seconds: float = 0.0,
    known: bool = False,
) -> Line:
    """A line whose program is not right; `known` says whether anything could have shown it so."""
    result = result or Result()
    return Line(
        id=key,
        outcome=outcome,
        proof=result.proof,
        files=dict(result.files),
        diff=result.diff,
        seconds=round(seconds, 3),
        iterations=result.iterations,
        candidates=result.candidates,
        clusters=_clusters(result.rivals),
        rank1_held_out=False if known else None,
        any_held_out=False if known else None,
    )


async def _with_truth(
    line: Line, result: Result, truth: Truth, task: Task, sandbox: Sandbox
) -> Line:
    """The line with what is true of the healed program, and of any that was shown."""
    healed = result.outcome in HEALED
    shown = [one.solution for one in result.rivals.behaviours] if result.rivals else []
    if healed:
        files = tuple(File(path=path, text=text) for path, text in result.files)
        shown.insert(0, Solution(files=files, entry=true_name(task)))
    texts = dict.fromkeys(one.files for one in shown)
    programs = [next(one for one in shown if one.files == files) for files in texts]
    if not programs:
        return line
    said = await right(truth, programs, task.sites, sandbox)
    if said is None:
        return {**line, "rank1_held_out": None, "any_held_out": None}
    return {**line, "rank1_held_out": healed and said[0], "any_held_out": any(said)}


def _clusters(rivals: Rivals | None) -> Clusters | None:
    if rivals is None:
        return None
    return Clusters(
        call=rivals.call,
        behaviours=[
            Shown(
                label=one.label, gives=one.raises or one.gives, note=one.note, diff=one.diff,
                files={file.path: file.text for file in one.solution.files},
            )
            for one in rivals.behaviours
        ],
    )
