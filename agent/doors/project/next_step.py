"""What to do next with a project that was not healed, and what a model would be asked."""

from __future__ import annotations

from collections.abc import Iterator

from agent.core.domain import counted
from agent.core.settings import COMMAND, GENERATOR
from agent.doors.exits import USUAL, lacking
from agent.doors.next_step import TERMINAL, next_step, step_of
from agent.doors.project.look import Seen, task_to_heal
from agent.healing.context import PROMPTS
from agent.log.result import Result
from agent.thinking.wording import diagnosis, repair_question, suspects_of
from llm.asking.prompts import load

UNHEALED = ("unresolved", "budget")
LONGER = 5
"""Factor for the time of a search that was cut short."""


def next_steps(result: Result, seen: Seen) -> list[str]:
    """What to do next, a line each; none where nothing is left to do."""
    step = step_of(result, USUAL)
    if result.outcome not in UNHEALED or step in ("no answer", "disbelieved"):
        told = next_step(result, TERMINAL)
        return [f"Next: {told}"] if told and not lacking(result, USUAL) else []
    return ["Next, any of these:", *(f"  - {one}" for one in _helping(result, seen))]


def _helping(result: Result, seen: Seen) -> Iterator[str]:
    request, root = seen.request, seen.project.root
    others = len(seen.run.failing) - len(seen.wanted)
    failure = result.smallest_failure
    if result.cut_after is not None or result.stopped == "time":
        given = result.start.limit_s if result.start is not None else seen.settings.budget_s
        longer = LONGER * given
        yield f"give it more time: --timeout {longer:g} (it was cut short)"
    if others > 0:
        more = counted(others, "more test fails", "more tests fail")
        yield f"heal all that fails, as {more}: `{COMMAND} run {root}`"
    if len(seen.wanted) > 1 and failure is not None:
        yield f"heal one test alone, if the causes differ: `{COMMAND} run '{failure.name}'`"
    if not (request.since or seen.project.changed or seen.project.command):
        yield "say since which commit it fails: --since REV; what changed since is searched first"
    likely = [*dict(seen.project.changed), *(one.file for one in result.suspects)]
    if likely and not request.only and len(seen.project.editable) > 1:
        yield f"name the file, where you know it: --only {likely[0]}"
    yield "read the places above, and mend it by hand; or add a failing test of a smaller part"
    if result.provider == "mock":
        yield f"ask a model: `{COMMAND} plan` says who would answer; --report FILE has the question"


def question(result: Result, seen: Seen) -> str:
    """What a model would be asked of a project that was not healed; else empty."""
    if result.outcome not in UNHEALED or result.report is None or not seen.is_red:
        return ""
    task = task_to_heal(seen)
    assert task.solution is not None
    seen_of_it = result.of_submitted.diagnosis
    found = diagnosis(seen_of_it) if seen_of_it is not None else ""
    prompt = load(PROMPTS, GENERATOR)
    suspected = result.suspects or suspects_of((), task.solution)
    known = result.recalled.lessons if result.recalled is not None else ()
    return f"{prompt.instructions()}\n\n" + prompt.render("edit_files", repair_question(
        task, task.solution, result.report, task.tests, found=found, suspected=suspected,
        known=known,
    ))
