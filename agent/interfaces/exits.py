"""The exit codes of the terminal, and which one a run ends with."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, assert_never

if TYPE_CHECKING:
    from agent.core.domain import Integrity, ProofLevel
    from agent.report.result import Result

HEALED, NOT_HEALED, USAGE, INTERNAL, NOT_FIXABLE, BUDGET, BELOW, MODEL_FAILED = range(8)
INTERRUPTED = 130

EXIT_CODES: dict[int, str] = {
    HEALED: "healthy as it came (which needs no proof), or healed at --require-proof or above, or "
    "proposed with --accept-proposed; believed, at --require-integrity or above",
    NOT_HEALED: "not healed, or not approved yet (check: a test fails, or a pass is not believed)",
    USAGE: "usage: an argument, a path or a file that cannot be used or written",
    INTERNAL: "internal error",
    NOT_FIXABLE: "not fixable by code: invalid tests, a missing package, missing input or "
    "arguments, the environment; or it needs a model, and none is set up",
    BUDGET: "the budget or the time is used up",
    BELOW: "a patch is proposed: it is below --require-confidence (default 0.9), --require-proof "
    "(default E1; a crash that merely stops is E0) or --require-integrity",
    MODEL_FAILED: "a model gave no usable answer where one was needed; what was reached is "
    "shown, and not kept",
    INTERRUPTED: "interrupted; nothing was written",
}

Lack = Literal["", "confidence", "proof", "integrity"]


@dataclass(frozen=True)
class Requirements:
    """What a user asks of a result, on both axes."""

    proof: ProofLevel | None = None
    """`None`: what the run was started with."""
    integrity: Integrity | None = None
    """`None`: any that is believed."""
    accept_proposed: bool = False

    def proof_of(self, result: Result) -> ProofLevel:
        """The least proof of that result."""
        return self.proof or (result.start.require_proof if result.start is not None else "E1")


USUAL = Requirements()


def exit_code(result: Result, least: Requirements = USUAL) -> int:
    """The exit code of a run: what happened, measured against what was asked for."""
    if result.error:
        return INTERNAL
    match result.outcome:
        case None | "unresolved" | "awaiting_review":
            return NOT_HEALED
        case "healthy" | "healed" | "proposed" | "crash_stopped":
            return BELOW if lacking(result, least) else HEALED
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


def lacking(result: Result, least: Requirements) -> Lack:
    """What keeps a result below what was asked for; a submitted program that is healthy needs no
    proof."""
    if result.error or result.outcome not in ("healthy", "healed", "proposed", "crash_stopped"):
        return ""
    if result.outcome == "proposed" and not least.accept_proposed:
        return "confidence"
    if (result.outcome != "healthy" or result.drafted) and not result.proven(
        least.proof_of(result)
    ):
        return "proof"
    return "" if result.believed(least.integrity) else "integrity"


def shortfall(result: Result, least: Requirements) -> str:
    """How a result stays below what was asked for, as a sentence; empty where it does not."""
    match lacking(result, least):
        case "confidence":
            return f"The patch is not written, because {result.unsure}."
        case "proof":
            level = result.proof or "E0"
            return f"Proof {least.proof_of(result)} was required and {level} was reached."
        case "integrity":
            found, reason = result.integrity, result.integrity_reason
            reached = f"{found} was reached{f': {reason}' if reason else ''}"
            return f"Integrity {least.integrity} was required and " + (
                f"{reached}." if found else "no test passes that shows something."
            )
        case _:
            return ""


def against(result: Result, least: Requirements) -> Result:
    """The result with its shortfall before its reason, and the next step after it."""
    from agent.interfaces.next_step import TERMINAL, next_step

    missing = shortfall(result, least)
    if not missing:
        return result
    reason = f"{result.reason.rstrip('.')}." if result.reason else ""
    step = f"Next: {next_step(result, TERMINAL, least).rstrip('.')}."
    return replace(result, reason=" ".join(filter(None, (missing, reason, step))))
