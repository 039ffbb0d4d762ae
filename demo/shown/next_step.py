"""What a person can do next with a run that has ended, in the words of the page; pure."""

from __future__ import annotations

from agent.core.domain import ProofLevel, RunOutcome
from agent.log.result import Result
from agent.log.words import advice_words

FURTHER: dict[ProofLevel, str] = {
    "E1": "add a test that fails now and compares a value, and four or more in all.",
    "E2": "add calls with other values, or give the run more seconds under “Options”.",
    "E3": "add a test that notices the slip which the Proof names.",
}
"""What lifts a repair above a level where nothing nearer is known."""
AFTER: dict[RunOutcome, str] = {
    "crash_stopped": "add a test that says what is right.",
    "unresolved": "bring one failing test at a time, or one of a smaller part of the program",
    "needs_model": "give a key under “Models and keys”, bring code and a test, or choose an "
    "example.",
    "model_failed": "see in the Trace what the model said, and choose another under “Models and "
    "keys”; code with tests needs none.",
    "budget": "give it a smaller test.",
}
DISBELIEVED = "take out of the program what acts on its tests, which stands beside them."


def next_words(result: Result) -> str:
    """The next step; empty where nothing is left to do, or the reason says it."""
    if result.phase != "finished" or result.outcome is None:
        return ""
    if result.below in FURTHER or result.below == "E4":
        said = advice_words(result) or FURTHER.get(result.proof or "E0", "")
        return said[:1].lower() + said[1:]
    if result.below:
        return "write that test with calls and plain values, or ask for less under “Options”."
    if result.outcome == "healthy" and result.proof == "E0":
        return "add a test that says what is right."
    if result.outcome == "budget" and result.offered is not None:
        added = result.offered.model_dump(exclude={"kind"})
        unit = next(name for name, more in added.items() if more).replace("usd", "dollars")
        return f"give it more {unit} under “Options”, or a smaller test."
    if result.outcome == "proposed":
        said = advice_words(result) or FURTHER.get(result.proof or "E0", "")
        return f"review the patch; to be surer, {said[:1].lower()}{said[1:]}"
    if result.outcome != "unresolved":
        return AFTER.get(result.outcome, "")
    report = result.shown_report
    failing = [one for one in report.verdicts if one.fails] if report else []
    if failing and all(one.doubt for one in failing):
        return DISBELIEVED
    other = "a" if result.provider == "mock" else "another"
    # What was tried to its end comes to the same with more seconds.
    longer = "" if result.cut_after is None else ", or give it more seconds under “Options”"
    return f"{AFTER['unresolved']}{longer}, or ask {other} model: “Models and keys”."
