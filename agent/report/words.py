"""All wording about a run, for every interface; the keys of the tables appear in JSON and logs.
Nothing here is escaped."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, NamedTuple, assert_never

from agent.core.domain import (
    HOLD_OUT_FROM,
    VETOING_ORIGINS,
    Approach,
    CompetingPatches,
    Diagnosis,
    Ending,
    Evidence,
    Integrity,
    Origin,
    ProofLevel,
    Report,
    RunOutcome,
    Verdict,
    VerdictStatus,
    claim,
    counted,
    passing,
    tally,
)
from agent.core.events import (
    GONE,
    Ambiguous,
    Answered,
    CodeWritten,
    Critiqued,
    Diagnosed,
    Event,
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
    Step,
    StepFinished,
    StepStarted,
    TestRuled,
    TestsFrozen,
    Waiting,
)
from agent.core.settings import COMMAND
from agent.log.spending import TIMED_TOKENS, call_words, dollars, role_words
from agent.report.result import KEPT, Result
from agent.search.ranking.question import in_words
from llm.provider import named

OUTCOME_WORDS: dict[RunOutcome, str] = {
    "healthy": "HEALTHY",
    "healed": "HEALED",
    "proposed": "PATCH PROPOSED",
    "crash_stopped": "CRASH STOPPED, NOT TESTED",
    "unresolved": "NOT HEALED",
    "not_fixable": "NOT FIXABLE BY CODE",
    "needs_model": "NOT BEGUN: THIS NEEDS A MODEL",
    "model_failed": "NOT HEALED: A MODEL GAVE NO USABLE ANSWER",
    "budget": "NOT HEALED: BUDGET OR TIME IS UP",  # a headline says which of the two
    "cancelled": "CANCELLED",
    "awaiting_review": "AWAITING REVIEW, NOT KEPT YET",
}
TIME_IS_UP, BUDGET_IS_SPENT = "NOT HEALED: TIME IS UP", "NOT HEALED: THE BUDGET IS SPENT"
RUNS = "RUNS, NOT SHOWN TO BE RIGHT"
"""Instead of HEALTHY where no test shows anything."""
WRITTEN = {
    OUTCOME_WORDS["healthy"]: "WRITTEN", OUTCOME_WORDS["healed"]: "WRITTEN AND HEALED",
    RUNS: "WRITTEN, NOT SHOWN TO BE RIGHT",
}
"""Instead of those words for a run that began with a task in words."""
PROOF_MEANING: dict[ProofLevel, str] = {
    "E0": "nothing shown, or only the crash is gone",
    "E1": "your tests pass",
    "E2": "your tests pass, and so does one that the repair never saw",
    "E3": "changed inputs raise nothing new either, and no variation of the repair fits",
    "E4": "the tests also notice slips put into the repaired lines, and re-runs agree",
}
INTEGRITY_MEANING: dict[Integrity, str] = {
    "isolated": "each answer was compared outside of the program's process",
    "in-process": "tests and program shared a process, and nothing was seen acting on the tests",
}
INTEGRITY_SHORT: dict[Integrity, str] = {
    "isolated": "compared outside of its process", "in-process": "in one process",
}
STEP_WORDS: dict[Step, str] = {
    "recall": "Run your tests, look in memory",
    "branch": "Go on from a program of another run",
    "specify": "Collect the tests",
    "generate": "Write a draft",
    "attack": "Try to break it",
    "execute": "Run the tests",
    "arbitrate": "Judge the tests in dispute",
    "diagnose": "Find the cause",
    "repair": "Search for a repair",
    "attempt": "Ask a model for a repair",
    "select": "Choose the best repair",
    "ask": "Ask which behaviour is right",
    "simplify": "Leave out what cannot run",
    "critique": "Review the repair",
    "inspect": "Look for risky calls",
    "prove": "Prove the repair",
    "gate": "Ask a person",
    "permit": "Ask for leave",
    "help": "Ask what else to try",
    "learn": "Keep what helped",
    "finish": "Finish",
}
WITHOUT_MEMORY: dict[Step, str] = {
    "recall": "Run your tests", "learn": "Keep nothing, as memory is off",
}
APPROACH_WORDS: dict[Approach, str] = {
    "search": "a search without a model",
    "minimal": "a small edit by a model",
    "tournament": "several repairs by models side by side",
    "rewrite": "a function written anew",
    "fresh": "a fresh start",
}
ORIGIN_WORDS: dict[Origin, str] = {
    "user": "Your tests",
    "doctest": "Doctests",
    "task": "From the task's words",
    "spec": "Derived from the task",
    "confirmed": "Derived, and confirmed",
    "contested": "Derived, and contested",
    "urged": "Derived, confirmed, and urged for now",
    "held-out": "Held out",
    "adversarial": "Adversarial: ✓ says only that the call returns, and none of them decides",
}


class Badge(NamedTuple):
    """How a verdict is marked: in Unicode, in ASCII, and in words that anyone understands."""

    glyph: str
    plain: str
    meaning: str


STATUS_SYMBOLS: dict[VerdictStatus, Badge] = {
    "passed": Badge("✓", "+", "passed"),
    "failed": Badge("✗", "x", "failed"),
    "error": Badge("!", "!", "error"),
    "timeout": Badge("◷", "t", "timed out"),
    "skipped": Badge("↷", "-", "skipped"),
    "xfailed": Badge("⊖", "f", "fails as expected"),
    "xpassed": Badge("⊕", "p", "passes, expected to fail"),
    "vacuous": Badge("∅", "0", "no changed answer of the program made it fail"),
    "not believed": Badge("?", "?", "not believed"),
    "set aside": Badge("⊘", "a", "set aside"),
}
NO_MODEL = "No model: memory and search only"

Tone = Literal["plain", "good", "bad", "warning"]


@dataclass(frozen=True)
class ReportLine:
    """One thing that was seen in a run."""

    text: str
    tone: Tone = "plain"
    detail: bool = False
    """Only a reader of every detail wants it."""


def event_lines(event: Event, judged: Report | None = None) -> Iterator[ReportLine]:
    """What an event says, in lines; `judged` is the last report before it."""
    match event:
        case RunStarted():
            yield ReportLine(plan_words(event.provider, event.provider_why))
            if event.sandbox:
                yield ReportLine(f"sandbox: {event.sandbox}")
        case TestsFrozen():
            origins = Counter(test.origin for test in event.tests)
            named = ", ".join(f"{count} {origin}" for origin, count in origins.items())
            yield ReportLine(f"{counted(len(event.tests), 'test')}: {named}")
        case CodeWritten():
            solution = event.solution
            yield ReportLine(
                f"code by {solution.origin}: {solution.note}".rstrip(": "), detail=True
            )
        case Judged():
            said = passing_words(event.report)
            which = f"try {event.iteration}" if event.iteration else "at first"
            yield ReportLine(f"{which}: {said}", _report_tone(event.report))
        case Diagnosed():
            yield ReportLine(f"diagnosis: {diagnosis_words(event.diagnosis)}")
        case Searched():
            yield ReportLine(search_words(event), detail=event.cut_after is None)
        case Recalled():
            tone: Tone = "good" if event.hit and event.replayed else "plain"
            yield ReportLine(event.note if event.replayed else f"memory: {event.note}", tone)
            yield from (ReportLine(f"seen before: {lesson}") for lesson in event.lessons)
        case IterationEnded():
            how = APPROACH_WORDS[event.approach]
            yield ReportLine(
                f"try {event.iteration}: {how}{', which comes nearer' if event.better else ''}",
                detail=True,
            )
        case TestRuled():
            quoted = f' (“{event.quote}”)' if event.quote else ""
            yield ReportLine(f"test {event.ruling}: {event.test}: {event.why}{quoted}", "warning")
        case Looked():
            said = " ".join(event.arguments.split())
            yield ReportLine(f"the debugger looks: {event.tool} {said}".rstrip())
            yield from (ReportLine(f"    {one}", detail=True) for one in event.seen.splitlines())
        case PatchProposed():
            by = "" if event.strategy == "memory" else f"by {event.strategy}: "  # the note says it
            yield ReportLine(f"patch {by}{event.note}")
        case Outdone():
            yield ReportLine(f"not taken: {outdone_words(event)}", detail=True)
        case PartialFound():
            yield ReportLine(partial_words(event), "warning", detail=True)
        case Ambiguous():
            count = counted(len(event.rivals.behaviours), "behaviour")
            said = f"{count} pass the tests: {in_words(event.rivals)}"
            yield ReportLine(said, "warning", detail=True)
        case Critiqued():
            tone = "good" if event.verdict == "approve" else "bad"
            yield ReportLine(
                f"critic: {event.verdict}: {event.note}".rstrip(": "), tone, detail=True
            )
        case Proved():
            found = (judged.integrity, judged.integrity_reason) if judged is not None else (None,)
            said = claim(event.level, *found)
            yield ReportLine(f"proof {said}; {event.why}", "good", detail=True)
        case PlanStepped():
            tone = "good" if event.status == "done" else "plain"
            told = f"step {event.step} {event.status}: {event.what}"
            yield ReportLine(f"{told}: {event.told}" if event.status in GONE else told, tone)
        case LessonLearned():
            yield ReportLine(f"learned: {event.text}")
        case ModelCalled():
            # A small model is asked for many single lines.
            is_short = event.output < TIMED_TOKENS and event.cost_usd == 0
            yield ReportLine(model_words(event), detail=is_short)
        case ModelFailed() | FellBack():
            yield ReportLine(model_words(event), "warning")
        case Extended():
            yield ReportLine(f"the caps were raised by {raised_words(event)}")
        case Notice(level="info"):
            yield ReportLine(event.text)
        case Notice():
            tone = "bad" if event.level == "error" else "warning"
            yield ReportLine(f"{event.level}: {event.text}", tone)
        case Waiting():
            yield ReportLine(f"waits for an answer: {event.question}", "warning")
        case Answered():
            yield ReportLine(f"answered: {event.answer}", detail=True)
        case Resumed():
            yield ReportLine(f"taken up again: {event.note}", "warning")
        case StepStarted() | StepFinished() | ModelAsked() | RunFinished() | RunFailed():
            return
        case _:
            assert_never(event)


def headline(result: Result) -> tuple[str, tuple[str, ...]]:
    """The word that sums a run up, and the facts that stand beside it."""
    spent = cost_words(result) if result.calls else ""
    match result.phase:
        case "finished":
            assert result.outcome is not None
            word = outcome_words(result.outcome, result.proof)
            if result.drafted:
                is_unlikely = result.outcome == "healthy" and (result.confidence or 1.0) < 0.5
                word = WRITTEN[RUNS] if is_unlikely else WRITTEN.get(word, word)
            if result.outcome == "healed":
                word = open_words(result.fitting) or word
            if result.outcome == "budget":
                word = TIME_IS_UP if result.stopped == "time" else BUDGET_IS_SPENT
            if result.below:
                word += f", below {result.below}"
            return word, tuple(_facts(result))
        case "failed":
            return "INTERNAL ERROR", (result.error,)
        case "waiting":
            assert result.waiting is not None
            word = "WAITING"
            if result.outcome is not None and result.waiting.needs != "leave":
                word = OUTCOME_WORDS[result.outcome]
            return word, tuple(filter(None, (_awaited(result.waiting), spent)))
        case "running":
            step = result.current
            progress = step.search if step is not None else None
            facts = (
                step_words(step.step, result.start) if step else "",
                *(_progress(progress) if progress is not None else ()), spent,
            )
            return "RUNNING", tuple(filter(None, facts))
        case "empty":
            return "READY", ()
        case _:
            assert_never(result.phase)


def outcome_words(outcome: RunOutcome, proof: ProofLevel | None) -> str:
    """An outcome in a headline's words."""
    return RUNS if (outcome, proof) == ("healthy", "E0") else OUTCOME_WORDS[outcome]


def step_words(step: Step, start: RunStarted | None) -> str:
    """What a step of this run does."""
    forgets = start is not None and not start.remembers
    return (forgets and WITHOUT_MEMORY.get(step)) or STEP_WORDS[step]


def open_words(many: int) -> str:
    """That so many repairs are known to fit; empty where it is one."""
    return f"one of at least {many} repairs that fit your tests" if many > 1 else ""


def claim_lines(result: Result) -> Iterator[str]:
    """What is claimed of a program, and what it means, for those who read it elsewhere."""
    if likely := confidence_words(result):
        yield f"{likely}: {confidence_meaning(result)}"
    if result.proof is not None:
        yield f"proof {result.proof}: {meaning(result.proof, result)}"
    if result.integrity is not None:
        yield f"integrity {result.integrity}: {integrity_words(result)}"


def integrity_words(result: Result) -> str:
    """How far the passes are believed, and why no further; empty where nothing is claimed."""
    if result.integrity is None:
        return ""
    why = f": {result.integrity_reason}" if result.integrity_reason else ""
    return f"{INTEGRITY_MEANING[result.integrity]}{why}"


def _facts(result: Result) -> Iterator[str]:
    if likely := confidence_words(result):
        doubt = result.unsure if result.outcome in ("proposed", "healthy") else ""
        yield ": ".join(filter(None, (likely, doubt)))
    examples = sum(one.origin in ("user", "doctest", "task") for one in result.tests)
    if result.drafted and examples and result.outcome in KEPT:
        yield f"passes your {counted(examples, 'example')}"
    if result.proof is not None and result.outcome in KEPT:
        yield f"proof {result.claim}"
        yield meaning(result.proof, result)
    if result.outcome == "needs_model":
        return
    others = {None: "", "memory": "from memory, ", "person": "by you, "}
    by = others.get(result.strategy, f"by {result.strategy}, ")
    yield f"{by}{cost_words(result)}"
    if result.iterations:
        tried = len({one.iteration for one in result.columns} - {0})
        bare = result.iterations - tried if result.columns else 0
        none = "none with a program" if not tried else f"{bare} without a program"
        without = f", {none}" if bare > 0 else ""
        yield counted(result.iterations, "try", "tries") + without
    if result.outcome == "crash_stopped" and result.rivals is not None:
        yield others_words(result.rivals)
    if result.candidates:
        yield counted(result.candidates, "candidate") + (" in all" if result.iterations > 1 else "")
    waited = f", and waited {result.waited_s:.1f} s for a person" if result.waited_s > 0.05 else ""
    yield f"{result.worked_s:.1f} s{waited}"


def confidence_words(result: Result) -> str:
    """A confidence as `62 % likely right`, between 1 and 99 %; else empty."""
    if result.confidence is None:
        return ""
    return f"{max(1, min(99, round(100 * result.confidence)))} % likely right"


def confidence_meaning(result: Result) -> str:
    """What the confidence of a result is, and what lowers it most."""
    unsure = f"; less sure, as {result.unsure}" if result.unsure else ""
    what = "programs" if result.outcome == "healthy" else "patches"
    return f"about this share of such {what} was right in our benchmarks{unsure}"


def others_words(rivals: CompetingPatches) -> str:
    """That other repairs stop a crash as well."""
    many = len(rivals.behaviours) - 1
    return f"{counted(many, 'other repair')} found that {'stops' if many == 1 else 'stop'} it too"


def meaning(level: ProofLevel, result: Result) -> str:
    """What a level says; of E0 which of the two it is."""
    if level != "E0":
        return PROOF_MEANING[level]
    if result.outcome == "healthy":
        return "ran without an error; nothing shows that it is right"
    return "only the crash is gone" if result.outcome == "crash_stopped" else "nothing is shown"


def advice_words(result: Result) -> str:
    """What would prove more; empty where that is not known."""
    report, level = result.report, result.proof
    if level is None or report is None or level in ("E3", "E4"):
        return ""
    if result.fitting > 1:
        asked = ", or answer which is right" if result.question is not None else ""
        return f"Add a test that tells the repairs apart{asked}."
    if level == "E0":
        return "Add a test that says what is right."
    if result.outcome not in ("healed", "proposed") or level != "E1":
        return ""
    few = HOLD_OUT_FROM - len(report.trusted)
    if few > 0:
        return f"Add {counted(few, 'test')} of other inputs: one is then held out from the repair."
    told = "Add a failing test that compares a value, for inputs of its own."
    return told if result.unheld in ("together", "no value", "known") else ""


def _progress(seen: Searched) -> Iterator[str]:
    rate = f", {seen.candidates / seen.wall_s:,.0f} a second" if seen.wall_s >= 0.1 else ""
    yield counted(seen.candidates, "candidate") + rate
    yield f"best passes {seen.best_passed} of {seen.total}"


def _awaited(waiting: Waiting) -> str:
    match waiting.needs:
        case "answer" | "review" | "leave" | "help":
            return waiting.question
        case "visitor":
            return "nobody looks at it"
        case "budget":
            return "a cap is reached"
        case "key":
            return "a key is needed"
        case _:
            assert_never(waiting.needs)


def cost_words(result: Result) -> str:
    """What the run has cost so far."""
    if result.tokens:
        return _tokens_words(result.tokens, result.cost_usd)
    return f"no {'tokens' if result.calls else 'model'}, $0.00"


def model_words(event: ModelCalled | ModelFailed | FellBack) -> str:
    """What came of asking a model."""
    match event:
        case ModelCalled():
            return call_words(event)
        case ModelFailed():
            by = f"{role_words(event.role)}: {named(event.provider, event.model)}"
            spent = _tokens_words(event.tokens, event.cost_usd)
            return f"{by} gave no answer: {event.why} ({spent})"
        case FellBack():
            instead = f"{event.to} answers instead of {event.provider}"
            return f"{role_words(event.role)}: {instead}: {event.why}"
        case _:
            assert_never(event)


def node_words(result: Result) -> Iterator[str]:
    """What each step took, in a line."""
    for step, one in result.metrics.items():
        asked = f", {counted(one.calls, 'call')}" if one.calls else ""
        failed = f" ({one.failed} failed)" if one.failed else ""
        spent = f", {_tokens_words(one.tokens, one.cost_usd)}" if one.calls else ""
        yield f"{step}: {counted(one.runs, 'run')}, {one.seconds:.2f} s{asked}{failed}{spent}"


def _tokens_words(tokens: int, usd: float | None) -> str:
    return f"{tokens:,} tokens, {dollars(usd)}" if tokens else "$0.00"


def raised_words(event: Extended) -> str:
    """What is added to the caps."""
    said = (
        dollars(event.usd) if event.usd else "",
        counted(event.tokens, "token") if event.tokens else "",
        counted(event.calls, "call") if event.calls else "",
        f"{event.seconds:g} seconds" if event.seconds else "",
    )
    return ", ".join(filter(None, said))


def plan_words(provider: str, why: str) -> str:
    """Who answers and why; that there is no model is always said first."""
    if provider != "mock":
        return f"{provider}: {why}"
    if why.lower().startswith(NO_MODEL.lower()):
        return NO_MODEL + why[len(NO_MODEL):]
    return f"{NO_MODEL} ({why})" if why else NO_MODEL


def search_words(event: Searched) -> str:
    """A search's progress."""
    cut = event.cut_after
    over = "" if cut is None else f"; its time was over after {cut:.1f} s of work"
    note = f"; {event.note}" if event.note else ""
    return (
        f"search: {counted(event.candidates, 'candidate')}, {event.plausible:,} plausible, "
        f"best passes {event.best_passed} of {event.total}{over}{note}"
    )


def partial_words(partial: PartialFound) -> str:
    """What the best partial patch comes to, or a patch that passes all tests and is not kept."""
    passes = partial.passed == partial.total
    what = "patch of a program that is not kept" if passes else "best partial patch, not a fix"
    return f"{what}: {partial_facts(partial)}"


def partial_facts(partial: PartialFound) -> str:
    """What passes with such a patch, and what it does."""
    every = partial.passed == partial.total
    how_many = "all tests pass" if every else passing(partial.passed, partial.total)
    return "; ".join(filter(None, (f"{how_many} with it", partial.note)))


def best_words(result: Result) -> str:
    """What the best program of a run that keeps none is, and how to get it; else empty."""
    best = result.best
    if best is None:
        return ""
    said = f"The best program so far: {best.label}."
    if best.report is None:
        return said
    iteration = "" if best.iteration is None else f" --iteration {best.iteration}"
    return f"{said} To have it: {COMMAND} show {result.run_id}{iteration}"


def outdone_words(event: Outdone) -> str:
    """Whose repair of a tournament was not taken, and how near it came."""
    return f"a repair by {event.by}, which passes {event.passed} of {counted(event.total, 'test')}"


def report_words(report: Report) -> str:
    """What a report comes to: its verdicts, or how the program ended when there are none."""
    if report.verdicts:
        return tally(report.verdicts)
    return f"no tests; {ending_words(report.ending)}" if report.ending else "no tests"


def passing_words(report: Report) -> str:
    """What passes: of the deciding tests, and separately of those that were added."""
    added = [one for one in report.verdicts if one.origin not in VETOING_ORIGINS]
    if not added or not report.trusted:
        return report_words(report)
    return f"{tally(report.trusted)}, and {tally(added, 'added', 'added')}"


def _report_tone(report: Report) -> Tone:
    if report.verdicts:
        shown = all(verdict.shows for verdict in report.trusted or report.verdicts)
        return "good" if shown else "warning" if report.passed else "bad"
    if report.ending is None:
        return "warning"
    return "bad" if report.ending.crashed else "good"


def ending_words(ending: Ending) -> str:
    """How a program ended as a script, and what the jail refused it."""
    return "; ".join([f"the program {_end_words(ending)}", *ending.refused])


def _end_words(ending: Ending) -> str:
    match ending.kind:
        case "completed":
            return "ran to its end"
        case "exited":
            return f"ended itself with exit code {ending.exit_code}{ending.said}"
        case "raised":
            place = f" at line {ending.line}" if ending.line else ""
            return f"raised {ending.exception or 'an exception'}{place}{ending.said}"
        case "timeout":
            return f"did not end in time ({ending.limit or 'deadline'})"
        case "killed":
            return f"was stopped by a limit ({ending.limit or 'signal'})"
        case _:
            assert_never(ending.kind)


def verdict_words(verdict: Verdict) -> list[str]:
    """What limits the worth of a verdict, or why it counts for nothing."""
    came_out = "passes" if verdict.status == "passed" else verdict.status
    if verdict.doubt:
        return [f"{came_out}, not believed: {verdict.doubt}"]
    if verdict.aside:
        return [f"{came_out}, but not the program's: {verdict.aside}"]
    told = []
    if verdict.standing == "vacuous":
        told.append(f"{STATUS_SYMBOLS['vacuous'].meaning}: no evidence")
    if verdict.type_differs:
        told.append("equal, but of another type")
    if verdict.passed and verdict.integrity not in (None, "isolated"):
        told.append(f"{verdict.integrity}: {verdict.reason}".rstrip(": "))
    return told


def category_words(diagnosis: Diagnosis) -> str:
    """The kind of a failure."""
    return diagnosis.category.replace("_", " ")


def diagnosis_words(diagnosis: Diagnosis) -> str:
    """The cause, and the way to a repair where the debugger names one."""
    if diagnosis.suggests is None:
        return diagnosis.cause
    return f"{diagnosis.cause} (the debugger suggests {APPROACH_WORDS[diagnosis.suggests]})"


def doubt_words(seen: Evidence) -> list[str]:
    """What speaks against a proof above E2, a line for each thing."""
    return [
        *(f"fails where it gave a value before: {call}" for call in seen.new_failures),
        *(f"answered otherwise among other calls: {call}" for call in seen.wavering),
        *(f"no test takes both sides of: {condition}" for condition in seen.unwatched),
        *(f"doubtful: {doubt}" for doubt in seen.doubts),
        *(f"no test notices: {note}" for note in seen.survivors),
        *(f"went otherwise in a re-run: {name}" for name in seen.disagreeing),
    ]
