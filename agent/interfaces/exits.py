"""The exit codes of the terminal, and the exit code of a result."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, assert_never

if TYPE_CHECKING:
    from agent.core.domain import Integrity, ProofLevel
    from agent.report.result import Result

HEALED, NOT_HEALED, USAGE, INTERNAL, NOT_FIXABLE, BUDGET, BELOW_REQUIREMENT, MODEL_FAILED = range(8)
INTERRUPTED = 130

EXIT_CODES: dict[int, str] = {
    HEALED: "healthy from the start, or healed with at least --require-proof and "
    "--require-integrity, or proposed with --accept-proposed",
    NOT_HEALED: "not healed, or not approved yet (check: a test fails, or a pass is not believed)",
    USAGE: "usage error: an argument, path or file cannot be used or written",
    INTERNAL: "internal error",
    NOT_FIXABLE: "not fixable by code: invalid tests, a missing package, missing input or "
    "arguments, or the environment; or a model is needed and none is configured",
    BUDGET: "the budget or the time is used up",
    BELOW_REQUIREMENT: "a patch is only proposed: it is below --require-confidence (default 0.9), "
    "--require-proof (default E1: the tests pass; a crash that merely stops is E0) or "
    "--require-integrity",
    MODEL_FAILED: "a model that was needed gave no usable answer; the best attempt is shown and "
    "not written",
    INTERRUPTED: "interrupted; nothing was written",
}

Shortfall = Literal["", "confidence", "proof", "integrity"]


@dataclass(frozen=True)
class Requirements:
    """The minimum proof and integrity that a user requires of a result."""

    proof: ProofLevel | None = None
    """`None` means the value that the run was started with."""
    integrity: Integrity | None = None
    """`None` accepts any integrity."""
    accept_proposed: bool = False

    def required_proof(self, result: Result) -> ProofLevel:
        return self.proof or (result.start.require_proof if result.start is not None else "E1")


USUAL = Requirements()


def exit_code(result: Result, required: Requirements = USUAL) -> int:
    """Returns the exit code of a result under these requirements."""
    if result.error:
        return INTERNAL
    match result.outcome:
        case None | "unresolved" | "awaiting_review":
            return NOT_HEALED
        case "healthy" | "healed" | "proposed" | "crash_stopped":
            return BELOW_REQUIREMENT if missed_requirement(result, required) else HEALED
        case "not_fixable" | "needs_model":
            return NOT_FIXABLE
        case "model_failed":
            return MODEL_FAILED
        case "budget":
            return BUDGET
        case "cancelled":
            return INTERRUPTED
        case _:
            assert_never(result.outcome)


def missed_requirement(result: Result, required: Requirements) -> Shortfall:
    """Returns the requirement that a result misses. A submitted program that is healthy needs no
    proof."""
    if result.error or result.outcome not in ("healthy", "healed", "proposed", "crash_stopped"):
        return ""
    if result.outcome == "proposed" and not required.accept_proposed:
        return "confidence"
    accepted = result.outcome == "crash_stopped" and required.accept_proposed and not required.proof
    if (result.outcome != "healthy" or result.from_description) and not accepted and (
        not result.reaches_proof(required.required_proof(result))
    ):
        return "proof"
    return "" if result.reaches_integrity(required.integrity) else "integrity"


def missed_words(result: Result, required: Requirements) -> str:
    """Returns which requirement a result misses, as a sentence; empty if none."""
    match missed_requirement(result, required):
        case "confidence":
            return f"The patch is not written, because {result.unsure}."
        case "proof" if result.outcome == "crash_stopped" and not required.proof:
            return "The patch is not written, because no test shows that the result is right."
        case "proof":
            from agent.report.words import PROOF_MEANING

            needed, level = required.required_proof(result), result.proof or "E0"
            return (
                f"Proof {needed} is required ({PROOF_MEANING[needed]}), but the result has "
                f"only {level} ({PROOF_MEANING[level]})."
            )
        case "integrity":
            found, reason = result.integrity, result.integrity_reason
            reached = f"the result has only {found}{f': {reason}' if reason else ''}"
            return f"Integrity {required.integrity} is required, but " + (
                f"{reached}." if found else "no passing test shows anything."
            )
        case _:
            return ""


def with_missed_requirement(result: Result, required: Requirements) -> Result:
    """Adds what is missed and the next step; `healed` becomes `proposed`."""
    from agent.interfaces.next_step import TERMINAL, next_step

    missing = missed_words(result, required)
    if not missing:
        return result
    reason = f"{result.reason.rstrip('.')}." if result.reason else ""
    step = f"Next: {next_step(result, TERMINAL, required).rstrip('.')}."
    outcome = "proposed" if result.outcome == "healed" else result.outcome
    return replace(result, outcome=outcome, reason=" ".join(filter(None, (missing, reason, step))))
