"""The prove step: computes the proof level and the confidence of the current program."""

from __future__ import annotations

from agent.core.domain import (
    TRUSTED_ORIGINS,
    Alternatives,
    Estimate,
    Evidence,
    Proof,
    ProofLevel,
    Report,
    Solution,
    TestCase,
    tally,
)
from agent.core.events import Ambiguous, Proved
from agent.core.loops import in_thread
from agent.core.state import NOT_HELD_OUT_WORDS, State, Suite, is_repaired
from agent.iteration.context import Context
from agent.iteration.doubtful_patch import ReservePatch
from agent.iteration.iterations import fingerprint, is_small
from agent.memory import FailureKey
from agent.proof.confidence import confidence
from agent.proof.proving import ENOUGH_PROBES, RERUNS, gather_evidence, is_limited_to_e1, reaches_e3
from agent.proof.uniqueness import ProofCase, ProofEvidence
from agent.search.inspection.doubts import calls, dropped_calls, unread_names
from agent.search.inspection.widening import dropped_guards
from agent.search.ranking.question import question
from agent.target.test_analysis.calls import makes_new_calls
from agent.target.test_analysis.held_out import contains_test
from agent.verify.project.suite_judge import NOT_IN_TIME

ENOUGH_KILLED = 0.8

MAX_PARTIAL_CONFIDENCE = 0.85
"""The maximum confidence in a patch if some tests were not run or verified in time."""
CLOSING_S = 0.5
"""Seconds of a run that are reserved for its end."""
PASSED_BEFORE = "the held-out test passed before the repair, and no competing patch fails it"
REVEALED = "an earlier repair failed the held-out test, which is not hidden any more"
CHANGED_FOR_DERIVED = "they passed before too: only tests derived from the task required a change"


def proof_of(
    report: Report, suite: Suite, program: Solution, read: str = "",
    failed: frozenset[str] = frozenset(),
) -> Proof:
    """Computes the proof level of a passing report. A vacuous pass is no evidence; a type
    difference, or a held-out test that the model has read, caps the proof at E1.

    Args:
        program: The repaired program.
        read: The texts that the model had read.
        failed: Names of the tests that failed before the repair.
    """
    trusted = report.trusted
    if not trusted and report.deciding_verdicts:
        return Proof(level="E0", why=(
            f"{tally(report.deciding_verdicts, 'example')} derived from the task; the user gave no "
            "test"
        ))
    if not trusted:
        return Proof(level="E0", why="there is no test").limited(_ending_words(report))
    passed = tally(trusted)
    evidence_names = {verdict.test for verdict in trusted if verdict.is_evidence}
    if not evidence_names or (failed and not failed & evidence_names):
        which = "every test that failed before" if evidence_names else "every test"
        return Proof(level="E0", why=passed).limited(f"{which} shows nothing")
    if report.derived_failures:
        level: ProofLevel = "E0" if report.is_contested else "E1"
        names = ", ".join(f"`{one.name}`" for one in report.derived_failures[:2])
        more = len(report.derived_failures) - 2
        names += f" and {more} more" if more > 0 else ""
        unsettled = ", and it is unknown which is right" if level == "E0" else ""
        return Proof(level=level, why=passed).limited(
            f"but it fails {names}, derived from the task{unsettled}"
        )
    held_out = [test for test in suite.held_out if test.origin in TRUSTED_ORIGINS]
    if not held_out:
        no_hold_out_reason = "" if suite.held_out_revealed else suite.not_held_out
        proof = Proof(level="E1", why=passed, not_held_out=no_hold_out_reason)
        shown = REVEALED if suite.held_out_revealed else NOT_HELD_OUT_WORDS[no_hold_out_reason]
        return proof.limited(shown) if shown else proof
    if any(verdict.type_differs for verdict in trusted):
        return Proof(level="E1", why=f"{passed}, one with a value of another type than expected")
    if not {test.name for test in held_out} <= evidence_names:
        return Proof(level="E1", why=passed).limited("the held-out test shows nothing")
    known = [test for test in suite.visible if test.origin != "adversarial"]
    if not any(makes_new_calls(test, known, program) for test in held_out):
        return Proof(level="E1", why=passed).limited("the held-out test makes no calls of its own")
    if any(is_contained(test, read) for test in held_out):
        return Proof(level="E1", why=passed).limited("the model has read the held-out test")
    return Proof(level="E2", why=f"{passed}, {len(held_out)} of them hidden from the repair")


def without_new_evidence(proof: Proof, suite: Suite) -> Proof:
    """Caps the proof at E1 if the held-out test passed before and no competing patch fails it."""
    if not suite.held_out_passed or (proof.evidence and proof.evidence.refuted):
        return proof
    return proof.limited(PASSED_BEFORE, at_most="E1")


def project_proof(proof: Proof, competing: int, left_open: bool = False) -> Proof:
    """Computes the proof of a project's repair.

    Args:
        competing: The number of competing patches that pass the suite too.
        left_open: Competing patches passed when the recalled fix was learned.
    """
    if competing:
        why = f"at least {competing + 1} different repairs pass the suite"
        return proof.limited(why, at_most="E1", evidence=Evidence(competing_patches=competing))
    if left_open:
        return proof.model_copy(update={"level": min(proof.level, "E1")})
    return proof if proof.level != "E1" else proof.limited("nothing was checked beyond the suite")


def is_contained(test: TestCase, text: str) -> bool:
    """Whether a text contains what a test checks, ignoring white space."""
    if test.kind == "script":
        return contains_test(test.code, test.node, text)
    return "".join(test.call.split()) in "".join(text.split())


def capped_by_doubts(proof: Proof, base: Solution, repaired: Solution) -> Proof:
    """Caps the proof at E1 if the repair drops a call or a guard, or leaves a name unread."""
    doubts = (_doubt(one.before, one.after) for one in repaired.changed_from(base))
    doubt = next(filter(None, doubts), "")
    return proof.limited(doubt, at_most="E1") if doubt else proof


def _doubt(before: str, after: str) -> str:
    dropped = dropped_calls(before, after)
    if dropped:
        change = "called less often than before" if calls(after, dropped[0]) else "no longer called"
        return f"`{dropped[0]}` is {change}, which no test checks"
    guards = dropped_guards(before, after)
    if guards:
        return f"the check `{guards[0]}` is removed"
    unread = unread_names(before, after)
    return f"nothing reads `{unread[0]}`, so no result depends on it" if unread else ""


def _ending_words(report: Report) -> str:
    ending = report.ending
    if ending is None or ending.kind != "exited" or not ending.exit_code:
        return "the program ends without a crash"
    return f"the program exits with code {ending.exit_code}{ending.message_suffix}"


def with_evidence(proof: Proof, evidence: Evidence, budget_s: float) -> Proof:
    """Raises or lowers a proof of level E2 by further evidence."""
    if is_limited_to_e1(evidence):
        return proof.limited(_reason_for_e1(evidence), at_most="E1", evidence=evidence)
    if not reaches_e3(evidence):
        return proof.limited(_lacking_for_e3(evidence, budget_s), evidence=evidence)
    why = (
        f"{proof.why}; {evidence.probes} changed inputs raise no new error; "
        f"none of {evidence.variants_tried} patch variants passes the tests and behaves differently"
    )
    if evidence.mutants:
        lines = "the repaired function" if evidence.whole_function else "the repaired lines"
        why += f"; the tests kill {evidence.killed} of {evidence.mutants} mutants of {lines}"
    if lacking := _lacking_for_e4(evidence, budget_s):
        return Proof(level="E3", why=why, evidence=evidence).limited(lacking)
    return Proof(level="E4", why=f"{why}; {evidence.reruns} re-runs agree", evidence=evidence)


def _reason_for_e1(evidence: Evidence) -> str:
    if count := evidence.competing_patches:
        others = "another behaves" if count == 1 else "others behave"
        return f"not the only repair that passes your tests: {others} differently"
    return f"no test depends on both outcomes of `{evidence.uncovered[0]}`"


def _lacking_for_e3(evidence: Evidence, budget_s: float) -> str:
    if evidence.inconsistent:
        return f"`{evidence.inconsistent[0]}` gives another result when mixed with other calls"
    if evidence.new_failures:
        return f"`{evidence.new_failures[0]}` gave a value before and fails now"
    if evidence.newly_accepted:
        return f"doubtful: {evidence.newly_accepted[0]}"
    if evidence.inconclusive:
        return f"{evidence.inconclusive} within {budget_s:.3g} s"
    return f"only {evidence.probes} of {ENOUGH_PROBES} required changed inputs could be tried"


def _lacking_for_e4(evidence: Evidence, budget_s: float) -> str:
    if evidence.cut:
        return f"{evidence.cut} within {budget_s:.3g} s"
    if evidence.disagreeing:
        return f"flaky: {evidence.disagreeing[0]} had another result in a re-run"
    if not evidence.mutants:
        return "no usable mutant of the repaired lines exists"
    if evidence.killed < ENOUGH_KILLED * evidence.mutants:
        return f"no test would notice: {evidence.survivors[0]}"
    return "" if evidence.reruns == len(RERUNS) else "the tests were not run again"


async def prove(state: State, ctx: Context) -> State:
    """Computes the proof of the current program, and gathers more evidence if it may help."""
    report = ctx.store.get(state["report_id"], Report)
    suite = ctx.store.get(state["suite_id"], Suite)
    if not is_repaired(state):
        suite = suite.revealed()  # without a repair, nothing is held out
    solution = ctx.store.get(state["solution_id"], Solution)
    base = ctx.store.get(state["base_id"], Solution).with_entry(solution.entry)
    read = _texts_seen_by_model(state, ctx, base) if state.get("strategy") == "model" else ""
    first = ctx.first_report if is_repaired(state) else None
    # A drafted program was not written by the user: its repair is proved like a draft.
    is_drafted = ctx.task.solution is None
    failed = frozenset(
        one.test for one in (first.failing if first is not None and not is_drafted else ())
    )
    proof = proof_of(report, suite, base, read, failed)
    proof = await in_thread(capped_by_doubts, proof, base, solution)
    if first is not None and first.trusted and not any(one.fails for one in first.trusted):
        proof = proof.limited(CHANGED_FOR_DERIVED, at_most="E4" if is_drafted else "E0")
    objection = f"the critic objects: {state['objection']}" if state.get("objection") else ""
    for doubt in filter(None, (objection, state.get("risk"))):  # `risk`: an added risky call
        proof = proof.limited(doubt, at_most="E1")
    budget_s = min(ctx.settings.proof_s, ctx.seconds_left - CLOSING_S)
    competing: Alternatives | None = None
    evidence: Evidence | None = None
    changes_other_files = any(one.path != solution.entry for one in solution.changed_from(base))
    if ctx.task.project is not None:
        known = state.get("alternatives_id")
        others = len(ctx.store.get(known, Alternatives).behaviours) - 1 if known else 0
        if is_repaired(state):
            proof = project_proof(proof, others, bool(state.get("caveat")))
    elif changes_other_files:
        pass  # further evidence is gathered only for the entry file
    elif proof.level in ("E1", "E2") and budget_s > 0 and is_repaired(state):
        left_s = ctx.seconds_left - CLOSING_S if proof.level == "E2" else budget_s
        found = await _evidence(state, ctx, report, suite, budget_s, left_s)
        evidence = found.evidence
        if proof.level == "E2":  # at E1 it counts only for the confidence
            proof, competing = with_evidence(proof, evidence, budget_s), found.competing
    elif proof.level == "E2" and state.get("alternatives_id"):
        proof = proof.limited("there was no time to judge the competing patches", at_most="E1")
    chosen = state.get("chosen_in") == state["iteration"] and not state.get("alternatives_id")
    if not chosen:
        proof = without_new_evidence(proof, suite)
    if state.get("caveat"):
        open_ = Evidence(competing_patches=1) if state.get("other_repairs_fit") else None
        proof = proof.limited(state["caveat"], evidence=proof.evidence or open_)
    estimate = None
    if is_repaired(state):
        estimate = await in_thread(
            confidence, solution, base, suite.visible, proof, evidence, state["strategy"],
            chosen=chosen, agreed=_agrees_with_earlier_repair(state, ctx, solution),
            from_draft=base.origin == "model" and (state["strategy"] == "search" or is_small(ctx)),
            suite=0 if ctx.task.project is None or report.untested
            else ctx.task.project.suite_size,
        )
    elif "written_id" in state:
        estimate = ctx.store.get(state["written_id"], Estimate)
    chance = None if estimate is None else estimate.probability
    unsure_reason = "" if estimate is None else estimate.reason
    late = report.untested or any(one.reason == NOT_IN_TIME for one in report.verdicts)
    if chance is not None and late and chance > MAX_PARTIAL_CONFIDENCE:
        chance = MAX_PARTIAL_CONFIDENCE
        unsure_reason = "there was no time to run and verify every test"
    proved = Proved(
        **dict(proof), confidence=chance, unsure=unsure_reason,
        features={} if estimate is None else estimate.features,
    )
    ctx.emit(proved)
    update: State = {
        "proof": proof.level, "proof_why": proof.why,
        "confidence": 1.0 if chance is None else chance, "unsure": unsure_reason,
    }
    if proved.has_no_competing_patch:
        update["alternatives_id"] = ""
    if competing is not None:
        update["alternatives_id"] = ctx.store.put(competing)
        if (asked := question(competing, base)) is not None:
            ctx.emit(Ambiguous(iteration=state["iteration"], competing=asked))
    return update


def _agrees_with_earlier_repair(state: State, ctx: Context, solution: Solution) -> bool:
    if not state.get("unsure_repair_id") or state["strategy"] != "model":
        return False
    reserve = ctx.store.get(state["unsure_repair_id"], ReservePatch)
    return fingerprint(reserve.solution) == fingerprint(solution)


def _texts_seen_by_model(state: State, ctx: Context, base: Solution) -> str:
    """All texts that the model had read when it wrote the repair."""
    notes = ctx.iterations(state).notes
    return "\n".join([*(file.text for file in base.files), ctx.task.text, *notes])


async def _evidence(
    state: State, ctx: Context, report: Report, suite: Suite, budget_s: float, left_s: float
) -> ProofEvidence:
    trusted = {verdict.test for verdict in report.trusted}
    tests = tuple(test for test in suite.all if test.name in trusted)
    others = state.get("alternatives_id")
    failure = ctx.store.get(state["failure_id"], FailureKey) if "failure_id" in state else None

    async def judge(solution: Solution) -> Report:
        return await ctx.judge(solution, tests)

    return await gather_evidence(
        ProofCase(
            base=ctx.store.get(state["base_id"], Solution),
            repaired=ctx.store.get(state["solution_id"], Solution), report=report, tests=tests,
            others=ctx.store.get(others, Alternatives) if others else None,
            task=ctx.task, sandbox=ctx.sandbox, test_s=ctx.test_s,
            raised=failure.exception if failure is not None else "",
        ),
        judge, budget_s, left_s,
    )
