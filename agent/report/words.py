"""Wording about a run, shared by all interfaces: headlines, facts, event lines and advice.

The keys of the tables appear in JSON and logs. No text is escaped for HTML or a terminal.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, NamedTuple, assert_never

from agent.core import events
from agent.core.domain import (
    MIN_TESTS_TO_HOLD_OUT,
    TRUSTED_ORIGINS,
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
    passed_words,
    tally,
)
from agent.core.settings import COMMAND
from agent.log.spending import MIN_TOKENS_FOR_SPEED, call_words, dollars, role_words
from agent.report.result import ACCEPTED, Result
from agent.search.ranking.question import describe_behaviours
from llm.provider import named

OUTCOME_WORDS: dict[RunOutcome, str] = {
    "healthy": "HEALTHY",
    "healed": "HEALED",
    "proposed": "PATCH PROPOSED",
    "crash_stopped": "CRASH STOPPED, NOT TESTED",
    "unresolved": "NOT HEALED",
    "not_fixable": "NOT FIXABLE BY CODE",
    "needs_model": "NOT STARTED: THIS NEEDS A MODEL",
    "model_failed": "NOT HEALED: A MODEL GAVE NO USABLE ANSWER",
    "budget": "NOT HEALED: BUDGET OR TIME IS UP",  # a headline names one of the two
    "cancelled": "CANCELLED",
    "awaiting_review": "AWAITING REVIEW, NOT ACCEPTED YET",
}
TIME_IS_UP, BUDGET_IS_SPENT = "NOT HEALED: TIME IS UP", "NOT HEALED: THE BUDGET IS SPENT"
RUNS = "RUNS, NOT SHOWN TO BE RIGHT"
"""Replaces HEALTHY where no test gives evidence."""
WRITTEN = {
    OUTCOME_WORDS["healthy"]: "WRITTEN", OUTCOME_WORDS["healed"]: "WRITTEN AND HEALED",
    RUNS: "WRITTEN, NOT SHOWN TO BE RIGHT",
}
"""Replaces those headlines for a run that began with a task description instead of code."""
PROOF_MEANING: dict[ProofLevel, str] = {
    "E0": "nothing shown, or only the crash is gone",
    "E1": "your tests pass",
    "E2": "your tests pass, including a held-out test that the repair never saw",
    "E3": "as E2; changed inputs raise no new errors, and no variant of the repair fits the tests",
    "E4": "as E3; the tests detect mutants of the repaired lines, and re-runs agree",
}
INTEGRITY_MEANING: dict[Integrity, str] = {
    "isolated": "each result was compared outside the program's process",
    "in-process": "tests and program share a process; no tampering with the tests was detected",
}
INTEGRITY_SHORT: dict[Integrity, str] = {
    "isolated": "compared outside its process", "in-process": "in one process",
}
STEP_WORDS: dict[events.Step, str] = {
    "recall": "Run your tests, check the fix memory",
    "branch": "Continue from a program of another run",
    "specify": "Collect the tests",
    "generate": "Write a draft",
    "attack": "Write adversarial tests",
    "execute": "Run the tests",
    "arbitrate": "Validate the disputed tests",
    "diagnose": "Find the cause",
    "repair": "Search for a repair",
    "attempt": "Ask a model for a repair",
    "select": "Choose the best repair",
    "ask": "Ask which behaviour is right",
    "simplify": "Remove unreachable code",
    "critique": "Review the repair",
    "inspect": "Check for risky calls",
    "prove": "Prove the repair",
    "gate": "Ask for approval",
    "permit": "Ask for permission to use a model",
    "help": "Ask what else to try",
    "learn": "Save what was learned",
    "finish": "Finish",
}
WITHOUT_MEMORY: dict[events.Step, str] = {
    "recall": "Run your tests", "learn": "Save nothing, because memory is off",
}
APPROACH_WORDS: dict[Approach, str] = {
    "search": "a search without a model",
    "minimal": "a small edit by a model",
    "tournament": "several repairs by models in parallel",
    "rewrite": "a rewritten function",
    "fresh": "a fresh start",
}
ORIGIN_WORDS: dict[Origin, str] = {
    "user": "Your tests",
    "doctest": "Doctests",
    "task": "Examples in the task",
    "spec": "Derived from the task",
    "confirmed": "Derived, and confirmed",
    "contested": "Derived, and contested",
    "required": "Derived, confirmed, and required for now",
    "held-out": "Held out",
    "adversarial": "Adversarial: ✓ means only that the call returns; these tests decide nothing",
}


class Badge(NamedTuple):
    """The symbol of a verdict in Unicode and in ASCII, and its meaning."""

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
    "vacuous": Badge("∅", "0", "passes even when the program returns wrong values"),
    "not believed": Badge("?", "?", "not believed"),
    "excluded": Badge("⊘", "a", "excluded"),
}
NO_MODEL = "No model: memory and search only"
USE_A_MODEL = (
    "use a model: set ANTHROPIC_API_KEY, or run a local one without a key (--provider llamacpp or "
    "ollama; docs/use-a-model.md)"
)

Tone = Literal["plain", "good", "bad", "warning"]


@dataclass(frozen=True)
class ReportLine:
    """One line of a run's report."""

    text: str
    tone: Tone = "plain"
    detail: bool = False
    """Shown only in verbose output."""


def event_lines(event: events.Event, judged: Report | None = None) -> Iterator[ReportLine]:
    """Yields the lines that describe an event; `judged` is the last report before it."""
    match event:
        case events.RunStarted():
            yield ReportLine(provider_words(event.provider, event.provider_why))
            if event.sandbox:
                yield ReportLine(f"sandbox: {event.sandbox}")
        case events.TestsFrozen():
            origins = Counter(test.origin for test in event.tests)
            named = ", ".join(f"{count} {origin}" for origin, count in origins.items())
            whose = " of these" if {*origins} == {"held-out"} else ""
            yield ReportLine(f"{counted(len(event.tests), 'test')}{whose}: {named}")
        case events.CodeWritten():
            solution = event.solution
            yield ReportLine(
                f"code by {solution.origin}: {solution.note}".rstrip(": "), detail=True
            )
        case events.Judged():
            which = f"iteration {event.iteration}" if event.iteration else "initially"
            yield ReportLine(f"{which}: {passing_words(event.report)}", _report_tone(event.report))
        case events.Diagnosed():
            yield ReportLine(f"diagnosis: {diagnosis_words(event.diagnosis)}")
        case events.Searched():
            yield ReportLine(search_words(event), detail=event.cut_after is None)
        case events.Recalled():
            tone: Tone = "good" if event.hit and event.replayed else "plain"
            yield ReportLine(event.note if event.replayed else f"memory: {event.note}", tone)
            yield from (ReportLine(f"earlier lesson: {lesson}") for lesson in event.lessons)
        case events.IterationEnded():
            how = APPROACH_WORDS[event.approach]
            yield ReportLine(
                f"iteration {event.iteration}: {how}{' (improved)' if event.better else ''}",
                detail=True,
            )
        case events.TestRuled():
            quoted = f' (“{event.quote}”)' if event.quote else ""
            ruling = event.ruling
            yield ReportLine(f"test {ruling}: {event.test}: {event.why}{quoted}", "warning")
        case events.ToolCalled():
            arguments = " ".join(event.arguments.split())
            yield ReportLine(f"the debugger runs: {event.tool} {arguments}".rstrip())
            yield from (ReportLine(f"    {one}", detail=True) for one in event.result.splitlines())
        case events.PatchProposed():
            # The note of a remembered patch names the memory already.
            by = "" if event.strategy == "memory" else f"by {event.strategy}: "
            yield ReportLine(f"patch {by}{event.note}")
        case events.NotChosen():
            yield ReportLine(f"not chosen: {not_chosen_words(event)}", detail=True)
        case events.PartialFound():
            yield ReportLine(partial_words(event), "warning", detail=True)
        case events.Ambiguous():
            count = counted(len(event.competing.behaviours), "behaviour")
            text = f"{count} pass the tests: {describe_behaviours(event.competing)}"
            yield ReportLine(text, "warning", detail=True)
        case events.Critiqued():
            tone = "good" if event.verdict == "approve" else "bad"
            yield ReportLine(
                f"critic: {event.verdict}: {event.note}".rstrip(": "), tone, detail=True
            )
        case events.Proved():
            integrity = (judged.integrity, judged.integrity_reason) if judged else (None,)
            proof = claim(event.level, *integrity)
            yield ReportLine(f"proof {proof}; {event.why}", "good", detail=True)
        case events.PlanStepped():
            tone = "good" if event.status == "done" else "plain"
            text = f"step {event.step} {event.status}: {event.what}"
            yield ReportLine(
                f"{text}: {event.report}" if event.status in events.NOT_COMPLETED else text, tone
            )
        case events.LessonLearned():
            yield ReportLine(f"learned: {event.text}")
        case events.ModelCalled():
            # A small local model answers many short calls.
            is_short = event.output < MIN_TOKENS_FOR_SPEED and event.cost_usd == 0
            yield ReportLine(model_words(event), detail=is_short)
        case events.ModelFailed() | events.FellBack():
            yield ReportLine(model_words(event), "warning")
        case events.Extended():
            yield ReportLine(f"budget raised by {extension_words(event)}")
        case events.Notice(level="info"):
            yield ReportLine(event.text)
        case events.Notice():
            tone = "bad" if event.level == "error" else "warning"
            yield ReportLine(f"{event.level}: {event.text}", tone)
        case events.Waiting():
            yield ReportLine(f"waiting for an answer: {event.question}", "warning")
        case events.Answered():
            yield ReportLine(f"answered: {event.answer}", detail=True)
        case events.Resumed():
            yield ReportLine(f"resumed: {event.note}", "warning")
        case events.StepStarted() | events.StepFinished() | events.ModelAsked():
            return
        case events.RunFinished() | events.RunFailed():
            return
        case _:
            assert_never(event)


def headline(result: Result) -> tuple[str, tuple[str, ...]]:
    """The title that sums up a run, and the facts shown next to it."""
    spent = cost_words(result) if result.calls else ""
    match result.phase:
        case "finished":
            assert result.outcome is not None
            title = outcome_words(result.outcome, result.proof)
            if result.from_description:
                is_unlikely = result.outcome == "healthy" and (result.confidence or 1.0) < 0.5
                title = WRITTEN[RUNS] if is_unlikely else WRITTEN.get(title, title)
            if result.outcome == "budget":
                title = TIME_IS_UP if result.stopped == "time" else BUDGET_IS_SPENT
            below = f"below {result.unmet}" if result.unmet else ""
            title = ", ".join(filter(None, (title, fitting_words(result.fitting_repairs), below)))
            return title, tuple(_facts(result))
        case "failed":
            return "INTERNAL ERROR", (result.error,)
        case "waiting":
            assert result.waiting is not None
            title = "WAITING"
            if result.outcome is not None and result.waiting.needs != "permission":
                title = OUTCOME_WORDS[result.outcome]
            return title, tuple(filter(None, (_waiting_reason(result.waiting), spent)))
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
    return RUNS if (outcome, proof) == ("healthy", "E0") else OUTCOME_WORDS[outcome]


def step_words(step: events.Step, start: events.RunStarted | None) -> str:
    has_no_memory = start is not None and not start.remembers
    return (has_no_memory and WITHOUT_MEMORY.get(step)) or STEP_WORDS[step]


def fitting_words(many: int) -> str:
    """States that `many` repairs are known to fit the tests; empty for a single one."""
    return f"one of at least {many} repairs that fit your tests" if many > 1 else ""


def claim_lines(result: Result) -> Iterator[str]:
    """The confidence, proof and integrity of a result, each with its meaning."""
    if likely := confidence_words(result):
        yield f"{likely}: {confidence_meaning(result)}"
    if result.proof is not None:
        yield f"proof {result.proof}: {meaning(result.proof, result)}"
    if result.integrity is not None:
        yield f"integrity {result.integrity}: {integrity_words(result)}"


def integrity_words(result: Result) -> str:
    """The meaning of the integrity, and why it is not `isolated`; empty without a proof."""
    if result.integrity is None:
        return ""
    words = INTEGRITY_MEANING[result.integrity]
    why = result.integrity_reason.removeprefix(f"{words.partition(';')[0]}; ")
    return f"{words}: {why}" if why else words


def _facts(result: Result) -> Iterator[str]:
    if likely := confidence_words(result):
        doubt = result.unsure if result.outcome in ("proposed", "healthy") else ""
        yield ": ".join(filter(None, (likely, doubt)))
    examples = sum(one.origin in ("user", "doctest", "task") for one in result.tests)
    if result.from_description and examples and result.outcome in ACCEPTED:
        yield f"passes your {counted(examples, 'example')}"
    if result.proof is not None and result.outcome in ACCEPTED:
        yield f"proof {result.claim}"
        yield meaning(result.proof, result)
    if result.outcome == "needs_model":
        return
    others = {None: "", "memory": "from memory, ", "person": "by you, "}
    by = others.get(result.strategy, f"by {result.strategy}, ")
    yield f"{by}{cost_words(result)}"
    if result.iterations:
        tried = len({one.iteration for one in result.tested_programs} - {0})
        bare = result.iterations - tried if result.tested_programs else 0
        without = f", {f'{bare} ' if tried else ''}without a patch" if bare > 0 else ""
        yield counted(result.iterations, "iteration") + without
    if result.outcome == "crash_stopped" and result.competing is not None:
        yield others_words(result.competing)
    if result.candidates:
        yield counted(result.candidates, "candidate") + (" in all" if result.iterations > 1 else "")
    waited = f", plus {result.waited_s:.1f} s of waiting" if result.waited_s > 0.05 else ""
    yield f"{result.worked_s:.1f} s{waited}"


def confidence_words(result: Result) -> str:
    """Returns the confidence as `62 % likely right`, rounded down so that it never seems to reach a
    threshold that it misses, and from 1 to 99 %; empty without one, or if only a crash stopped."""
    if result.confidence is None or result.outcome == "crash_stopped":
        return ""
    return f"{max(1, min(99, int(100 * result.confidence + 1e-9)))} % likely right"


def confidence_meaning(result: Result) -> str:
    """The meaning of a result's confidence, and the main reason why it is not higher."""
    unsure = f"; less certain because {result.unsure}" if result.unsure else ""
    what = "programs" if result.outcome == "healthy" else "patches"
    return f"in our benchmarks, about this share of such {what} was correct{unsure}"


def others_words(patches: CompetingPatches) -> str:
    """States how many other repairs stop a crash as well."""
    many = len(patches.behaviours) - 1
    return f"{counted(many, 'other repair')} also {'stops' if many == 1 else 'stop'} the crash"


def meaning(level: ProofLevel, result: Result) -> str:
    """The meaning of a proof level; for E0 it depends on the outcome."""
    if level != "E0":
        return PROOF_MEANING[level]
    if result.outcome == "healthy":
        return "ran without an error; no test shows that it is right"
    return "only the crash is gone" if result.outcome == "crash_stopped" else "nothing is shown"


def advice_words(result: Result) -> str:
    """Advice on how to reach a higher proof level; empty where there is none."""
    report, level = result.report, result.proof
    if level is None or report is None or level in ("E3", "E4"):
        return ""
    if result.fitting_repairs > 1:
        or_answer = ", or answer which one is right" if result.question is not None else ""
        return f"Add a test that distinguishes the repairs{or_answer}."
    if level == "E0":
        return "Add a test that specifies the correct result."
    if result.outcome not in ("healed", "proposed") or level != "E1":
        return ""
    few = MIN_TESTS_TO_HOLD_OUT - len(report.trusted)
    if few > 0:
        return f"Add {counted(few, 'test')} with other inputs, so that one can be held out."
    advice = "Add a failing test that compares a value for inputs that no other test uses."
    return advice if result.not_held_out in ("together", "no value", "known") else ""


def _progress(search: events.Searched) -> Iterator[str]:
    rate = f", {search.candidates / search.wall_s:,.0f} a second" if search.wall_s >= 0.1 else ""
    yield counted(search.candidates, "candidate") + rate
    yield f"best passes {search.best_passed} of {search.total}"


def _waiting_reason(waiting: events.Waiting) -> str:
    match waiting.needs:
        case "answer" | "review" | "permission" | "help":
            return waiting.question
        case "visitor":
            return "its page was closed"
        case "budget":
            return "a budget limit is reached"
        case "key":
            return "an API key is needed"
        case _:
            assert_never(waiting.needs)


def cost_words(result: Result) -> str:
    if result.tokens:
        return _tokens_words(result.tokens, result.cost_usd)
    return f"no {'tokens' if result.calls else 'model'}, $0.00"


def model_words(event: events.ModelCalled | events.ModelFailed | events.FellBack) -> str:
    """Describes how a model call ended, or which model replaced another."""
    match event:
        case events.ModelCalled():
            return call_words(event)
        case events.ModelFailed():
            by = f"{role_words(event.role)}: {named(event.provider, event.model)}"
            spent = _tokens_words(event.tokens, event.cost_usd)
            return f"{by} gave no answer: {event.why} ({spent})"
        case events.FellBack():
            return f"{role_words(event.role)}: {event.to} replaces {event.provider}: {event.why}"
        case _:
            assert_never(event)


def step_metrics_words(result: Result) -> Iterator[str]:
    """The time and model use of each step, one line per step."""
    for step, one in result.metrics.items():
        calls = f", {counted(one.calls, 'call')}" if one.calls else ""
        failed = f" ({one.failed} failed)" if one.failed else ""
        spent = f", {_tokens_words(one.tokens, one.cost_usd)}" if one.calls else ""
        yield f"{step}: {counted(one.runs, 'run')}, {one.seconds:.2f} s{calls}{failed}{spent}"


def _tokens_words(tokens: int, usd: float | None) -> str:
    return f"{tokens:,} tokens, {dollars(usd)}" if tokens else "$0.00"


def extension_words(event: events.Extended) -> str:
    amounts = (
        dollars(event.usd) if event.usd else "",
        counted(event.tokens, "token") if event.tokens else "",
        counted(event.calls, "call") if event.calls else "",
        f"{event.seconds:g} seconds" if event.seconds else "",
    )
    return ", ".join(filter(None, amounts))


def provider_words(provider: str, why: str) -> str:
    """The provider and why it was chosen; without a model, `NO_MODEL` comes first."""
    if provider != "mock":
        return f"{provider}: {why}"
    if why.lower().startswith(NO_MODEL.lower()):
        return NO_MODEL + why[len(NO_MODEL):]
    return f"{NO_MODEL} ({why})" if why else NO_MODEL


def search_words(event: events.Searched) -> str:
    cut = event.cut_after
    limit = "" if cut is None else f"; time limit reached after {cut:.1f} s of work"
    note = f"; {event.note}" if event.note else ""
    return (
        f"search: {counted(event.candidates, 'candidate')}, {event.plausible:,} plausible, "
        f"best passes {event.best_passed} of {event.total}{limit}{note}"
    )


def partial_words(partial: events.PartialFound) -> str:
    """Describes the best patch of a run that accepted none."""
    passes = partial.passed == partial.total
    what = "patch that was not accepted" if passes else "best partial patch, not a fix"
    return f"{what}: {partial_facts(partial)}"


def partial_facts(partial: events.PartialFound) -> str:
    """How many tests pass with such a patch, and what it changes."""
    passes = partial.passed == partial.total
    how_many = "all tests pass" if passes else passed_words(partial.passed, partial.total)
    return "; ".join(filter(None, (f"{how_many} with it", partial.note)))


def best_words(result: Result) -> str:
    """Describes the best program of a run that accepted none, and how to get it; else empty."""
    best = result.best
    if best is None:
        return ""
    text = f"The best program so far: {best.label}."
    if best.report is None:
        return text
    iteration = "" if best.iteration is None else f" --iteration {best.iteration}"
    return f"{text} To get it: {COMMAND} show {result.run_id}{iteration}"


def not_chosen_words(event: events.NotChosen) -> str:
    """Describes a repair of a tournament that was not chosen."""
    return f"a repair by {event.by}, which passes {event.passed} of {counted(event.total, 'test')}"


def report_words(report: Report) -> str:
    """Summarises the verdicts of a report, or how the program ended if there are none."""
    if report.verdicts:
        return tally(report.verdicts)
    return f"no tests; {ending_words(report.ending)}" if report.ending else "no tests"


def passing_words(report: Report) -> str:
    """How many of the deciding tests pass, and separately how many of the added tests."""
    added = [one for one in report.verdicts if one.origin not in TRUSTED_ORIGINS]
    if not added or not report.trusted:
        return report_words(report)
    return f"{tally(report.trusted)}, and {tally(added, 'added test')}"


def _report_tone(report: Report) -> Tone:
    if report.verdicts:
        shown = all(verdict.is_evidence for verdict in report.trusted or report.verdicts)
        return "good" if shown else "warning" if report.passed else "bad"
    if report.ending is None:
        return "warning"
    return "bad" if report.ending.crashed else "good"


def ending_words(ending: Ending) -> str:
    """How a program ended when run as a script, and what the sandbox refused it."""
    return "; ".join([f"the program {_script_end_words(ending)}", *ending.refused])


def _script_end_words(ending: Ending) -> str:
    match ending.kind:
        case "completed":
            return "finished"
        case "exited":
            return f"exited with code {ending.exit_code}{ending.message_suffix}"
        case "raised":
            place = f" at line {ending.line}" if ending.line else ""
            return f"raised {ending.exception or 'an exception'}{place}{ending.message_suffix}"
        case "timeout":
            return f"did not finish in time ({ending.limit or 'deadline'})"
        case "killed":
            return f"was stopped by a limit ({ending.limit or 'signal'})"
        case _:
            assert_never(ending.kind)


def verdict_words(verdict: Verdict) -> list[str]:
    """Lists what limits the value of a verdict, or why it does not count."""
    status = "passes" if verdict.status == "passed" else verdict.status
    if verdict.disbelieved:
        return [f"{status}, not believed: {verdict.disbelieved}"]
    if verdict.excluded:
        return [f"{status}, excluded: {verdict.excluded}"]
    limits = []
    if verdict.evidence_status == "vacuous":
        limits.append(f"{STATUS_SYMBOLS['vacuous'].meaning}: no evidence")
    if verdict.type_differs:
        limits.append("the value is equal, but not of the expected type (as 3 and 3.0)")
    if verdict.passed and verdict.integrity not in (None, "isolated"):
        limits.append(f"{verdict.integrity}: {verdict.reason}".rstrip(": "))
    return limits


def category_words(diagnosis: Diagnosis) -> str:
    return diagnosis.category.replace("_", " ")


def diagnosis_words(diagnosis: Diagnosis) -> str:
    """The cause, and the approach that the debugger suggests, if any."""
    if diagnosis.suggests is None:
        return diagnosis.cause
    return f"{diagnosis.cause} (the debugger suggests {APPROACH_WORDS[diagnosis.suggests]})"


def doubt_words(evidence: Evidence) -> list[str]:
    """Lists the evidence against a proof above E2, one line for each item."""
    return [
        *(f"fails now, returned a value before: {call}" for call in evidence.new_failures),
        *(f"other result when mixed with other calls: {call}" for call in evidence.inconsistent),
        *(f"no test covers both branches of: {condition}" for condition in evidence.uncovered),
        *(f"doubtful: {doubt}" for doubt in evidence.newly_accepted),
        *(f"no test detects: {note}" for note in evidence.survivors),
        *(f"different result in a re-run: {name}" for name in evidence.disagreeing),
    ]
