"""The result of a run, computed by a pure fold of its events at any point of the log."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import reduce
from typing import Any, Literal, assert_never

from agent.core import events
from agent.core.domain import (
    INTEGRITY_ORDER,
    PROOF_ORDER,
    TRUSTED_ORIGINS,
    WEIGHTS,
    Behaviour,
    CompetingPatches,
    Diagnosis,
    Ending,
    Evidence,
    File,
    Integrity,
    NotHeldOut,
    ProofLevel,
    Report,
    RunOutcome,
    Solution,
    Strategy,
    SuspectFile,
    Verdict,
    claim,
)
from agent.core.measures import measure_all
from agent.core.state import Stop
from agent.log.best import BestProgram, best_of
from agent.report.metrics import Degraded, NodeMetrics, degraded, node_metrics
from agent.report.timeline import (
    SUBMITTED,
    JudgedProgram,
    ModelExchanges,
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
"""Outcomes of runs that accepted a repaired program."""
ACCEPTED = ("healthy", *REPAIRED)
"""Outcomes of runs that accepted a program."""


@dataclass(frozen=True)
class Result:
    """Everything shown about a run; `outcome` is `None` until it ends or waits for a person."""

    run_id: str = ""
    title: str = ""
    outcome: RunOutcome | None = None
    proof: ProofLevel | None = None
    proof_why: str = ""
    missing: str = ""
    not_held_out: NotHeldOut = ""
    evidence: Evidence | None = None
    """The evidence for a proof above E2; `None` where none was collected."""
    confidence: float | None = None
    """The probability that the patch is right, 0 to 1; `None` without a patch."""
    unsure: str = ""  # the reason for a low confidence, worded to follow "because"
    strategy: Strategy | None = None
    edit: str = ""
    reason: str = ""
    """The edit, and why the run ended with this outcome."""
    why: str = ""
    """The reason without the edit."""
    diff: str = ""
    code: str = ""
    """The final text of the entry file."""
    kept: str = ""
    """The store address of the final program, once the run has ended."""
    files: tuple[tuple[str, str], ...] = ()
    """Path and final text of every editable file."""
    stdout: str = ""
    report: Report | None = None
    """The last report of the final program."""
    tests: tuple[events.TestInfo, ...] = ()
    learned: tuple[events.LessonLearned, ...] = ()
    notices: tuple[events.Notice, ...] = ()
    diagnosis: Diagnosis | None = None
    critique: events.Critiqued | None = None
    rulings: tuple[events.TestRuled, ...] = ()
    stopped: Stop | None = None
    best: BestProgram | None = None
    """The best program of a run that accepted none or waits for a review; never the user's."""
    partial: events.PartialFound | None = None
    """The best patch of a run that accepted none; it is not a fix."""
    cut_after: float | None = None
    """Seconds after which its budget ended the last search; `None` if it was not ended."""
    suspects: tuple[SuspectFile, ...] = ()
    competing: CompetingPatches | None = None
    waiting: events.Waiting | None = None
    offered_extension: events.Extended | None = None
    iterations: int = 0
    candidates: int = 0
    calls: int = 0
    unanswered: str = ""
    """Why the last model call gave no answer."""
    tokens: int = 0
    cost_usd: float | None = 0.0
    """Dollars spent; `None` when a model's price is unknown."""
    seconds: float = 0.0
    """Seconds from the first event to the last, `waited_s` included."""
    waited_s: float = 0.0
    waiting_since: float | None = None
    idle_s: float = 0.0
    """Seconds in which no process drove the run."""
    last_event_at: float = 0.0
    """The time of its last event."""
    provider: str = ""
    provider_why: str = ""
    sandbox: str = ""
    level: str = ""
    error: str = ""
    start: events.RunStarted | None = None
    timeline: tuple[TimelineStep, ...] = ()
    tested_programs: tuple[JudgedProgram, ...] = ()
    recalled: events.Recalled | None = None
    patch: events.PatchProposed | None = None
    model_calls: ModelExchanges = ()
    repairs_not_chosen: tuple[events.NotChosen, ...] = ()
    programs: Mapping[str, Solution] = field(default_factory=dict)
    """Every program of the run by address; the submitted one is under `SUBMITTED`."""
    metrics: Mapping[events.Step, NodeMetrics] = field(default_factory=dict)
    degraded: tuple[Degraded, ...] = ()

    @property
    def program(self) -> str:
        """The final program as one text; several files each follow a line with their path."""
        return in_one_text(self.files) if self.files else self.code

    @property
    def asks_next(self) -> bool:
        """Whether a run with `--ask` would ask which of the competing patches is right."""
        return self.outcome == "proposed" and not self.of_project

    @property
    def of_project(self) -> bool:
        """Whether the program is a project, judged by its own test suite."""
        return self.start is not None and self.start.project

    @property
    def from_description(self) -> bool:
        """Whether a model writes the program from a description: the user submitted none."""
        return self.start is not None and not self.start.code

    @property
    def shown_code(self) -> str:
        """The entry file of the shown program, which is the best one if none was accepted."""
        return self.code if self.best is None else self.best.solution.text

    @property
    def shown_report(self) -> Report | None:
        return self.report if self.best is None else self.best.report

    @property
    def explained_result(self) -> Result:
        """The result that explains a failure: that of the submitted program if nothing fixes it."""
        best, own = self.best, self.report
        if own is None or self.from_description or best is None or best.report is None:
            return self
        if best.report.passed:
            return self
        diagnosed = [one for one in self.tested_programs if one.diagnosis is not None]
        of_own = [one.diagnosis for one in diagnosed if one.report.solution == own.solution]
        diagnosis = of_own[-1] if of_own else None if diagnosed else self.diagnosis
        return replace(self, best=None, diagnosis=diagnosis)

    @property
    def parent(self) -> events.Parent | None:
        """The run it was forked from; `None` for a run that is not a fork."""
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
        return max(0.0, self.seconds - self.waited_s - self.idle_s)

    @property
    def current(self) -> TimelineStep | None:
        if self.phase != "running":
            return None
        return next((step for step in reversed(self.timeline) if step.wall_ms is None), None)

    @property
    def rows(self) -> tuple[TestHistory, ...]:
        return tuple(rows(self.tests, self.tested_programs))

    @property
    def endings(self) -> tuple[Ending | None, ...]:
        """How the script run of each tested program ended; empty if the program was never run."""
        endings = tuple(one.report.ending for one in self.tested_programs)
        return endings if any(ending is not None for ending in endings) else ()

    @property
    def lessons(self) -> tuple[str, ...]:
        return tuple(lesson.text for lesson in self.learned)

    @property
    def last_diff(self) -> str:
        """The run's patch, or the patch under test while the run continues."""
        if self.outcome is not None or self.patch is None:
            return self.diff
        return self.patch.diff

    @property
    def question(self) -> CompetingPatches | None:
        """The behaviours that a person can choose from now."""
        if self.waiting is not None:
            return self.waiting.competing
        if self.outcome not in ("healed", "proposed") or self.competing is None:
            return None
        return self.competing if self.competing.call else None

    @property
    def low_confidence(self) -> tuple[Behaviour, ...]:
        """The best patches of a run whose passing patches are all too unlikely to be right."""
        known = self.outcome == "unresolved" and self.confidence is not None and self.competing
        return known.behaviours if known else ()

    def reaches_proof(self, required: ProofLevel) -> bool:
        """Whether the proof reaches `required`; a result without a proof reaches only E0."""
        return PROOF_ORDER.index(self.proof or "E0") >= PROOF_ORDER.index(required)

    @property
    def _judged(self) -> Report | None:
        use_newest = self.tested_programs and self.phase != "finished"
        return self.tested_programs[-1].report if use_newest else self.report

    @property
    def integrity(self) -> Integrity | None:
        """The integrity of the passes behind the proof; `None` without a proof."""
        return self._judged.integrity if self.proof is not None and self._judged else None

    @property
    def integrity_reason(self) -> str:
        """Why the integrity is not `isolated`; empty where it is."""
        return self._judged.integrity_reason if self.proof is not None and self._judged else ""

    @property
    def claim(self) -> str:
        """Proof and integrity in one line; empty without a proof."""
        if self.proof is None:
            return ""
        return claim(self.proof, self.integrity, self.integrity_reason)

    def reaches_integrity(self, required: Integrity | None) -> bool:
        """Whether the integrity reaches `required`; `None` requires nothing."""
        if required is None:
            return True
        found = self.integrity
        return found is not None and (
            INTEGRITY_ORDER.index(found) >= INTEGRITY_ORDER.index(required)
        )

    @property
    def unmet(self) -> str:
        """The required proof or integrity that the run did not reach; else empty."""
        start = self.start
        if start is None or self.outcome not in ACCEPTED:
            return ""
        changed = self.outcome != "healthy" or self.from_description
        if changed and start.require_proof > "E1" and not self.reaches_proof(start.require_proof):
            return start.require_proof
        least = start.require_integrity
        return least if least is not None and not self.reaches_integrity(least) else ""

    @property
    def healed(self) -> bool:
        """Whether a repair passed the user's tests, or nothing had to be repaired."""
        return self.outcome == "healthy" or (self.outcome == "healed" and self.reaches_proof("E1"))

    @property
    def fitting_repairs(self) -> int:
        """How many different repairs are known to fit the tests, this one included."""
        return self.fitting_repairs_so_far if self.outcome in ("healed", "proposed") else 1

    @property
    def fitting_repairs_so_far(self) -> int:
        """How many repairs are known to fit the tests, also for a run that has not ended."""
        others = self.evidence.competing_patches if self.evidence is not None else 0
        return max(others + 1, len(self.competing.behaviours) if self.competing is not None else 1)

    @property
    def smallest_failure(self) -> Verdict | None:
        """The failing verdict that is easiest to reproduce by hand, trusted tests first.

        Adversarial calls are excluded, because it is unknown whether they should pass.
        """
        report = self.shown_report
        failing = [
            one for one in report.verdicts if one.fails and WEIGHTS[one.origin] > 0
        ] if report else []
        return min(failing, key=_simplest_first, default=None)


def in_one_text(files: Sequence[tuple[str, str]]) -> str:
    """The text of a program; several files each follow a line with their path."""
    if len(files) == 1:
        return files[0][1]
    return "\n".join(f"FILE {path}\n{text}" for path, text in files)


def document(result: Result) -> dict[str, object]:
    """The result as one JSON document; the keys are the same for every outcome."""
    ending = result.report.ending if result.report is not None else None
    best, partial, patches = result.best, result.partial, result.competing
    return {
        "version": VERSION,
        **{name: getattr(result, name) for name in COPIED_KEYS},
        **{name: getattr(result, name) or None for name in NULLABLE},
        "parent": None if result.parent is None else result.parent.model_dump(mode="json"),
        "evidence": None if result.evidence is None else _with_old_names(
            result.evidence.model_dump(mode="json")
        ),
        "files": dict(result.files),
        "tests": _verdicts(result.report),
        "refused": list(ending.refused) if ending is not None else [],
        "rulings": [one.model_dump(exclude={"kind"}) for one in result.rulings],
        "suspects": [one.model_dump(mode="json") for one in result.suspects],
        **dict.fromkeys(("competing", "rivals"), None if patches is None else {
            "call": patches.call,
            "behaviours": [one.model_dump(exclude={"solution"}) for one in patches.behaviours],
        }),
        "seconds": round(result.seconds, 3),
        "measures": measure_all(result.code),
        "metrics": {step: asdict(one) for step, one in result.metrics.items()},
        "degraded": [asdict(one) for one in result.degraded],
        "project": None,
        "not_a_fix": None if partial is None else partial.model_dump(exclude={"kind", "note"}),
        "best": None if best is None else {
            "iteration": best.iteration, "label": best.label, "diff": best.diff,
            "files": dict(best.files), "tests": _verdicts(best.report),
        },
    }


COPIED_KEYS = (
    "outcome", "proof", "confidence", "unsure", "integrity", "integrity_reason", "diff", "strategy",
    "iterations", "stopped", "candidates", "cut_after", "calls", "tokens", "cost_usd", "reason",
)
"""Attributes that the JSON document has under the same key."""
NULLABLE = ("run_id", "provider", "sandbox", "level", "error")
"""Attributes of which an empty text is null in the JSON document."""
VERDICT_EXCLUDES = {"name", "test", "call", "type_differs", "wall_s"}
VERSION = 1
"""The version of the document; it changes when a key is removed or gets another meaning."""
OLD_NAMES = {
    "doubt": "disbelieved", "doubts": "newly_accepted", "around": "whole_function",
    "others": "competing_patches", "aside": "excluded", "siblings": "variants_tried",
    "wavering": "inconsistent", "unwatched": "uncovered", "unsettled": "inconclusive",
}
"""Old keys of tests and evidence; deprecated, and removed with the next version."""


def _verdicts(report: Report | None) -> list[dict[str, object]]:
    verdicts = report.verdicts if report is not None else ()
    return [
        {"id": one.name, **_with_old_names(one.model_dump(exclude=VERDICT_EXCLUDES))}
        for one in verdicts
    ]


def _with_old_names(value: dict[str, Any]) -> dict[str, Any]:
    return value | {old: value[new] for old, new in OLD_NAMES.items() if new in value}


def fold(log: Iterable[events.LogEntry]) -> Result:
    """The result of a run, as far as `log` goes."""
    log = tuple(log)
    entries = events.without_retries(log)
    if not entries:
        return Result()
    return replace(LogFold().after(entries), metrics=node_metrics(log), degraded=degraded(entries))


class LogFold:
    """An incremental fold of a growing log, without `metrics` and `degraded`."""

    def __init__(self) -> None:
        self._entries: list[events.LogEntry] = []
        self._attempts: dict[str, int] = {}
        self._result = Result()

    def after(self, entries: Iterable[events.LogEntry]) -> Result:
        """The result after further entries of the log."""
        for one in entries:
            last = self._attempts.setdefault(one.task, one.attempt)
            if one.attempt < last:
                continue
            if one.attempt > last:  # a repeated step replaces the events of its earlier attempt
                self._attempts[one.task] = one.attempt
                self._entries = [before for before in self._entries if before.task != one.task]
                self._result = reduce(_apply_event, self._entries, Result())
            self._entries.append(one)
            self._result = _apply_event(replace(self._result, run_id=one.run), one)
        result = self._result
        if result.outcome is None and self._entries:
            seconds = self._entries[-1].at - self._entries[0].at
            result = replace(result, seconds=seconds)
        return _with_best(_with_final_program(result), self._entries) if self._entries else result


def _apply_event(result: Result, log_entry: events.LogEntry) -> Result:
    event, waited_s, idle_s, before = log_entry.event, result.waited_s, result.idle_s, result
    if result.waiting_since is not None:
        waited_s += max(0.0, log_entry.at - result.waiting_since)
    result = replace(
        result, timeline=with_event(result.timeline, log_entry), waited_s=waited_s,
        waiting_since=log_entry.at if isinstance(event, events.Waiting) else None,
        last_event_at=log_entry.at,
    )
    match event:
        case events.RunStarted():
            entry = event.entry or "program.py"
            submitted = Solution(files=(File(path=entry, text=event.code),), entry=entry)
            return replace(
                result, start=event, programs={SUBMITTED: submitted} if event.code else {},
                title=event.title, code=event.code, provider=event.provider,
                provider_why=event.provider_why, sandbox=event.sandbox, level=event.level,
                files=((event.entry, event.code),) if event.entry else (),
            )
        case events.StepStarted():
            return replace(result, iterations=max(result.iterations, event.iteration))
        case events.TestsFrozen():
            # A held-out test is announced a second time with its new origin.
            tests = {test.name: test for test in (*result.tests, *event.tests)}
            return replace(result, tests=tuple(tests.values()))
        case events.Judged():
            tested = with_report(result.tested_programs, event, result.programs)
            return replace(result, tested_programs=tested)
        case events.CodeWritten():
            written = event.solution
            return replace(result, programs={**result.programs, written.id: written})
        case events.Diagnosed():
            tested = with_diagnosis(result.tested_programs, event)
            return replace(result, diagnosis=event.diagnosis, tested_programs=tested)
        case events.Searched():
            return replace(
                result, candidates=max(result.candidates, event.candidates),
                cut_after=event.cut_after, suspects=event.suspects or result.suspects,
            )
        case events.Recalled():
            return replace(result, recalled=event)
        case events.PatchProposed():
            # Competing patches are determined again for each patch.
            return replace(result, patch=event, competing=None)
        case events.NotChosen():
            return replace(result, repairs_not_chosen=(*result.repairs_not_chosen, event))
        case events.PartialFound():
            return replace(result, partial=event)
        case events.Ambiguous():
            return replace(result, competing=event.competing)
        case events.Critiqued():
            return replace(result, critique=event)
        case events.Proved():
            return replace(
                result, proof=event.level, proof_why=event.why, missing=event.missing,
                not_held_out=event.not_held_out, evidence=event.evidence,
                confidence=event.confidence, unsure=event.unsure,
                competing=None if event.has_no_competing_patch else result.competing,
            )
        case events.LessonLearned():
            return replace(result, learned=(*result.learned, event))
        case events.ModelCalled() | events.ModelFailed():
            return replace(
                result, model_calls=with_call(result.model_calls, event),
                calls=result.calls + 1, tokens=result.tokens + event.tokens,
                cost_usd=_sum(result.cost_usd, event.cost_usd),
                unanswered=event.why if isinstance(event, events.ModelFailed) else "",
            )
        case events.FellBack() | events.ModelAsked():
            return replace(result, model_calls=with_call(result.model_calls, event))
        case events.Notice():
            return replace(
                result, notices=(*result.notices, event),
                calls=result.calls + (event.again is not None),
            )
        case events.Waiting(needs="review" | "help"):
            return replace(
                result, waiting=event, code=event.code, diff=event.diff, reason=event.question,
                outcome="awaiting_review" if event.needs == "review" else "unresolved",
            )
        case events.Waiting(needs="permission"):
            return replace(result, waiting=event, reason=event.question, outcome="awaiting_review")
        case events.Waiting():
            extension = event.budget_extension or result.offered_extension
            return replace(result, waiting=event, offered_extension=extension)
        case events.Answered():
            chosen = result.waiting is not None and result.waiting.competing is not None
            return replace(
                result, waiting=None, outcome=None, reason="", diff="",
                competing=None if chosen else result.competing,
            )
        case events.RunFinished():
            return replace(
                result, outcome=event.outcome, proof=event.proof, strategy=event.strategy,
                confidence=event.confidence, unsure=event.unsure, iterations=event.iterations,
                edit=event.edit, reason="; ".join(filter(None, (event.edit, event.reason))),
                why=event.reason, stopped=event.stopped, diff=event.diff,
                code=event.code or result.code, kept=event.solution, stdout=event.stdout,
                # A step that was cut short reported its progress but no final count.
                candidates=max(result.candidates, event.candidates),
                tokens=event.tokens, cost_usd=event.cost_usd, seconds=event.seconds,
                # Without an accepted repair there is nothing to choose from.
                competing=result.competing if (
                    event.outcome in REPAIRED or event.confidence is not None
                ) else None,
                waiting=None, error="",
            )
        case events.RunFailed():
            return replace(result, error=event.error, waiting=None)
        case events.IterationEnded():
            return replace(result, iterations=max(result.iterations, event.iteration))
        case events.TestRuled():
            return replace(result, rulings=(*result.rulings, event))
        case events.PlanStepped() | events.StepFinished() | events.Extended() | events.ToolCalled():
            return result
        case events.Resumed():
            if before.waiting_since is None:
                idle_s += max(0.0, log_entry.at - before.last_event_at)
            notice = events.Notice(level="warning", text=f"Resumed after a restart: {event.note}.")
            return replace(result, notices=(*result.notices, notice), idle_s=idle_s)
        case _:
            assert_never(event)


def _with_final_program(result: Result) -> Result:
    """Adds the files and the report of the final program."""
    start = result.start.code if result.start is not None else ""
    written = result.programs
    same = {
        key: solution for key, solution in written.items()
        if (key == result.kept if result.kept in written else solution.text == result.code)
    }
    files = tuple((path, result.code) for path, _ in result.files)
    for solution in same.values():
        files = tuple((file.path, file.text) for file in solution.files)
    reports = [one.report for one in result.tested_programs]
    # A submitted program may have no `CodeWritten` event.
    fitting = [
        report for report in reports
        if report.solution in same or (result.code == start and report.solution not in written)
    ]
    report = with_excluded(fitting[-1], *reports) if fitting else None
    return replace(result, files=files, report=report)


def _with_best(result: Result, entries: Sequence[events.LogEntry]) -> Result:
    """Adds the best program and its patch, unless a search's partial patch passes more."""
    stopped = result.phase == "failed" if result.outcome is None else result.outcome not in ACCEPTED
    best = best_of(entries) if stopped else None
    if best is None or not (best.diff or result.from_description):
        return result
    if best.report is not None:
        reports = [one.report for one in result.tested_programs]
        best = replace(best, report=with_excluded(best.report, *reports))
    partial = result.partial
    if best.diff and (partial is None or best.passed >= partial.passed):
        partial = events.PartialFound(
            diff=best.diff, passed=best.passed, total=best.of, note=best.solution.note,
            code=best.solution.text,
        )
    return replace(result, best=best, partial=partial)


def _simplest_first(verdict: Verdict) -> tuple[bool, bool, int, float, int, str]:
    """Sorts trusted verdicts first, then by length of the call and time of the test."""
    return (
        verdict.origin not in TRUSTED_ORIGINS, not verdict.call, len(verdict.call),
        verdict.wall_s, len(verdict.name), verdict.name,
    )


def _sum(left: float | None, right: float | None) -> float | None:
    return None if left is None or right is None else left + right
