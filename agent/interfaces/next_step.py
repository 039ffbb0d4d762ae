"""The next step after a run: which it is, is decided here; terminal and page have their words for
it; pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from agent.core.domain import counted
from agent.core.settings import COMMAND
from agent.interfaces.exits import USUAL, Requirements, lacking
from agent.report.result import Result
from agent.report.words import advice_words

if TYPE_CHECKING:
    from agent.interfaces.project.discovery import Inspection

Words = Mapping[str, str]

TERMINAL: Words = {
    "no answer": "a model gave no answer: {result.unanswered}. "
    f"`{COMMAND} plan --test` tests providers and keys, and spends nothing.",
    "disbelieved": "no answer was seen to be wrong; take out of the program what acts on its "
    "tests, which stands beside them, and run again.",
    "apart": "say which of the repairs is right (--ask), or add a test that tells them apart",
    "surer": "add a test for another input that fails now",
    "proposed": "{step}; or take it as it is, by --accept-proposed.",
    "E0": "add a test that fails now (--tests or --tests-file); or take it as it is, by "
    "--require-proof E0",
    "E1": "bring four tests or more, each of which asks something else and says which answer is "
    "right, so that one can be held out",
    "E2": "what keeps it lower stands in the reason: add calls with other literals, or give it "
    "more time (HEAL_PROOF_S)",
    "E3": "add a test that notices the slip which the reason names",
    "E4": "there is no higher level",
    "no test": "add a test that fails now (--tests or --tests-file)",
    "integrity": "write that test with calls and plain values, or accept it with "
    "--require-integrity {result.integrity}",
    "crash_stopped": "this stops the crash, and nothing shows that the result is right: add a "
    "test (--tests or --tests-file).",
    "unresolved": "look at the suspected lines, or add a smaller failing test; run again.",
    "unresolved without a model": "look at the suspected lines, or add a smaller failing test; "
    "run again. A model may find what the search did not: "
    f"`{COMMAND} plan` says who would answer.",
    "needs_model": f"give a provider's key (`{COMMAND} plan` says who would answer), or bring code "
    "and a test.",
    "no draft": "see what the model said (--log), run again with another (--model), or bring code "
    "and tests: healing those needs none.",
    "model_failed": "see what the model said (--log), and run again with another (--model), or "
    "with more time for the search (--timeout).",
    "budget": "give a smaller test, or a larger budget, and run again.",
}
_MODEL = "see in the Trace what the model said, and choose another under “Models and keys”; code " \
    "with tests needs none."
_SMALLER = "bring one failing test at a time, or one of a smaller part of the program"
PAGE: Words = {
    "no answer": _MODEL, "no draft": _MODEL, "model_failed": _MODEL,
    "disbelieved": "take out of the program what acts on its tests, which stands beside them.",
    "proposed": "review the patch; to be surer, {step}",
    "apart": "add a test that tells the repairs apart.",
    "surer": "add a test for another input that fails now.",
    "E0": "add a test that says what is right.",
    "E1": "add a test that fails now and compares a value, and four or more in all.",
    "E2": "add calls with other values, or give the run more seconds under “Options”.",
    "E3": "add a test that notices the slip which the Proof names.",
    "integrity": "write that test with calls and plain values, or ask for less under “Options”.",
    "E4": "there is no higher level.",
    "no test": "add a test that says what is right.",
    "unshown": "add a test that says what is right.",
    "crash_stopped": "add a test that says what is right.",
    "unresolved": f"{_SMALLER}{{longer}}, or ask another model: “Models and keys”.",
    "unresolved without a model": f"{_SMALLER}{{longer}}, or ask a model: “Models and keys”.",
    "needs_model": "give a key under “Models and keys”, bring code and a test, or choose an "
    "example.",
    "budget": "give it {more}a smaller test.",
}


def step_of(result: Result, least: Requirements) -> str:
    """Which step is next; empty where nothing is left to do, or the reason says it."""
    outcome = result.outcome
    if outcome is None or result.waiting is not None:
        return ""
    if result.unanswered and outcome in ("unresolved", "not_fixable", "model_failed"):
        return "no answer"
    match lacking(result, least):
        case "confidence" | "proof" if result.fitting > 1:
            return "apart"
        case "confidence":
            return "surer"
        case "proof":
            return result.proof or "E0"
        case "integrity":
            return "integrity" if result.integrity else "no test"
        case _:
            return _by_outcome(result)


def _by_outcome(result: Result) -> str:
    report, outcome = result.shown_report, result.outcome
    failing = [one for one in report.verdicts if one.fails] if report else []
    if outcome == "unresolved" and failing and all(one.doubt for one in failing):
        return "disbelieved"
    if outcome == "unresolved" and result.provider == "mock":
        return "unresolved without a model"
    if outcome == "model_failed" and result.drafted:
        return "no draft"
    if outcome == "healthy":
        return "unshown" if result.proof == "E0" else ""
    return outcome or ""


def next_step(result: Result, words: Words, least: Requirements = USUAL) -> str:
    """The next step in an interface's words, without a capital; empty where there is none."""
    step = step_of(result, least)
    said = words.get(step, "")
    if words is PAGE and step in ("apart", "surer", "E0", "E1", "E2", "E3", "E4"):
        said = advice_words(result) or words.get(result.proof or "E0", "") or words[step]
        said = said[:1].lower() + said[1:]
    if result.outcome == "proposed" and step in ("apart", "surer"):
        said = words["proposed"].replace("{step}", said)
    longer = "" if result.cut_after is None else ", or give it more seconds under “Options”"
    return said.format(result=result, longer=longer, more=_more(result))


def _more(result: Result) -> str:
    """What a run at a cap lacked."""
    added = result.offered.model_dump(exclude={"kind"}) if result.offered is not None else {}
    unit = next((name for name, more in added.items() if more), "").replace("usd", "dollars")
    return f"more {unit} under “Options”, or " if unit else ""


UNHEALED = ("unresolved", "budget")
"""Outcomes after which a project has several next steps."""
LONGER = 5
"""Factor for the time of a search that was cut short."""


def next_steps(result: Result, inspected: Inspection | None = None) -> list[str]:
    """What to do next at a terminal, a line each, unless the reason says it; of a project that was
    not healed all that may help."""
    step = step_of(result, USUAL)
    if inspected is not None and result.outcome in UNHEALED and step not in ("no answer", "disbelieved"):
        return ["Next, any of these:", *(f"  - {one}" for one in _helping(result, inspected))]
    said = next_step(result, TERMINAL)
    if not said or result.outcome == "proposed" or said.rstrip(".") in result.reason:
        return []
    return [f"Next: {said}"]


def _helping(result: Result, inspected: Inspection) -> Iterator[str]:
    request, root = inspected.request, inspected.project.root
    others = len(inspected.run.failing) - len(inspected.wanted)
    failure = result.smallest_failure
    if result.cut_after is not None or result.stopped == "time":
        given = result.start.limit_s if result.start is not None else inspected.settings.budget_s
        longer = LONGER * given
        yield f"give it more time: --timeout {longer:g} (it was cut short)"
    if others > 0:
        more = counted(others, "more test fails", "more tests fail")
        yield f"heal all that fails, as {more}: `{COMMAND} run {root}`"
    if len(inspected.wanted) > 1 and failure is not None:
        yield f"heal one test alone, if the causes differ: `{COMMAND} run '{failure.name}'`"
    if not (request.since or inspected.project.changed or inspected.project.command):
        yield "say since which commit it fails: --since REV; what changed since is searched first"
    likely = [*dict(inspected.project.changed), *(one.file for one in result.suspects)]
    if likely and not request.only and len(inspected.project.editable) > 1:
        yield f"name the file, where you know it: --only {likely[0]}"
    yield "read the places above, and mend it by hand; or add a failing test of a smaller part"
    if result.provider == "mock":
        yield f"ask a model: `{COMMAND} plan` says who would answer; --report FILE has the question"
