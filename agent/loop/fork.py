"""Forks: a run that starts from a judged program of another run, with that run's test suite.
The initial state is stored in the fork's options, so a killed fork restarts identically."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, cast

from agent.core.domain import SPECIFYING_ORIGINS, Report, Solution, Task, TestCase, Value
from agent.core.events import Judged, LogEntry, Parent
from agent.core.state import State, Suite
from agent.log.store import Store
from agent.report.iterations import program_of
from agent.target.errors import BadInput
from agent.target.task import TestText, make_task, refuse_unwritable
from agent.target.test_analysis.unusable import contradiction

if TYPE_CHECKING:
    from agent.loop.graph import Engine

_PROGRAM_FIELDS = (
    "strategy", "note", "alternatives_id", "caveat", "other_repairs_fit", "competing_id",
    "transferred", "edited",
)
"""The state's fields that describe its current program."""


class BadFork(BadInput, ValueError):
    """The requested fork is impossible; the message says why and what is possible."""


@dataclass(frozen=True)
class Edits:
    """Differences between a fork and its parent."""

    code: Mapping[str, str] = field(default_factory=dict)
    """New file texts by path; an empty path is the entry file."""
    tests: Sequence[TestText] = ()
    """Tests to add; a test of the same name is replaced."""
    removed_tests: Sequence[str] = ()
    """Names of tests to remove."""


UNEDITED = Edits()


class Fork(Value):
    """The parent and the initial state of a fork."""

    parent: Parent
    state: Mapping[str, str | bool]

    @property
    def start(self) -> State:
        return cast(State, {"iteration": 0, **self.state})

    def with_test(self, test: TestCase, store: Store) -> Fork:
        suite = store.get(str(self.state["suite_id"]), Suite)
        grown = suite.model_copy(update={"visible": (*suite.visible, test)})
        return self.model_copy(update={"state": {**self.state, "suite_id": store.put(grown)}})


async def make_fork(
    run: str, task: Task, log: Sequence[LogEntry], iteration: int, edits: Edits, engine: Engine,
    store: Store,
) -> tuple[Task, Fork]:
    """Returns a fork's task and initial state. Raises `UnknownIteration`, `BadFork`, `BadInput`."""
    program = program_of(log, iteration).solution
    parent = await engine.state(run)
    if "base_id" not in parent:
        raise BadFork("The checkpoints of that run were deleted. Start a new run of its program.")
    suite, start_program = store.get(parent["suite_id"], Suite), program
    fresh: tuple[TestCase, ...] = ()
    if edits.code:
        start_program = apply_file_edits(program, edits.code)
    if edits.tests or edits.removed_tests:
        if task.project is not None:
            raise BadFork("A fork cannot change a project's tests. Change them in the project, "
                          "then start a new run.")
        fresh = await asyncio.to_thread(_read, edits.tests, start_program, task)
        suite = apply_test_edits(suite, fresh, edits.removed_tests, start_program)
    state: dict[str, str | bool] = {"suite_id": store.put(suite)}
    if edits.code:
        task = task.model_copy(update={"solution": start_program})
        state |= {"base_id": store.put(start_program), "solution_id": store.put(start_program)}
    else:
        found = await engine.state_with(run, program.id)
        state |= _program_state(program, parent, found, store)
        state |= _first_report(parent["base_id"], log, suite, store)
    removed = {*edits.removed_tests, *(test.name for test in fresh)}
    remaining = tuple(test for test in task.tests if test.name not in removed)
    task = task.model_copy(update={"tests": (*remaining, *fresh)})
    origin = Parent(run=run, iteration=iteration, edits=tuple(filter(None, (
        "other code" if edits.code else "",
        f"tests added: {len(fresh)}" if fresh else "",
        f"tests left out: {len(edits.removed_tests)}" if edits.removed_tests else "",
    ))))
    return task, Fork(parent=origin, state=state)


def _read(texts: Sequence[TestText], program: Solution, task: Task) -> tuple[TestCase, ...]:
    if not texts:
        return ()
    read = make_task(program.text, entry=program.entry, tests=texts, support=task.support,
                     package_folders=task.site_dirs).task.tests
    return tuple(test for test in read if test.origin == "user")


def apply_test_edits(
    suite: Suite, fresh: Sequence[TestCase], removed_tests: Sequence[str], program: Solution
) -> Suite:
    """Adds and removes tests. No test stays held out, because the user has seen all of them."""
    shown = suite.revealed()
    names = [test.name for test in shown.visible]
    unknown = [name for name in removed_tests if name not in names]
    if unknown:
        removable = [test.name for test in shown.visible if test.origin != "adversarial"]
        raise BadFork(f"There is no test {unknown[0]!r} to remove. Tests: {'; '.join(removable)}.")
    removed = {*removed_tests, *(test.name for test in fresh)}
    visible = (*(test for test in shown.visible if test.name not in removed), *fresh)
    pair = contradiction(
        [test for test in visible if test.origin in SPECIFYING_ORIGINS], program.text,
        PurePosixPath(program.entry).stem,
    )
    if pair is not None:
        raise BadFork(f"Two tests contradict each other, `{pair[0]}` and `{pair[1]}`: remove one "
                      "of them by its name.")
    return shown.model_copy(update={
        "visible": visible,
        "excluded": {name: why for name, why in shown.excluded.items() if name not in removed},
        "validated": tuple(name for name in shown.validated if name not in removed),
        "flaky": tuple(name for name in shown.flaky if name not in removed),
        "order_dependent": tuple(name for name in shown.order_dependent if name not in removed),
        "not_held_out": "edited" if suite.held_out else suite.not_held_out,
    })


def apply_file_edits(program: Solution, code: Mapping[str, str]) -> Solution:
    """Replaces file texts; the result counts as written by the user."""
    texts = {path or program.entry: text for path, text in code.items()}
    known = {file.path for file in program.files}
    unknown = [path for path in texts if path not in known]
    if unknown:
        raise BadFork(f"That program has no file {unknown[0]}. Files: {', '.join(sorted(known))}.")
    for text in texts.values():
        refuse_unwritable(text)
    edited = program.with_texts(texts).with_entry(program.entry)
    return edited.model_copy(update={"origin": "user", "note": "edited"})


def _program_state(
    program: Solution, parent: State, found: State, store: Store
) -> dict[str, str | bool]:
    base, key = parent["base_id"], store.put(program)
    state: dict[str, str | bool] = {"base_id": base, "solution_id": key}
    if "failure_id" in parent:
        state["failure_id"] = parent["failure_id"]
    if key == base:
        return state
    origin = "person" if program.origin == "user" else program.origin
    described = {
        name: found[name]  # type: ignore[literal-required]
        for name in _PROGRAM_FIELDS if name in found
    }
    # A model reviews a program that a model wrote; for any other, a search is tried first.
    if origin == "model":
        state["models_allowed"] = True
    return {"strategy": origin, "note": program.note, **described, **state, "search_start_id": key}


def _first_report(base: str, log: Sequence[LogEntry], suite: Suite, store: Store) -> dict[str, str]:
    """The address of the first program's report, limited to the remaining tests."""
    names = {test.name for test in suite.all}
    for entry in log:
        if isinstance(entry.event, Judged) and entry.event.report.solution == base:
            report: Report = entry.event.report
            left = tuple(one for one in report.verdicts if one.test in names or one.excluded)
            return {"report_id": store.put(report.model_copy(update={"verdicts": left}))}
    return {}
