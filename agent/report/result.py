"""The result of a run: a pure fold of its events, at any point of the log."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import reduce
from typing import Literal, assert_never

from agent.core.domain import (
    INTEGRITY_ORDER,
    PROOF_ORDER,
    VETOING_ORIGINS,
    WEIGHTS,
    Behaviour,
    CompetingPatches,
    Diagnosis,
    Ending,
    Evidence,
    File,
    Integrity,
    ProofLevel,
    Report,
    RunOutcome,
    Solution,
    Strategy,
    SuspectFile,
    Unheld,
    Verdict,
    claim,
)
from agent.core.events import (
    Ambiguous,
    Answered,
    CodeWritten,
    Critiqued,
    Diagnosed,
    Extended,
    FellBack,
    IterationEnded,
    Judged,
    LessonLearned,
    Looked,
    ModelAsked,
    ModelCalled,
    ModelFailed,
    Notice,
    Outdone,
    Parent,
    PartialFound,
    PatchProposed,
    PlanStepped,
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
    TestRuled,
    TestsFrozen,
    Waiting,
    fold_attempts,
)
from agent.core.measures import measured
from agent.core.state import Stop
from agent.log.best import Best, best_of
from agent.report.metrics import Degraded, NodeMetrics, degraded, node_metrics
from agent.report.timeline import (
    SUBMITTED,
    Column,
    Talk,
    TestHistory,
    TimelineStep,
    rows,
    with_call,
    with_diagnosis,
    with_event,
    with_excluded,
    with_report,
)

Phase = Literal["empty", "running", "waiting", "finished", "failed"]
REPAIRED = ("healed", "proposed", "crash_stopped")
"""Outcomes of runs whose program is a repaired one."""
KEPT = ("healthy", *REPAIRED)
"""Outcomes of runs whose program is kept."""


@dataclass(frozen=True)
class Result:
    """A run as its reader wants it; `outcome` is `None` until it has ended or waits for a
    person."""

    run_id: str = ""
    title: str = ""
    outcome: RunOutcome | None = None
    proof: ProofLevel | None = None
    proof_why: str = ""
    lacks: str = ""
    unheld: Unheld = ""
    evidence: Evidence | None = None
    """What proof above E2 was looked for in; `None` where it was not."""
    confidence: float | None = None
    """How likely the patch is right, from 0 to 1; `None` where there is none."""
    unsure: str = ""
    strategy: Strategy | None = None
    edit: str = ""
    reason: str = ""
    """The edit, and why the run ended so."""
    why: str = ""
    """The reason without the edit."""
    diff: str = ""
    code: str = ""
    """The text of the entry file as the run leaves it."""
    kept: str = ""
    """The address of that program, once the run has ended."""
    files: tuple[tuple[str, str], ...] = ()
    """Path and text of every editable file as the run leaves it."""
    stdout: str = ""
    report: Report | None = None
    """The last report of the program as the run leaves it."""
    tests: tuple[TestInfo, ...] = ()
    learned: tuple[LessonLearned, ...] = ()
    notices: tuple[Notice, ...] = ()
    diagnosis: Diagnosis | None = None
    critique: Critiqued | None = None
    rulings: tuple[TestRuled, ...] = ()
    stopped: Stop | None = None
    best: Best | None = None
    """The best program of a run that keeps none, or that waits for a review; never the user's
    own."""
    partial: PartialFound | None = None
    """The best patch of such a run: not a fix."""
    cut_after: float | None = None
    """Seconds after which the last search was cut by its budget."""
    suspects: tuple[SuspectFile, ...] = ()
    rivals: CompetingPatches | None = None
    waiting: Waiting | None = None
    offered: Extended | None = None
    iterations: int = 0
    candidates: int = 0
    calls: int = 0
    unanswered: str = ""
    """Why a model gave no answer when last asked."""
    tokens: int = 0
    cost_usd: float | None = 0.0
    """Dollars spent; `None` when a model's price is unknown."""
    seconds: float = 0.0
    """From the first event to the last, `waited_s` included."""
    waited_s: float = 0.0
    """How long it waited for a person."""
    waits_from: float | None = None
    away_s: float = 0.0
    """How long no process drove it."""
    told_at: float = 0.0
    """When its last event was written."""
    provider: str = ""
    provider_why: str = ""
    sandbox: str = ""
    level: str = ""
    error: str = ""
    """An internal error that ended the run."""
    start: RunStarted | None = None
    timeline: tuple[TimelineStep, ...] = ()
    columns: tuple[Column, ...] = ()
    recalled: Recalled | None = None
    patch: PatchProposed | None = None
    talk: Talk = ()
    outdone: tuple[Outdone, ...] = ()
    programs: Mapping[str, Solution] = field(default_factory=dict)
    """Every program of the run, by its address; under `SUBMITTED` the text it began with."""
    metrics: Mapping[Step, NodeMetrics] = field(default_factory=dict)
    degraded: tuple[Degraded, ...] = ()

    @property
    def program(self) -> str:
        """What a reader copies: the program; of several files each after a line with its path."""
        return in_one_text(self.files) if self.files else self.code

    @property
    def of_project(self) -> bool:
        """Whether it is a project's own suite that judged, over its files."""
        return self.start is not None and self.start.project

    @property
    def drafted(self) -> bool:
        """Whether the run began without a program: with words alone."""
        return self.start is not None and not self.start.code

    @property
    def shown_code(self) -> str:
        """The entry file of the program that is shown: the best one where none is kept."""
        return self.code if self.best is None else self.best.solution.text

    @property
    def shown_report(self) -> Report | None:
        """The report of that program."""
        return self.report if self.best is None else self.best.report

    @property
    def of_submitted(self) -> Result:
        """The result for explaining a failure: about the user's own program where the best is no
        fix."""
        best, own = self.best, self.report
        if own is None or self.drafted or best is None or best.report is None:
            return self
        if best.report.passed:
            return self
        found = [one for one in self.columns if one.diagnosis is not None]
        of_own = [one.diagnosis for one in found if one.report.solution == own.solution]
        diagnosis = of_own[-1] if of_own else None if found else self.diagnosis
        return replace(self, best=None, diagnosis=diagnosis)

    @property
    def parent(self) -> Parent | None:
        """Where it was forked from; `None` where it began by itself."""
        return None if self.start is None else self.start.parent

    @property
    def phase(self) -> Phase:
        if self.waiting is not None:
            return "waiting"
        if self.outcome is not None:
            return "finished"
        if self.error:
            return "failed"
        return "running" if self.run_id else "empty"

    @property
    def worked_s(self) -> float:
        """How long it worked."""
        return max(0.0, self.seconds - self.waited_s - self.away_s)

    @property
    def current(self) -> TimelineStep | None:
        """The step that is running now."""
        if self.phase != "running":
            return None
        return next((step for step in reversed(self.timeline) if step.wall_ms is None), None)

    @property
    def rows(self) -> tuple[TestHistory, ...]:
        """Each test with its verdicts over the run."""
        return tuple(rows(self.tests, self.columns))

    @property
    def endings(self) -> tuple[Ending | None, ...]:
        """How the program as a script ended, for each column; empty when it never was run."""
        endings = tuple(column.report.ending for column in self.columns)
        return endings if any(ending is not None for ending in endings) else ()

    @property
    def lessons(self) -> tuple[str, ...]:
        return tuple(lesson.text for lesson in self.learned)

    @property
    def last_diff(self) -> str:
        """The run's patch, or the one under test while it goes on."""
        if self.outcome is not None or self.patch is None:
            return self.diff
        return self.patch.diff

    @property
    def question(self) -> CompetingPatches | None:
        """The behaviours that a person may choose from now."""
        if self.waiting is not None:
            return self.waiting.rivals
        if self.outcome not in ("healed", "proposed") or self.rivals is None:
            return None
        return self.rivals if self.rivals.call else None

    @property
    def unlikely(self) -> tuple[Behaviour, ...]:
        """The best patches of a run whose patches pass and are all too unlikely to be right."""
        known = self.outcome == "unresolved" and self.confidence is not None and self.rivals
        return known.behaviours if known else ()

    def proven(self, required: ProofLevel) -> bool:
        """Whether the proof reaches `required`; without a proof only E0 is reached."""
        return PROOF_ORDER.index(self.proof or "E0") >= PROOF_ORDER.index(required)

    @property
    def _judged(self) -> Report | None:
        ended = self.phase == "finished"
        return self.columns[-1].report if self.columns and not ended else self.report

    @property
    def integrity(self) -> Integrity | None:
        """How far the passes behind the proof are believed; `None` where nothing is claimed."""
        return self._judged.integrity if self.proof is not None and self._judged else None

    @property
    def integrity_reason(self) -> str:
        """Why that is not `isolated`; empty where it is."""
        return self._judged.integrity_reason if self.proof is not None and self._judged else ""

    @property
    def claim(self) -> str:
        """Proof and integrity in one line; empty where nothing is claimed."""
        if self.proof is None:
            return ""
        return claim(self.proof, self.integrity, self.integrity_reason)

    def believed(self, required: Integrity | None) -> bool:
        """Whether the integrity reaches `required`; `None` asks for any that is believed."""
        if required is None:
            return True
        found = self.integrity
        return found is not None and (
            INTEGRITY_ORDER.index(found) >= INTEGRITY_ORDER.index(required)
        )

    @property
    def below(self) -> str:
        """The required proof or integrity that the run has ended below; else empty."""
        start = self.start
        if start is None or self.outcome not in KEPT:
            return ""
        changed = self.outcome != "healthy" or self.drafted
        if changed and start.require_proof > "E1" and not self.proven(start.require_proof):
            return start.require_proof
        least = start.require_integrity
        return least if least is not None and not self.believed(least) else ""

    @property
    def healed(self) -> bool:
        """A repair passed the user's tests, or there was nothing to repair."""
        return self.outcome == "healthy" or (self.outcome == "healed" and self.proven("E1"))

    @property
    def fitting(self) -> int:
        """How many different repairs are known to fit the tests; 1 where no other is known."""
        return self.fitting_so_far if self.outcome in ("healed", "proposed") else 1

    @property
    def fitting_so_far(self) -> int:
        """The same of a run that has not ended."""
        others = self.evidence.others if self.evidence is not None else 0
        return max(others + 1, len(self.rivals.behaviours) if self.rivals is not None else 1)

    @property
    def smallest_failure(self) -> Verdict | None:
        """The failing verdict a person can redo with the least typing, trusted tests first.
        Adversarial calls are left out: it is unknown whether they should pass."""
        report = self.shown_report
        failing = [
            one for one in report.verdicts if one.fails and WEIGHTS[one.origin] > 0
        ] if report else []
        return min(failing, key=_reading_cost, default=None)


def in_one_text(files: Sequence[tuple[str, str]]) -> str:
    """The text of a program; of several files each after a line with its path."""
    if len(files) == 1:
        return files[0][1]
    return "\n".join(f"FILE {path}\n{text}" for path, text in files)


def document(result: Result) -> dict[str, object]:
    """The result as one JSON document; the keys are the same for every outcome."""
    ending = result.report.ending if result.report is not None else None
    best, partial, rivals = result.best, result.partial, result.rivals
    return {
        **{name: getattr(result, name) for name in AS_THEY_ARE},
        **{name: getattr(result, name) or None for name in OR_NULL},
        "parent": None if result.parent is None else result.parent.model_dump(mode="json"),
        "evidence": None if result.evidence is None else result.evidence.model_dump(mode="json"),
        "files": dict(result.files),
        "tests": _verdicts(result.report),
        "refused": list(ending.refused) if ending is not None else [],
        "rulings": [one.model_dump(exclude={"kind"}) for one in result.rulings],
        "suspects": [one.model_dump(mode="json") for one in result.suspects],
        "rivals": None if rivals is None else {
            "call": rivals.call,
            "behaviours": [one.model_dump(exclude={"solution"}) for one in rivals.behaviours],
        },
        "seconds": round(result.seconds, 3),
        "measures": measured(result.code),
        "metrics": {step: asdict(one) for step, one in result.metrics.items()},
        "degraded": [asdict(one) for one in result.degraded],
        "project": None,
        "not_a_fix": None if partial is None else partial.model_dump(exclude={"kind", "note"}),
        "best": None if best is None else {
            "iteration": best.iteration, "label": best.label, "diff": best.diff,
            "files": dict(best.files), "tests": _verdicts(best.report),
        },
    }


AS_THEY_ARE = (
    "outcome", "proof", "confidence", "unsure", "integrity", "integrity_reason", "diff", "strategy",
    "iterations", "stopped", "candidates", "cut_after", "calls", "tokens", "cost_usd", "reason",
)
"""Attributes of a result that its document has under the same key."""
OR_NULL = ("run_id", "provider", "sandbox", "level", "error")
"""The same, with null in place of an empty text."""


def _verdicts(report: Report | None) -> list[dict[str, object]]:
    verdicts = report.verdicts if report is not None else ()
    left = {"name", "test", "call", "type_differs", "wall_s"}
    return [{"id": one.name, **one.model_dump(exclude=left)} for one in verdicts]


def fold(log: Iterable[Stamped]) -> Result:
    """The result of a run, or of as much of it as `log` holds."""
    log = tuple(log)
    entries = fold_attempts(log)
    if not entries:
        return Result()
    return replace(
        Folding().after(entries), metrics=node_metrics(log), degraded=degraded(entries)
    )


class Folding:
    """A fold of a growing log that costs only what is new; it leaves out `metrics` and
    `degraded`."""

    def __init__(self) -> None:
        self._entries: list[Stamped] = []
        self._attempts: dict[str, int] = {}
        self._result = Result()

    def after(self, entries: Iterable[Stamped]) -> Result:
        """The result after some more of the log."""
        for one in entries:
            last = self._attempts.setdefault(one.task, one.attempt)
            if one.attempt < last:
                continue
            if one.attempt > last:  # a step that was entered again: what it told before is void
                self._attempts[one.task] = one.attempt
                self._entries = [before for before in self._entries if before.task != one.task]
                self._result = reduce(_after, self._entries, Result())
            self._entries.append(one)
            self._result = _after(replace(self._result, run_id=one.run), one)
        result = self._result
        if result.outcome is None and self._entries:
            seconds = self._entries[-1].at - self._entries[0].at
            result = replace(result, seconds=seconds)
        return _with_best(_settled(result), self._entries) if self._entries else result


def _after(result: Result, stamped: Stamped) -> Result:
    event, waited_s, away_s, before = stamped.event, result.waited_s, result.away_s, result
    if result.waits_from is not None:
        waited_s += max(0.0, stamped.at - result.waits_from)
    result = replace(
        result, timeline=with_event(result.timeline, stamped), waited_s=waited_s,
        waits_from=stamped.at if isinstance(event, Waiting) else None, told_at=stamped.at,
    )
    match event:
        case RunStarted():
            entry = event.entry or "program.py"
            submitted = Solution(files=(File(path=entry, text=event.code),), entry=entry)
            return replace(
                result, start=event, programs={SUBMITTED: submitted} if event.code else {},
                title=event.title, code=event.code, provider=event.provider,
                provider_why=event.provider_why, sandbox=event.sandbox, level=event.level,
                files=((event.entry, event.code),) if event.entry else (),
            )
        case StepStarted():
            return replace(result, iterations=max(result.iterations, event.iteration))
        case TestsFrozen():
            # A test that is held out is announced again, under its new origin.
            tests = {test.name: test for test in (*result.tests, *event.tests)}
            return replace(result, tests=tuple(tests.values()))
        case Judged():
            columns = with_report(result.columns, event, result.programs)
            return replace(result, columns=columns)
        case CodeWritten():
            written = event.solution
            return replace(result, programs={**result.programs, written.id: written})
        case Diagnosed():
            columns = with_diagnosis(result.columns, event)
            return replace(result, diagnosis=event.diagnosis, columns=columns)
        case Searched():
            return replace(
                result, candidates=max(result.candidates, event.candidates),
                cut_after=event.cut_after, suspects=event.suspects or result.suspects,
            )
        case Recalled():
            return replace(result, recalled=event)
        case PatchProposed():
            # Which other repairs fit is found for each patch again.
            return replace(result, patch=event, rivals=None)
        case Outdone():
            return replace(result, outdone=(*result.outdone, event))
        case PartialFound():
            return replace(result, partial=event)
        case Ambiguous():
            return replace(result, rivals=event.rivals)
        case Critiqued():
            return replace(result, critique=event)
        case Proved():
            return replace(
                result, proof=event.level, proof_why=event.why, lacks=event.lacks,
                unheld=event.unheld, evidence=event.evidence, confidence=event.confidence,
                unsure=event.unsure,
                rivals=None if event.settles_competition else result.rivals,
            )
        case LessonLearned():
            return replace(result, learned=(*result.learned, event))
        case ModelCalled() | ModelFailed():
            return replace(
                result, talk=with_call(result.talk, event),
                calls=result.calls + 1, tokens=result.tokens + event.tokens,
                cost_usd=_sum(result.cost_usd, event.cost_usd),
                unanswered=event.why if isinstance(event, ModelFailed) else "",
            )
        case FellBack() | ModelAsked():
            return replace(result, talk=with_call(result.talk, event))
        case Notice():
            return replace(
                result, notices=(*result.notices, event),
                calls=result.calls + (event.again is not None),
            )
        case Waiting(needs="review" | "help"):
            return replace(
                result, waiting=event, code=event.code, diff=event.diff, reason=event.question,
                outcome="awaiting_review" if event.needs == "review" else "unresolved",
            )
        case Waiting(needs="leave"):
            return replace(
                result, waiting=event, reason=event.question, outcome="awaiting_review"
            )
        case Waiting():
            return replace(result, waiting=event, offered=event.more or result.offered)
        case Answered():
            asked = result.waiting is not None and result.waiting.rivals is not None
            return replace(
                result, waiting=None, outcome=None, reason="", diff="",
                rivals=None if asked else result.rivals,
            )
        case RunFinished():
            return replace(
                result, outcome=event.outcome, proof=event.proof, strategy=event.strategy,
                confidence=event.confidence, unsure=event.unsure,
                edit=event.edit, reason="; ".join(filter(None, (event.edit, event.reason))),
                why=event.reason, stopped=event.stopped, diff=event.diff,
                code=event.code or result.code, kept=event.solution,
                stdout=event.stdout, iterations=event.iterations,
                # A step that was cut short told how far it came, and then left no count.
                candidates=max(result.candidates, event.candidates),
                tokens=event.tokens, cost_usd=event.cost_usd, seconds=event.seconds,
                # Of a repair that did not stand, nobody need be asked what else would do.
                rivals=result.rivals if (
                    event.outcome in REPAIRED or event.confidence is not None
                ) else None,
                waiting=None, error="",
            )
        case RunFailed():
            return replace(result, error=event.error, waiting=None)
        case IterationEnded():
            return replace(result, iterations=max(result.iterations, event.iteration))
        case TestRuled():
            return replace(result, rulings=(*result.rulings, event))
        case PlanStepped():
            return result
        case Resumed():
            away_s += max(0.0, stamped.at - before.told_at) if before.waits_from is None else 0.0
            told = Notice(level="warning", text=f"Taken up again after a restart: {event.note}.")
            return replace(result, notices=(*result.notices, told), away_s=away_s)
        case StepFinished() | Extended():
            return result
        case Looked():  # the log tells it
            return result
        case _:
            assert_never(event)


def _settled(result: Result) -> Result:
    """Adds the files and the report that belong to the final code."""
    start = result.start.code if result.start is not None else ""
    written = result.programs
    same = {
        key: solution for key, solution in written.items()
        if (key == result.kept if result.kept in written else solution.text == result.code)
    }
    files = tuple((path, result.code) for path, _ in result.files)
    for solution in same.values():
        files = tuple((file.path, file.text) for file in solution.files)
    reports = [column.report for column in result.columns]
    # The program a user brings need not have been announced as written.
    fitting = [
        report for report in reports
        if report.solution in same or (result.code == start and report.solution not in written)
    ]
    report = with_excluded(fitting[-1], *reports) if fitting else None
    return replace(result, files=files, report=report)


def _with_best(result: Result, entries: Sequence[Stamped]) -> Result:
    """Adds the best program and its patch, unless a search's partial patch passes more."""
    stopped = result.phase == "failed" if result.outcome is None else result.outcome not in KEPT
    best = best_of(entries) if stopped else None
    if best is None or not (best.diff or result.drafted):
        return result
    if best.report is not None:
        reports = [column.report for column in result.columns]
        best = replace(best, report=with_excluded(best.report, *reports))
    partial = result.partial
    if best.diff and (partial is None or best.passed >= partial.passed):
        partial = PartialFound(
            diff=best.diff, passed=best.passed, total=best.of, note=best.solution.note,
            code=best.solution.text,
        )
    return replace(result, best=best, partial=partial)


def _reading_cost(verdict: Verdict) -> tuple[bool, bool, int, float, int, str]:
    """Trusted verdicts first, then the shortest call, then the fastest test."""
    return (
        verdict.origin not in VETOING_ORIGINS, not verdict.call, len(verdict.call),
        verdict.wall_s, len(verdict.name), verdict.name,
    )


def _sum(left: float | None, right: float | None) -> float | None:
    return None if left is None or right is None else left + right
