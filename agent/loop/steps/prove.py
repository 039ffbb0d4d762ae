"""Prove: how far the current program is shown to be right, and by what."""

from __future__ import annotations

from agent.core.domain import (
    VETOING_ORIGINS,
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
from agent.core.loops import aside
from agent.core.state import UNHELD_WORDS, State, Suite, is_repaired
from agent.iteration.context import Context
from agent.iteration.doubtful_patch import Reserve
from agent.iteration.iterations import fingerprint, is_small
from agent.memory import FailureKey
from agent.proof.confidence import confidence
from agent.proof.proving import (
    ENOUGH_PROBES,
    RERUNS,
    gather_evidence,
    holds_at_e1,
    reaches_e3,
)
from agent.proof.uniqueness import ProofCase, ProofEvidence
from agent.search.inspection.doubts import calls, dropped_calls, unread_names
from agent.search.inspection.widening import dropped_guards
from agent.search.ranking.question import question
from agent.target.test_analysis.calls import makes_new_calls
from agent.target.test_analysis.held_out import contains_test

ENOUGH_KILLED = 0.8

CLOSING_S = 0.5
"""Seconds of a run that are left for its end."""
PASSED_BEFORE = "the test held out passed before the repair, and no competing patch fails it"
CHANGED_FOR_DERIVED = "they passed before too: it was changed for what was derived from the words"


def proof_of(
    report: Report, suite: Suite, program: Solution, read: str = "",
    failed: frozenset[str] = frozenset(),
) -> Proof:
    """The proof level of a passing report; pure. `program`: the repaired one; `read`: the texts its
    model had seen; `failed`: tests that failed before. A vacuous pass is no evidence; a type
    difference, or a held-out test that was seen, caps the proof at E1."""
    trusted = report.trusted
    if not trusted and report.oracle:
        return Proof(level="E0", why=(
            f"of what was derived from the words {tally(report.oracle, 'example')}; none of the "
            "tests is the user's"
        ))
    if not trusted:
        return Proof(level="E0", why="there is no test").but(_ended(report))
    passed = tally(trusted)
    showing = {verdict.test for verdict in trusted if verdict.shows}
    if not showing or (failed and not failed & showing):
        which = "a test that failed before" if showing else "any test"
        return Proof(level="E0", why=passed).but(f"nothing is shown by {which}")
    if report.doubts:
        level: ProofLevel = "E0" if report.is_contested else "E1"
        names = ", ".join(f"`{one.name}`" for one in report.doubts[:2])
        names += f" and {len(report.doubts) - 2} more" if len(report.doubts) > 2 else ""
        unsettled = ", and nothing settles who is right" if level == "E0" else ""
        return Proof(level=level, why=passed).but(
            f"but it fails {names}, derived from the task{unsettled}"
        )
    held_out = [test for test in suite.held_out if test.origin in VETOING_ORIGINS]
    if not held_out:
        unheld = "" if suite.consulted else suite.unheld
        proof = Proof(level="E1", why=passed, unheld=unheld)
        shown = "the held-out test had to be shown" if suite.consulted else UNHELD_WORDS[unheld]
        return proof.but(shown) if shown else proof
    if any(verdict.type_differs for verdict in trusted):
        return Proof(level="E1", why=f"{passed}, one with a value of another type than expected")
    if not {test.name for test in held_out} <= showing:
        return Proof(level="E1", why=passed).but("the held-out test shows nothing")
    known = [test for test in suite.visible if test.origin != "adversarial"]
    if not any(makes_new_calls(test, known, program) for test in held_out):
        return Proof(level="E1", why=passed).but("the held-out test asks only what others ask")
    if any(is_told(test, read) for test in held_out):
        return Proof(level="E1", why=passed).but("its model has read the held-out test")
    unseen = f"{len(held_out)} of them never seen by the repair"
    return Proof(level="E2", why=f"{passed}, {unseen}")


def without_new_evidence(proof: Proof, suite: Suite) -> Proof:
    """At most E1 where the held-out test passed before and no competing patch fails it; pure."""
    if not suite.held_passed or (proof.evidence and proof.evidence.refuted):
        return proof
    return proof.but(PASSED_BEFORE, at_most="E1")


def of_a_suite(proof: Proof, rivals: int, left_open: bool = False) -> Proof:
    """The proof of a project's repair; pure. `rivals` pass too; `left_open`: others did when it was
    learned."""
    if rivals:
        words = f"at least {rivals + 1} repairs pass the suite, this one among them"
        return proof.but(words, at_most="E1", evidence=Evidence(others=rivals))
    if left_open:
        return proof.model_copy(update={"level": min(proof.level, "E1")})
    return proof if proof.level != "E1" else proof.but("nothing was checked beyond the suite")


def is_told(test: TestCase, text: str) -> bool:
    """Whether what a test asks is part of a text, spaces apart; pure."""
    if test.kind == "script":
        return contains_test(test.code, test.node, text)
    return "".join(test.call.split()) in "".join(text.split())


def seen_through(proof: Proof, base: Solution, repaired: Solution) -> Proof:
    """At most E1 for a repair whose text shows what no test can: a dropped call or guard, an
    unread name. Pure."""
    found = (_missing(one.before, one.after) for one in repaired.changed_from(base))
    missing = next(filter(None, found), "")
    return proof.but(missing, at_most="E1") if missing else proof


def _missing(before: str, after: str) -> str:
    dropped = dropped_calls(before, after)
    if dropped:
        change = "less often than before" if calls(after, dropped[0]) else "no more"
        return f"`{dropped[0]}` is called {change}, which no test looks at"
    guards = dropped_guards(before, after)
    if guards:
        return f"one check `{guards[0]}` is dropped"
    unread = unread_names(before, after)
    return f"nothing reads `{unread[0]}`, so no answer hangs on it" if unread else ""


def _ended(report: Report) -> str:
    ending = report.ending
    if ending is None or ending.kind != "exited" or not ending.exit_code:
        return "the program ends without a crash"
    return f"the program ends itself with exit code {ending.exit_code}{ending.said}"


def lifted(proof: Proof, seen: Evidence, budget_s: float) -> Proof:
    """A proof of level E2 with what the evidence adds to it or takes from it; pure."""
    if holds_at_e1(seen):
        return proof.but(_held(seen), at_most="E1", evidence=seen)
    if not reaches_e3(seen):
        return proof.but(_lacking_for_e3(seen, budget_s), evidence=seen)
    why = (
        f"{proof.why}; {seen.probes} changed inputs raise nothing new; "
        f"of {seen.siblings} variations of the repair none fits the tests and behaves otherwise"
    )
    if seen.mutants:
        lines = "the repaired function" if seen.around else "the repaired lines"
        why += f"; the tests notice {seen.killed} of {seen.mutants} slips put into {lines}"
    lacking = _lacking_for_e4(seen, budget_s)
    if lacking:
        return Proof(level="E3", why=why, evidence=seen).but(lacking)
    return Proof(level="E4", why=f"{why}; {seen.reruns} re-runs agree", evidence=seen)


def _held(seen: Evidence) -> str:
    if seen.others:
        return (
            "not the only repair that fits your tests: "
            f"{'another behaves' if seen.others == 1 else 'others behave'} otherwise"
        )
    return f"no test takes both sides of `{seen.unwatched[0]}` and notices"


def _lacking_for_e3(seen: Evidence, budget_s: float) -> str:
    if seen.wavering:
        return f"`{seen.wavering[0]}` is answered otherwise among other calls"
    if seen.new_failures:
        return f"`{seen.new_failures[0]}` gave a value before and fails now"
    if seen.doubts:
        return f"doubtful: {seen.doubts[0]}"
    if seen.unsettled:
        return f"{seen.unsettled} within {budget_s:.3g} s"
    return f"only {seen.probes} changed inputs could be tried, of {ENOUGH_PROBES} it takes"


def _lacking_for_e4(seen: Evidence, budget_s: float) -> str:
    if seen.cut:
        return f"{seen.cut} within {budget_s:.3g} s"
    if seen.disagreeing:
        return f"flaky: {seen.disagreeing[0]} went otherwise in a re-run"
    if not seen.mutants:
        return "no slip put into the repaired lines tells anything"
    if seen.killed < ENOUGH_KILLED * seen.mutants:
        return f"nothing would notice: {seen.survivors[0]}"
    return "" if seen.reruns == len(RERUNS) else "the tests were not run again"


async def prove(state: State, ctx: Context) -> State:
    """Computes the proof of the current program, and looks for more evidence where it may help."""
    report = ctx.store.get(state["report_id"], Report)
    suite = ctx.store.get(state["suite_id"], Suite)
    if not is_repaired(state):
        suite = suite.shown()  # a test is held out from a repair
    solution = ctx.store.get(state["solution_id"], Solution)
    base = ctx.store.get(state["base_id"], Solution).seen_at(solution.entry)
    read = _read(state, ctx, base) if state.get("strategy") == "model" else ""
    first = ctx.first_report if is_repaired(state) else None
    # What a model drafted is no program that somebody had: its repair shows what a draft does.
    is_drafted = ctx.task.solution is None
    failed = frozenset(
        one.test for one in (first.failing if first is not None and not is_drafted else ())
    )
    proof = proof_of(report, suite, base, read, failed)
    proof = await aside(seen_through, proof, base, solution)
    if first is not None and first.trusted and not any(one.fails for one in first.trusted):
        proof = proof.but(CHANGED_FOR_DERIVED, at_most="E4" if is_drafted else "E0")
    objection = f"the critic objects: {state['objection']}" if state.get("objection") else ""
    for doubt in filter(None, (objection, state.get("risk"))):
        proof = proof.but(doubt, at_most="E1")
    budget_s = min(ctx.settings.proof_s, ctx.seconds_left - CLOSING_S)
    rivals: Alternatives | None = None
    seen: Evidence | None = None
    elsewhere = any(one.path != solution.entry for one in solution.changed_from(base))
    if ctx.task.project is not None:
        known = state.get("rivals_id")
        others = len(ctx.store.get(known, Alternatives).behaviours) - 1 if known else 0
        if is_repaired(state):
            proof = of_a_suite(proof, others, bool(state.get("caveat")))
    elif elsewhere:
        pass  # what else is asked is asked of the entry
    elif proof.level in ("E1", "E2") and budget_s > 0 and is_repaired(state):
        left_s = ctx.seconds_left - CLOSING_S if proof.level == "E2" else budget_s
        found = await _evidence(state, ctx, report, suite, budget_s, left_s)
        seen = found.evidence
        if proof.level == "E2":  # at E1 it counts for the confidence alone
            proof, rivals = lifted(proof, seen, budget_s), found.rivals
    elif proof.level == "E2" and state.get("rivals_id"):
        proof = proof.but("there was no time to judge its rivals", at_most="E1")
    chosen = bool(state.get("asked")) and not state.get("rivals_id")
    if not chosen:
        proof = without_new_evidence(proof, suite)
    if state.get("caveat"):
        open_ = Evidence(others=1) if state.get("others_fit") else None
        proof = proof.but(state["caveat"], evidence=proof.evidence or open_)
    likely = None
    if is_repaired(state):
        likely = await aside(
            confidence, solution, base, suite.visible, proof, seen, state["strategy"],
            chosen=chosen, agreed=_agreed(state, ctx, solution),
            drafted=base.origin == "model" and (state["strategy"] == "search" or is_small(ctx)),
            suite=0 if ctx.task.project is None else len(ctx.task.project.tests),
        )
    elif "written_id" in state:
        likely = ctx.store.get(state["written_id"], Estimate)
    chance, unsure = (None, "") if likely is None else (likely.probability, likely.reason)
    proved = Proved(
        **dict(proof), confidence=chance, unsure=unsure,
        features={} if likely is None else likely.features,
    )
    ctx.emit(proved)
    update: State = {
        "proof": proof.level, "proof_why": proof.why,
        "confidence": 1.0 if chance is None else chance, "unsure": unsure,
    }
    if proved.settles_competition:
        update["rivals_id"] = ""
    if rivals is not None:
        update["rivals_id"] = ctx.store.put(rivals)
        asked = question(rivals, base)
        if asked is not None:
            ctx.emit(Ambiguous(iteration=state["iteration"], rivals=asked))
    return update


def _agreed(state: State, ctx: Context, solution: Solution) -> bool:
    if not state.get("doubtful_id") or state["strategy"] != "model":
        return False
    reserve = ctx.store.get(state["doubtful_id"], Reserve)
    return fingerprint(reserve.solution) == fingerprint(solution)


def _read(state: State, ctx: Context, base: Solution) -> str:
    """All texts that a model had read when it wrote the repair."""
    notes = ctx.rounds(state).notes
    return "\n".join([*(file.text for file in base.files), ctx.task.text, *notes])


async def _evidence(
    state: State, ctx: Context, report: Report, suite: Suite, budget_s: float, left_s: float
) -> ProofEvidence:
    trusted = {verdict.test for verdict in report.trusted}
    tests = tuple(test for test in suite.all if test.name in trusted)
    others = state.get("rivals_id")
    failure = ctx.store.get(state["failure_id"], FailureKey) if "failure_id" in state else None

    async def judge(solution: Solution) -> Report:
        return await ctx.judge(solution, tests)

    return await gather_evidence(
        ProofCase(
            base=ctx.store.get(state["base_id"], Solution),
            repaired=ctx.store.get(state["solution_id"], Solution),
            report=report, tests=tests,
            others=ctx.store.get(others, Alternatives) if others else None,
            task=ctx.task, sandbox=ctx.sandbox, test_s=ctx.test_s,
            raised=failure.exception if failure is not None else "",
        ),
        judge, budget_s, left_s,
    )
