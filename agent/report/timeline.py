"""The steps of a run, its model calls, and the verdicts of each test on all judged programs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from string import ascii_lowercase

from agent.core.domain import Diagnosis, Origin, Report, Solution, Verdict
from agent.core.events import (
    Diagnosed,
    Event,
    FellBack,
    Judged,
    LogEntry,
    ModelAsked,
    ModelCalled,
    ModelFailed,
    Searched,
    Step,
    StepFinished,
    StepStarted,
    TestInfo,
)

ORIGIN_ORDER: tuple[Origin, ...] = (
    "user", "doctest", "task", "required", "confirmed", "spec", "contested", "held-out",
    "adversarial",
)


@dataclass(frozen=True)
class TimelineStep:
    """One step of the run; it is still running while `wall_ms` is `None`."""

    step: Step
    iteration: int
    task: str
    wall_ms: float | None = None
    events: tuple[Event, ...] = ()

    @property
    def search(self) -> Searched | None:
        return next((one for one in self.events if isinstance(one, Searched)), None)


Timeline = tuple[TimelineStep, ...]
SUBMITTED = "submitted"
"""The key of the program that the user submitted."""


@dataclass(frozen=True)
class ModelExchange:
    """One model call: the request and how it ended."""

    request: ModelAsked | None
    result: ModelCalled | ModelFailed | None


ModelExchanges = tuple[ModelExchange | FellBack, ...]


@dataclass(frozen=True)
class JudgedProgram:
    """One judged state of the program."""

    label: str
    iteration: int
    report: Report
    solution: Solution | None = None
    parent: int | None = None
    diagnosis: Diagnosis | None = None


@dataclass(frozen=True)
class TestHistory:
    """One test over the whole run; a cell is `None` where it was not run."""

    name: str
    origin: Origin
    code: str
    cells: tuple[Verdict | None, ...]

    @property
    def latest(self) -> Verdict | None:
        return next((cell for cell in reversed(self.cells) if cell is not None), None)

    def regressed_at(self, index: int) -> bool:
        """Whether the test fails in this program and passed in an earlier one."""
        cell = self.cells[index]
        if cell is None or not cell.fails:
            return False
        return any(earlier is not None and earlier.passed for earlier in self.cells[:index])


def with_event(timeline: Timeline, entry: LogEntry) -> Timeline:
    """Adds an event to the step of its task, or else to the last step."""
    event = entry.event
    if isinstance(event, StepStarted):
        return (*timeline, TimelineStep(event.step, event.iteration, entry.task))
    own = [n for n, one in enumerate(timeline) if one.task == entry.task]
    if isinstance(event, StepFinished):
        own = [n for n in own if timeline[n].step == event.step]
        return _with(timeline, own[-1], wall_ms=event.wall_ms) if own else timeline
    if not timeline:
        return timeline
    index = own[-1] if own else len(timeline) - 1
    before = timeline[index].events
    if isinstance(event, Searched):
        before = tuple(one for one in before if not isinstance(one, Searched))
    return _with(timeline, index, events=(*before, event))


def _with(timeline: Timeline, index: int, **changes: object) -> Timeline:
    changed = replace(timeline[index], **changes)  # type: ignore[arg-type]  # fields of a step
    return (*timeline[:index], changed, *timeline[index + 1 :])


def with_call(
    calls: ModelExchanges, event: ModelAsked | ModelCalled | ModelFailed | FellBack
) -> ModelExchanges:
    """The model calls after one more event."""
    match event:
        case FellBack():
            return (*calls, event)
        case ModelAsked():
            return (*calls, ModelExchange(event, None))
    for index, one in enumerate(calls):
        request = one.request if isinstance(one, ModelExchange) else None
        if isinstance(one, ModelExchange) and request is not None and request.call == event.call:
            return (*calls[:index], replace(one, result=event), *calls[index + 1 :])
    return (*calls, ModelExchange(None, event))


def with_diagnosis(
    tested: tuple[JudgedProgram, ...], event: Diagnosed
) -> tuple[JudgedProgram, ...]:
    """Adds a diagnosis to the last program that it is about."""
    places = [
        index for index, one in enumerate(tested)
        if event.solution in ("", one.report.solution)
    ]
    if not places:
        return tested
    at = places[-1]
    found = replace(tested[at], diagnosis=event.diagnosis)
    return (*tested[:at], found, *tested[at + 1 :])


def with_report(
    tested: tuple[JudgedProgram, ...], event: Judged, programs: Mapping[str, Solution]
) -> tuple[JudgedProgram, ...]:
    """Adds a report to the programs; a new report of the same iteration replaces the old one."""
    for index, one in enumerate(tested):
        if (one.report.solution, one.iteration) == (event.report.solution, event.iteration):
            again = replace(one, report=with_excluded(event.report, one.report))
            return (*tested[:index], again, *tested[index + 1 :])
    submitted = None if tested else programs.get(SUBMITTED)
    solution = programs.get(event.report.solution, submitted)
    label = _label(tested, event.iteration, solution.origin if solution is not None else "user")
    parents = [
        index for index, one in enumerate(tested)
        if solution is not None and one.report.solution == solution.parent
    ]
    # A parent that was never judged is replaced by the first program.
    parent = (parents[-1] if parents else 0) if tested else None
    return (*tested, JudgedProgram(label, event.iteration, event.report, solution, parent))


def _label(tested: tuple[JudgedProgram, ...], iteration: int, origin: str) -> str:
    """Names a program by its iteration, with a letter if the iteration has several."""
    if not tested:
        return "draft" if origin in ("draft", "model") else "before"
    name = f"iteration {iteration}" if iteration else "memory" if origin == "memory" else "start"
    others = sum(one.label.startswith(name) for one in tested if one.iteration == iteration)
    return f"{name}{ascii_lowercase[min(others, 25)] if others else ''}"


def with_excluded(report: Report, *others: Report) -> Report:
    """A report with the excluded tests of other reports added, unless it judges them itself."""
    judged = {verdict.name for verdict in report.verdicts}
    excluded = {
        verdict.name: verdict for other in others for verdict in other.verdicts
        if verdict.excluded and verdict.name not in judged
    }
    return report.model_copy(update={"verdicts": (*report.verdicts, *excluded.values())})


def rows(tests: tuple[TestInfo, ...], tested: tuple[JudgedProgram, ...]) -> Iterator[TestHistory]:
    """Tests ordered by origin, then by the order in which they joined the suite."""
    announced = {test.name: test for test in tests}
    place = {name: index for index, name in enumerate(announced)}
    cells: dict[tuple[str, str], list[Verdict | None]] = {}
    origins: dict[tuple[str, str], Origin] = {}
    for index, one in enumerate(tested):
        for verdict in one.report.verdicts:
            key = (verdict.test, verdict.name)
            cells.setdefault(key, [None] * len(tested))[index] = verdict
            origins.setdefault(key, verdict.origin)
    judged = {test for test, _ in cells}
    for name in announced.keys() - judged:
        cells[name, name] = [None] * len(tested)
        origins[name, name] = announced[name].origin

    def order(key: tuple[str, str]) -> tuple[int, int]:
        return ORIGIN_ORDER.index(origins[key]), place.get(key[0], len(place))

    for key in sorted(cells, key=order):
        code = announced[key[0]].code if key[0] in announced else ""
        yield TestHistory(key[1], origins[key], code, tuple(cells[key]))
