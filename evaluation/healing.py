"""Heals one case of a suite in a new session, then checks the truth in the jail.

Each session has a new folder, so that no case uses another's memory.
"""

from __future__ import annotations

import asyncio
import tempfile
import time
import traceback
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypedDict

from agent.core.domain import File, Solution, Task
from agent.core.events import LogEntry
from agent.iteration.context import HANGING_TESTS_PER_BUDGET
from agent.loop.session import Settings, open_session
from agent.report.result import Result, fold
from agent.target.discovery.snippets import tests_from_snippet
from agent.target.errors import BadInput, NotFixable
from agent.target.interpreter import site_folders
from agent.target.task import TestText, make_task
from agent.tools.python_run import CodeResult, run_python
from agent.verify.judge import check
from evaluation.cases import TRUTH_S, Case, TruthScript, same_answers
from sandbox import Limits, Sandbox, SandboxError

HEALED = ("healed", "proposed", "healthy")
"""Outcomes of programs that pass their tests."""
ROW_TIMEOUT_FACTOR = 16.0
"""The wall time of a row as a multiple of one search's budget: if a repair is refuted, a second
search follows, and the machine may be busy."""


class CaseRow(TypedDict):
    id: str
    outcome: str
    """The run's outcome; `refused` for invalid input, `failed` for an internal error."""
    proof: str | None
    confidence: float | None
    """The estimated probability that the repair is correct, if one was made."""
    files: dict[str, str]
    diff: str
    seconds: float
    iterations: int
    candidates: int
    rank1_held_out: bool | None
    """Whether the run's program is correct; `None` if the truth could not be checked."""
    any_held_out: bool | None
    """Whether any of the shown programs is correct."""


@dataclass(frozen=True)
class HealedCase:
    """A case's line, the log of its run, and the reason of a refusal or an error."""

    line: CaseRow
    log: tuple[LogEntry, ...] = ()
    why: str = ""


async def heal_case(case: Case, settings: Settings) -> HealedCase:
    """Heals a case, then checks the truth; errors of the sandbox and internal errors are raised."""
    started = time.monotonic()
    try:
        task = task_for(case)
    except (BadInput, NotFixable) as error:
        return HealedCase(line_of(case, "refused"), why=str(error))
    with tempfile.TemporaryDirectory(prefix="benchmark-") as folder:
        own = settings.model_copy(update={
            "data_dir": Path(folder), "drafts": {case.task: case.draft} if case.task else {},
        })
        async with open_session(own) as session:
            run = await session.start(task, ask=False)
            async for _ in session.follow(run):
                pass
            seconds = time.monotonic() - started
            log = session.log(run)
            result = fold(log)
            outcome = "failed" if result.error else str(result.outcome)
            line = line_of(case, outcome, result, seconds)
            why = result.error
            try:
                line = await _with_truth(line, case, result, session.sandbox)
            except SandboxError as error:
                why = f"the truth could not be checked: {error}"
                line = {**line, "rank1_held_out": None, "any_held_out": None}
    return HealedCase(line, log, why)


async def measure_case(case: Case, given: Mapping[str, Any]) -> HealedCase:
    """Heals a case; an error is reported in its row and does not end the other rows.

    Args:
        given: The arguments of `settings_for`. Other settings come from the environment.
    """
    task = asyncio.create_task(heal_case(case, settings_for(**given)))
    try:
        await asyncio.wait({task})
    finally:
        if not task.done():
            task.cancel()
            await asyncio.wait({task})
    fault = task.exception()
    if fault is None:
        return task.result()
    traceback.print_exception(fault)
    return HealedCase(line_of(case, "failed"), why=f"{type(fault).__name__}: {fault}")


def settings_for(
    provider: str, budget_s: float, candidates: int | None, max_iterations: int | None = None
) -> Settings:
    """The agent's settings for one row; others come from the environment."""
    return Settings.from_env(
        provider=provider, budget_s=budget_s * ROW_TIMEOUT_FACTOR, search_s=budget_s,
        test_wall_s=budget_s / HANGING_TESTS_PER_BUDGET, max_candidates=candidates,
        max_iterations=max_iterations, autonomy_level="full_auto",
    )


def task_for(case: Case) -> Task:
    """Creates the agent's task as the library does. Raises `BadInput` and `NotFixable`."""
    if case.mode not in ("asserts", "task"):
        raise BadInput(f"cases of the mode {case.mode} are not supported: use evaluation.claims")
    return make_task(
        None if case.task else case.program, words=case.task,
        tests=[TestText(text, f"tests[{number}]") for number, text in enumerate(case.tests)],
        package_folders=site_folders(),
    ).task


def line_of(
    case: Case, outcome: str, result: Result | None = None, seconds: float = 0.0
) -> CaseRow:
    """Creates a line whose program counts as incorrect if the case has a truth."""
    result = result or Result()
    known = False if case.has_truth else None
    return CaseRow(
        id=case.id, outcome=outcome, proof=result.proof, confidence=result.confidence,
        files=dict(result.files), diff=result.diff, seconds=round(seconds, 3),
        iterations=result.iterations, candidates=result.candidates, rank1_held_out=known,
        any_held_out=known,
    )


async def _with_truth(line: CaseRow, case: Case, result: Result, sandbox: Sandbox) -> CaseRow:
    """Adds the correctness of the final program and of the shown ones."""
    if not case.has_truth:
        return line
    shown = [one.solution.text for one in result.competing.behaviours] if result.competing else []
    right = {
        text: await is_right(case, {"program.py": text}, sandbox)
        for text in dict.fromkeys(shown if line["outcome"] not in HEALED else [result.code, *shown])
    }
    first = line["outcome"] in HEALED and right[result.code]
    return {**line, "rank1_held_out": first, "any_held_out": any(right.values())}


async def is_right(case: Case, changed: Mapping[str, str], sandbox: Sandbox) -> bool:
    """Whether the truth holds with changed files. Held-out asserts are judged like tests; answers
    to inputs are compared here. Raises `SandboxError`."""
    if case.held_out:
        files = {**case.submitted, **changed}
        program = Solution(
            files=tuple(File(path=path, text=text) for path, text in files.items()),
            entry="program.py",
        )
        tests = [test for code in case.held_out for test in tests_from_snippet(code, program.text)]
        task = Task(site_dirs=site_folders())
        report = await check(program, tests, task, sandbox, run_program=False)
        if not (report.verdicts and report.passed):
            return False
    elif case.truth and not await holds(case.truth_script(changed), sandbox):
        return False
    if not case.plus_inputs:
        return True
    runs = [await _run(case.answers_script(one), sandbox) for one in (case.reference, changed)]
    return same_answers(*(done.stdout for done in runs))


async def holds(script: TruthScript, sandbox: Sandbox) -> bool:
    """Whether a script succeeds in the jail. Raises `SandboxError`."""
    done = await _run(script, sandbox)
    return done.success and script.prints in done.stdout


async def _run(script: TruthScript, sandbox: Sandbox) -> CodeResult:
    return await run_python(
        script.arguments, script.files, sandbox, Limits(wall_s=TRUTH_S, cpu_s=TRUTH_S),
        package_folders=site_folders(),
    )
