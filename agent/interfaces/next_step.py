"""Decides what a user should do after a run, in the words of the terminal and of the page."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from agent.core.domain import counted
from agent.core.settings import COMMAND
from agent.interfaces.exits import USUAL, Requirements, missed_requirement
from agent.report.result import Result
from agent.report.words import USE_A_MODEL, advice_words

if TYPE_CHECKING:
    from agent.interfaces.project.discovery import Inspection

Words = Mapping[str, str]

TERMINAL: Words = {
    "no answer": "a model gave no answer: {result.unanswered}. "
    f"`{COMMAND} plan --test` tests providers and keys at no cost.",
    "disbelieved": "no test showed a wrong value, but the program interferes with its tests. "
    "Remove the code shown next to them, and run again.",
    "ask_which": "choose the right repair with --ask, or add a test that only one of them passes",
    "decide": "add a test that only one of the repairs passes",
    "several": "compare the patches shown. If they behave differently, add a test that only one "
    "of them passes",
    "low_confidence": "add a test whose input differs in kind from those of your tests",
    "proposed": "{step}; or accept the patch as it is with --accept-proposed.",
    "E0": "add a test that fails now (--tests or --tests-file); or accept the patch as it is with "
    "--require-proof E0",
    "crash": "add a test that fails now (--tests or --tests-file); or accept the patch as it is "
    "with --accept-proposed",
    "E1": "provide at least four tests that check different inputs against expected values, so "
    "that one can be held out",
    "E2": "the reason says what prevents a higher proof: add calls with other values, or allow "
    "more time (HEAL_PROOF_S)",
    "E3": "add a test that fails for the mutation named in the reason",
    "E4": "there is no higher level",
    "no test": "add a test that fails now (--tests or --tests-file)",
    "integrity": "write that test with calls and plain values, or accept it with "
    "--require-integrity {result.integrity}",
    "crash_stopped": "the crash is gone, but no test shows that the result is right. Add a test "
    "(--tests or --tests-file).",
    "unresolved": "look at the suspicious lines, or add a smaller failing test, and run again.",
    "unresolved without a model": "look at the suspicious lines, or add a smaller failing test, "
    f"and run again. A model may find a repair that the search did not: {USE_A_MODEL}.",
    "needs_model": f"{USE_A_MODEL}; or provide code and a test.",
    "no draft": "read the model's replies (--log) and run again with another model (--model), or "
    "provide code and tests, which need no model.",
    "model_failed": "read the model's replies (--log), and run again with another model (--model) "
    "or more time (--timeout).",
    "budget": "provide a smaller test or a larger budget, and run again.",
}
_MODEL = "read the model's replies in the Trace, and choose another model under “Models and " \
    "keys”. Code with tests needs no model."
_SMALLER = "provide one failing test at a time, or a test for a smaller part of the program"
PAGE: Words = {
    "no answer": _MODEL, "no draft": _MODEL, "model_failed": _MODEL,
    "disbelieved": "remove the code that interferes with the tests; it is shown next to them.",
    "proposed": "review the patch; to be more certain, {step}",
    "ask_which": "add a test that only one of the repairs passes.",
    "decide": "add a test that only one of the repairs passes.",
    "several": "compare the repairs. If they behave differently, add a test that only one passes.",
    "low_confidence": "add a test whose input differs in kind from those of your tests.",
    "E0": "add a test with the expected value.",
    "E1": "add a test that fails now and compares a value; have at least four tests in all.",
    "E2": "add calls with other values, or give the run more seconds under “Options”.",
    "E3": "add a test that fails for the mutation named under Proof.",
    "integrity": "write that test with calls and plain values, or require less under “Options”.",
    "E4": "there is no higher level.",
    "no test": "add a test with the expected value.",
    "healthy_unproved": "add a test with the expected value.",
    "crash_stopped": "add a test with the expected value.",
    "crash": "add a test with the expected value.",
    "unresolved": f"{_SMALLER}{{longer}}, or use another model: “Models and keys”.",
    "unresolved without a model": f"{_SMALLER}{{longer}}, or use a model: “Models and keys”.",
    "needs_model": "set a key under “Models and keys”, provide code and a test, or choose an "
    "example.",
    "budget": "give it {more}a smaller test.",
}


def step_key(result: Result, required: Requirements) -> str:
    """Returns the key of the next step; empty if there is none, or if the reason names it."""
    outcome = result.outcome
    if outcome is None or result.waiting is not None:
        return ""
    if result.unanswered and outcome in ("unresolved", "not_fixable", "model_failed"):
        return "no answer"
    match missed_requirement(result, required):
        case "confidence" | "proof" if result.fitting_repairs > 1:
            call = result.competing.call if result.competing else ""
            if not call:
                return "several" if result.competing else "low_confidence"
            return "decide" if result.of_project else "ask_which"
        case "confidence":
            return "low_confidence"
        case "proof" if result.outcome == "crash_stopped" and not required.proof:
            return "crash"
        case "proof":
            return result.proof or "E0"
        case "integrity":
            return "integrity" if result.integrity else "no test"
        case _:
            return _by_outcome(result)


def _by_outcome(result: Result) -> str:
    report, outcome = result.shown_report, result.outcome
    failing = [one for one in report.verdicts if one.fails] if report else []
    if outcome == "unresolved" and failing and all(one.disbelieved for one in failing):
        return "disbelieved"
    if outcome == "unresolved" and result.provider == "mock":
        return "unresolved without a model"
    if outcome == "model_failed" and result.from_description:
        return "no draft"
    if outcome == "healthy":
        return "healthy_unproved" if result.proof == "E0" else ""
    return "" if outcome == "proposed" else outcome or ""  # an accepted proposal needs nothing


def next_step(result: Result, words: Words, required: Requirements = USUAL) -> str:
    """Returns the next step in lower case, in an interface's wording; empty if there is none."""
    step = step_key(result, required)
    text = words.get(step, "")
    unsure_steps = ("ask_which", "decide", "several", "low_confidence")
    if words is PAGE and step in (*unsure_steps, "E0", "E1", "E2", "E3", "E4"):
        text = advice_words(result) or words.get(result.proof or "E0", "") or words[step]
        text = text[:1].lower() + text[1:]
    if result.outcome == "proposed" and step in unsure_steps:
        text = words["proposed"].replace("{step}", text)
    longer = "" if result.cut_after is None else ", or give it more seconds under “Options”"
    text = text.format(result=result, longer=longer, more=_more(result))
    test = doubtful_test(result) if text else ""
    return f"{text} If `{test}` expects a wrong value, correct the test." if test else text


def doubtful_test(result: Result) -> str:
    """If no patch is likely to be right, returns the name of a test that may be wrong: that of a
    user's answer, or the only one that failed at first; else empty."""
    unlikely = result.outcome == "proposed" and (result.confidence or 0.0) < DOUBTFUL
    is_open = unlikely or result.outcome == "unresolved"
    if result.from_description or not result.tested_programs or not is_open:
        return ""
    first = result.tested_programs[0].report
    known = {one.name for one in first.verdicts}
    later = result.report.failing if result.report is not None else ()
    answered = [one.name for one in later if one.origin == "user" and one.name not in known]
    if answered and result.outcome == "unresolved":
        return answered[0]
    failing = first.failing
    if len(failing) != 1 or failing[0].status != "failed" or failing[0].disbelieved:
        return ""
    return failing[0].name


def _more(result: Result) -> str:
    offer = result.offered_extension
    added = offer.model_dump(exclude={"kind"}) if offer is not None else {}
    unit = next((name for name, more in added.items() if more), "").replace("usd", "dollars")
    return f"more {unit} under “Options”, or " if unit else ""


UNHEALED = ("unresolved", "budget")
"""Outcomes after which a project has several next steps."""
DOUBTFUL = 0.6
"""Confidence below which the next step also suggests to check the test."""
TIME_FACTOR = 5
"""Factor for the suggested time limit of a search that ran out of time."""


def next_steps(result: Result, inspected: Inspection | None = None) -> list[str]:
    """Returns the next step for the terminal, unless the reason names it. For a project that was
    not healed, returns a list of options."""
    step = step_key(result, USUAL)
    if inspected and result.outcome in UNHEALED and step not in ("no answer", "disbelieved"):
        return ["Next, one of these:", *(f"  - {one}" for one in _options(result, inspected))]
    text = next_step(result, TERMINAL)
    if not text or result.outcome == "proposed" or text.rstrip(".") in result.reason:
        return []
    return [f"Next: {text}"]


def _options(result: Result, inspected: Inspection) -> Iterator[str]:
    request, root = inspected.request, inspected.project.root
    others = len(inspected.run.failing) - len(inspected.to_heal)
    failure = result.smallest_failure
    if result.cut_after is not None or result.stopped == "time":
        limit = request.timeout or (
            result.start.limit_s if result.start is not None else inspected.settings.budget_s
        )
        own_s = inspected.settings.search_s
        if result.stopped != "time" and not request.timeout:  # its own limit cut the search
            yield f"allow more time: --timeout {limit:g}; without it a search takes {own_s:g} s"
        else:
            yield f"allow more time: --timeout {TIME_FACTOR * limit:g}; the limit was {limit:g} s"
    if test := doubtful_test(result):
        yield f"correct the test, if it expects a wrong value: {test}"
    if others > 0:
        more = counted(others, "more test fails", "more tests fail")
        yield f"heal all failing tests ({more}): `{COMMAND} run {root}`"
    if len(inspected.to_heal) > 1 and failure is not None:
        yield f"heal one test alone, if the causes differ: `{COMMAND} run '{failure.name}'`"
    if not (request.since or inspected.project.changed or inspected.project.command):
        yield "name the last good commit: --since REV; code changed since is searched first"
    likely = [*dict(inspected.project.changed), *(one.file for one in result.suspects)]
    if likely and not request.only and len(inspected.project.editable) > 1:
        yield f"name the file to edit, if you know it: --only {likely[0]}"
    yield "repair it by hand, starting at the places above; or add a failing test of a smaller part"
    if result.provider == "mock":
        yield f"{USE_A_MODEL}; --report FILE has the question"
