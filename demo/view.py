"""What a reader of a run sees, as a pure fold of its events.

Any prefix of a log folds to a sensible view, so the live page, a reload and a replay are
the same function. Nothing here judges: every word of success comes from a report, a proof
or the run's own end.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import reduce
from typing import Literal, assert_never

from agent.domain import (
    OUTCOME_WORDS,
    PROOF_MEANING,
    Diagnosis,
    Ending,
    Origin,
    ProofLevel,
    Report,
    Rivals,
    Verdict,
    claim,
    tally,
)
from agent.events import (
    Ambiguous,
    Answered,
    CodeWritten,
    Critiqued,
    Diagnosed,
    Extended,
    FellBack,
    Judged,
    LessonLearned,
    ModelAsked,
    ModelCalled,
    ModelFailed,
    Notice,
    PartialFound,
    PatchProposed,
    Proved,
    Recalled,
    Resumed,
    RunFailed,
    RunFinished,
    RunStarted,
    Searched,
    Stamped,
    Step,
    StepFinished,
    StepStarted,
    TestInfo,
    TestsFrozen,
    Waiting,
    fold_attempts,
)
from agent.repair.question import in_words
from agent.spending import call_words, dollars

Tone = Literal["plain", "good", "bad", "warning"]
Phase = Literal["empty", "running", "waiting", "finished", "failed"]

ORIGIN_ORDER: tuple[Origin, ...] = (
    "user", "doctest", "spec", "held-out", "regression", "adversarial",
)


@dataclass(frozen=True)
class Remark:
    """One thing that was seen during a step."""

    text: str
    tone: Tone = "plain"


@dataclass(frozen=True)
class Moment:
    """One step of the run, running until its time is known."""

    step: Step
    iteration: int
    task: str
    wall_ms: float | None = None
    remarks: tuple[Remark, ...] = ()
    search: Searched | None = None


@dataclass(frozen=True)
class Column:
    """One judged state of the program."""

    label: str
    iteration: int
    report: Report


@dataclass(frozen=True)
class Row:
    """One check over the whole run; a cell is `None` where it was not run."""

    name: str
    origin: Origin
    code: str
    cells: tuple[Verdict | None, ...]

    @property
    def latest(self) -> Verdict | None:
        """The last verdict that this check got."""
        return next((cell for cell in reversed(self.cells) if cell is not None), None)

    def regressed_at(self, index: int) -> bool:
        """Whether the check fails in this column and passed in an earlier one."""
        cell = self.cells[index]
        if cell is None or not cell.fails:
            return False
        return any(earlier is not None and earlier.passed for earlier in self.cells[:index])


@dataclass(frozen=True)
class View:
    """A run as far as its log goes."""

    run: str = ""
    start: RunStarted | None = None
    moments: tuple[Moment, ...] = ()
    tests: tuple[TestInfo, ...] = ()
    columns: tuple[Column, ...] = ()
    diagnosis: Diagnosis | None = None
    recalled: Recalled | None = None
    seen_before: tuple[str, ...] = ()
    """Lessons of earlier failures that this one calls to mind."""
    patch: PatchProposed | None = None
    partial: PartialFound | None = None
    rivals: Rivals | None = None
    critique: Critiqued | None = None
    proof: Proved | None = None
    lessons: tuple[LessonLearned, ...] = ()
    models: tuple[ModelCalled | ModelFailed | FellBack, ...] = ()
    """What came of asking models, in order."""
    notices: tuple[Notice, ...] = ()
    waiting: Waiting | None = None
    finish: RunFinished | None = None
    failure: RunFailed | None = None
    began_at: float = 0.0
    last_at: float = 0.0

    @property
    def phase(self) -> Phase:
        if self.finish is not None:
            return "finished"
        if self.failure is not None:
            return "failed"
        if self.waiting is not None:
            return "waiting"
        return "running" if self.run else "empty"

    @property
    def spent(self) -> str:
        """What models have cost so far, calls without an answer too; empty before the first."""
        charged = [one for one in self.models if not isinstance(one, FellBack)]
        if not charged:
            return ""
        costs = [one.cost_usd for one in charged]
        known = [one for one in costs if one is not None]
        return cost(
            sum(one.tokens for one in charged), sum(known) if len(known) == len(costs) else None
        )

    @property
    def claim(self) -> str:
        """The proof that is claimed and how far its passes are believed; empty where there is
        none yet. A proof is of the program that was judged last."""
        level = self.proof.level if self.proof is not None else None
        if self.finish is not None:
            level = self.finish.proof
        if level is None:
            return ""
        report = self.columns[-1].report if self.columns else None
        if report is None:
            return claim(level, None)
        return claim(level, report.integrity, report.integrity_reason)

    @property
    def current(self) -> Moment | None:
        """The step that is running now."""
        if self.phase != "running":
            return None
        return next((moment for moment in reversed(self.moments) if moment.wall_ms is None), None)

    @property
    def diff(self) -> str:
        """The patch to show: the run's own, or the last one proposed."""
        if self.finish is not None:
            return self.finish.diff
        return self.patch.diff if self.patch is not None else ""

    @property
    def question(self) -> Rivals | None:
        """The behaviours a person may choose from now: the run waits for it, or has healed and
        left it open."""
        if self.waiting is not None:
            return self.waiting.rivals
        healed = self.finish is not None and self.finish.outcome == "healed"
        return self.rivals if healed else None

    @property
    def fitting(self) -> int:
        """How many repairs are known to fit the tests of a healed run, its own among them."""
        if self.finish is None or self.finish.outcome != "healed":
            return 1
        seen = self.proof.evidence if self.proof is not None else None
        known = len(self.rivals.behaviours) if self.rivals is not None else 1
        return max(known, seen.others + 1 if seen is not None else 1)

    @property
    def rows(self) -> tuple[Row, ...]:
        """Tests by origin; within one, in the order in which they joined the suite."""
        return tuple(_rows(self.tests, self.columns))

    @property
    def endings(self) -> tuple[Ending | None, ...]:
        """How the program as a script ended, for each column; empty when it never was run."""
        endings = tuple(column.report.ending for column in self.columns)
        return endings if any(ending is not None for ending in endings) else ()

    @property
    def smallest_failing(self) -> Verdict | None:
        """The failing check with the shortest call, of the program as it was at the start."""
        if not self.columns:
            return None
        failing = self.columns[0].report.failing
        return min(failing, key=lambda verdict: (not verdict.call, len(verdict.call)), default=None)


def fold(events: Iterable[Stamped]) -> View:
    """The view of a run's log, or of any prefix of it."""
    return reduce(_after, fold_attempts(events), View())


def _after(view: View, stamped: Stamped) -> View:
    at = stamped.at
    view = replace(
        view, run=view.run or stamped.run, began_at=view.began_at or at, last_at=at
    )
    event = stamped.event
    match event:
        case RunStarted():
            return replace(view, start=event)
        case StepStarted():
            moment = Moment(event.step, event.iteration, stamped.task)
            return replace(view, moments=(*view.moments, moment))
        case StepFinished():
            return _finished(view, stamped.task, event)
        case TestsFrozen():
            view = replace(view, tests=(*view.tests, *event.tests))
            count = len(event.tests)
            return _noted(view, stamped, f"{count} {_plural(count, 'test')} joined the suite")
        case CodeWritten():
            note = event.solution.note or f"code by {event.solution.origin}"
            return _noted(view, stamped, note)
        case Judged():
            return _noted(_judged(view, event), stamped, *_seen(event.report))
        case Diagnosed():
            view = replace(view, diagnosis=event.diagnosis)
            return _noted(view, stamped, event.diagnosis.cause)
        case Searched():
            return _searched(view, stamped.task, event)
        case Recalled():
            tone: Tone = "good" if event.hit and event.replayed else "plain"
            view = replace(view, recalled=event, seen_before=view.seen_before + event.lessons)
            return _noted(view, stamped, event.note, tone)
        case PatchProposed():
            # What else would do is known of each patch anew.
            view = replace(view, patch=event, rivals=None)
            return _noted(view, stamped, f"{event.strategy}: {event.note}")
        case PartialFound():
            text = f"best partial patch: {event.passed} of {event.total} tests pass; not a fix"
            return _noted(replace(view, partial=event), stamped, text, "warning")
        case Ambiguous():
            count = len(event.rivals.behaviours)
            text = f"{count} behaviours pass the tests: {in_words(event.rivals)}"
            return _noted(replace(view, rivals=event.rivals), stamped, text, "warning")
        case Critiqued():
            text = f"{event.verdict}: {event.note}" if event.note else event.verdict
            tone = "good" if event.verdict == "approve" else "bad"
            return _noted(replace(view, critique=event), stamped, text, tone)
        case Proved():
            rivals = None if event.settles_rivals else view.rivals
            view = replace(view, proof=event, rivals=rivals)
            return _noted(view, stamped, f"proof {view.claim}; {event.why}", "good")
        case LessonLearned():
            view = replace(view, lessons=(*view.lessons, event))
            return _noted(view, stamped, event.text)
        case ModelCalled():
            view = replace(view, models=(*view.models, event))
            return _noted(view, stamped, model_words(event))
        case ModelAsked():
            return view
        case ModelFailed() | FellBack():
            view = replace(view, models=(*view.models, event))
            return _noted(view, stamped, model_words(event), "warning")
        case Extended():
            return _noted(view, stamped, f"the caps were raised by {_raised(event)}")
        case Notice():
            tone = "plain" if event.level == "info" else "warning"
            view = replace(view, notices=(*view.notices, event))
            return _noted(view, stamped, event.text, tone)
        case Waiting():
            return _noted(replace(view, waiting=event), stamped, event.question, "warning")
        case Answered():
            asked = view.waiting is not None and view.waiting.rivals is not None
            view = replace(view, waiting=None, rivals=None if asked else view.rivals)
            return _noted(view, stamped, f"answered: {event.answer}")
        case Resumed():
            return _noted(view, stamped, event.note, "warning")
        case RunFinished():
            return replace(view, finish=event, waiting=None)
        case RunFailed():
            return replace(view, failure=event, waiting=None)
        case _:
            assert_never(event)


def _finished(view: View, task: str, event: StepFinished) -> View:
    moments = list(view.moments)
    for index in reversed(range(len(moments))):
        if moments[index].task == task and moments[index].step == event.step:
            moments[index] = replace(moments[index], wall_ms=event.wall_ms)
            return replace(view, moments=tuple(moments))
    return view


def _place(view: View, task: str) -> int | None:
    """The step an event belongs to: its own task's, else the last one."""
    for index in reversed(range(len(view.moments))):
        if view.moments[index].task == task:
            return index
    return len(view.moments) - 1 if view.moments else None


def _noted(view: View, stamped: Stamped, text: str, tone: Tone = "plain") -> View:
    index = _place(view, stamped.task)
    if index is None or not text:
        return view
    moment = view.moments[index]
    moment = replace(moment, remarks=(*moment.remarks, Remark(text, tone)))
    return replace(view, moments=(*view.moments[:index], moment, *view.moments[index + 1 :]))


def _searched(view: View, task: str, event: Searched) -> View:
    index = _place(view, task)
    if index is None:
        return view
    moment = replace(view.moments[index], search=event)
    return replace(view, moments=(*view.moments[:index], moment, *view.moments[index + 1 :]))


def _judged(view: View, event: Judged) -> View:
    """A solution judged again in its iteration, under a grown suite, keeps its column."""
    columns = list(view.columns)
    for index, column in enumerate(columns):
        same = column.report.solution == event.report.solution
        if same and column.iteration == event.iteration:
            columns[index] = replace(column, report=event.report)
            return replace(view, columns=tuple(columns))
    label = "before" if not columns else f"try {len(columns)}"
    return replace(view, columns=(*columns, Column(label, event.iteration, event.report)))


def _seen(report: Report) -> tuple[str, Tone]:
    if report.verdicts:
        shown = all(verdict.shows for verdict in report.verdicts)
        tone: Tone = "good" if shown else "warning" if report.passed else "bad"
        return tally(report.verdicts, _plural(len(report.verdicts), "check")), tone
    if report.ending is None:
        return "nothing was run", "warning"
    return told(report.ending), "bad" if report.ending.crashed else "good"


def told(ending: Ending) -> str:
    """How a program ended, in a few words, and what the jail refused it."""
    return "; ".join([_told_end(ending), *ending.refused])


def _told_end(ending: Ending) -> str:
    match ending.kind:
        case "completed":
            return "the program ran to its end"
        case "exited":
            return f"the program ended itself with exit code {ending.exit_code}{ending.said}"
        case "raised":
            where = f" on line {ending.line}" if ending.line is not None else ""
            return f"{ending.exception or 'an exception'}{where}{ending.said}"
        case "timeout":
            return ending.limit or "the program did not end in time"
        case "killed":
            return ending.limit or "the program was killed"
        case _:
            assert_never(ending.kind)


def _rows(tests: tuple[TestInfo, ...], columns: tuple[Column, ...]) -> Iterator[Row]:
    cells: dict[tuple[str, str], list[Verdict | None]] = {}
    origins: dict[tuple[str, str], Origin] = {}
    for index, column in enumerate(columns):
        for verdict in column.report.verdicts:
            key = (verdict.test, verdict.name)
            cells.setdefault(key, [None] * len(columns))[index] = verdict
            origins.setdefault(key, verdict.origin)
    codes = {test.name: test for test in tests}
    keys = list(cells)
    judged = {test for test, _ in keys}
    for test in codes.values():
        if test.name not in judged:
            keys.append((test.name, test.name))
    place = {name: index for index, name in enumerate(codes)}

    def order(key: tuple[str, str]) -> tuple[int, int]:
        origin = origins[key] if key in origins else codes[key[0]].origin
        return ORIGIN_ORDER.index(origin), place.get(key[0], len(place))

    for key in sorted(keys, key=order):
        title, name = key
        origin = origins[key] if key in origins else codes[title].origin
        code = codes[title].code if title in codes else ""
        yield Row(name, origin, code, tuple(cells.get(key, [None] * len(columns))))


def cost(tokens: int, cost_usd: float | None) -> str:
    """Tokens and dollars, where they are known; nothing asked costs nothing."""
    return "$0.00" if tokens == 0 else f"{tokens:,} tokens, {dollars(cost_usd)}"


def model_words(event: ModelCalled | ModelFailed | FellBack) -> str:
    """What came of asking a model, in one line."""
    match event:
        case ModelCalled():
            return call_words(event)
        case ModelFailed():
            by = f"{event.role}: {event.provider}/{event.model}"
            return f"{by} gave no answer: {event.why} ({cost(event.tokens, event.cost_usd)})"
        case FellBack():
            return f"{event.role}: {event.to} answers instead of {event.provider}: {event.why}"
        case _:
            assert_never(event)


def _raised(event: Extended) -> str:
    said = (
        dollars(event.usd) if event.usd else "",
        f"{event.tokens:,} tokens" if event.tokens else "",
        f"{event.calls:,} calls" if event.calls else "",
        f"{event.seconds:g} s" if event.seconds else "",
    )
    return ", ".join(filter(None, said))


def headline(view: View) -> tuple[str, tuple[str, ...]]:
    """The word that sums up the run, and the facts that stand beside it."""
    if view.failure is not None:
        return "FAULT OF OURS", (view.failure.error,)
    if view.finish is not None:
        word, told = _ended(view.finish, view.claim)
        open_words = f"one of {view.fitting} repairs that fit your tests"
        return (open_words if view.fitting > 1 else word), told
    if view.waiting is not None:
        return "WAITING", tuple(filter(None, (_awaited(view.waiting), view.spent)))
    if not view.run:
        return "READY", ()
    facts: list[str] = []
    current = view.current
    if current is not None:
        facts.append(current.step)
        if current.search is not None:
            facts.append(f"{current.search.candidates:,} candidates")
    if view.spent:
        facts.append(view.spent)
    return "RUNNING", tuple(facts)


def _awaited(waiting: Waiting) -> str:
    """What a run waits for, in a few words where its question stands elsewhere too."""
    match waiting.needs:
        case "answer":
            return waiting.question
        case "budget":
            return "a cap is reached"
        case "key":
            return "a key is needed"
        case _:
            assert_never(waiting.needs)


def _ended(finish: RunFinished, claimed: str) -> tuple[str, tuple[str, ...]]:
    facts = []
    if finish.proof is not None:
        facts += [f"proof {claimed}", meaning(finish.proof)]
    spent = cost(finish.tokens, finish.cost_usd)
    means = "no model" if finish.tokens == 0 else "with a model"
    by = "from memory" if finish.strategy == "memory" else finish.strategy
    facts.append(f"{by}, {means}, {spent}" if by else f"{means}, {spent}")
    facts.append(f"{finish.iterations} {_plural(finish.iterations, 'iteration')}")
    facts.append(f"{finish.seconds:.1f} s")
    return OUTCOME_WORDS[finish.outcome], tuple(facts)


def meaning(level: ProofLevel) -> str:
    """What a proof level says, in words."""
    return PROOF_MEANING[level]


def _plural(count: int, noun: str) -> str:
    return noun if count == 1 else f"{noun}s"
