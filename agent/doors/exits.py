"""The exit codes of the terminal face, and which one a run earns."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, assert_never

if TYPE_CHECKING:
    from agent.core.domain import Integrity, ProofLevel
    from agent.log.result import Result

HEALED, NOT_HEALED, USAGE, INTERNAL, NOT_FIXABLE, BUDGET, BELOW, MODEL_FAILED = range(8)
INTERRUPTED = 130

EXIT_CODES: dict[int, str] = {
    HEALED: "healthy as it came (which needs no proof), or healed at --require-proof or above, or "
    "proposed with --accept-proposed; believed, at --require-integrity or above",
    NOT_HEALED: "not healed, or not approved yet (check: a test fails, or a pass is not believed)",
    USAGE: "usage: an argument, a path or a file that cannot be used or written",
    INTERNAL: "a fault of ours",
    NOT_FIXABLE: "not fixable by code: invalid tests, a missing package, missing input or "
    "arguments, the environment; or it needs a model, and none is set up",
    BUDGET: "the budget or the time is used up",
    BELOW: "a patch is proposed: it is below --require-confidence (default 0.9), --require-proof "
    "(default E1; a crash that merely stops is E0) or --require-integrity",
    MODEL_FAILED: "a model gave no usable answer where one was needed; what was reached is "
    "shown, and not kept",
    INTERRUPTED: "interrupted; nothing was written",
}

NEXT_PROOF: dict[ProofLevel, str] = {
    "E0": "add a test that fails now (--tests or --tests-file)",
    "E1": "bring four tests or more, each of which asks something else and says which answer is "
    "right, so that one can be held out",
    "E2": "what keeps it lower stands in the reason: add calls with other literals, or give it "
    "more time (HEAL_PROOF_S)",
    "E3": "add a test that notices the slip which the reason names",
    "E4": "there is no higher level",
}
"""What lifts a repair above a level."""
ADD_A_TEST = "add a test for another input that fails now"
SAY_WHICH = "say which of the repairs is right (--ask), or add a test that tells them apart"


@dataclass(frozen=True)
class Requirements:
    """What a user asks of a result, on both axes."""

    proof: ProofLevel | None = None
    """`None` asks for what the run was started with."""
    integrity: Integrity | None = None
    """`None` asks for any that is believed."""
    accept_proposed: bool = False
    """A patch below the required confidence is enough."""

    def proof_of(self, result: Result) -> ProofLevel:
        """The least proof of that result."""
        return self.proof or (result.start.require_proof if result.start is not None else "E1")


def exit_code(result: Result, least: Requirements = Requirements()) -> int:
    """The exit code of a run: what happened, measured against what was asked for."""
    if result.error:
        return INTERNAL
    match result.outcome:
        case None | "unresolved" | "awaiting_review":
            return NOT_HEALED
        case "proposed" if not least.accept_proposed:
            return BELOW
        case "healthy" | "healed" | "proposed" | "crash_stopped":
            enough = not _lacks_proof(result, least) and result.believed(least.integrity)
            return HEALED if enough else BELOW
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


def _lacks_proof(result: Result, least: Requirements) -> bool:
    """Whether less is shown than was asked for. A program that its user brought, and that was
    healthy as it came, needs no proof; one that was written does."""
    return (result.outcome != "healthy" or result.drafted) and not result.proven(
        least.proof_of(result)
    )


def shortfall(result: Result, least: Requirements) -> tuple[str, str]:
    """How a result stays below what was asked for, and what can be done about it, in sentences;
    both empty where it does not."""
    if exit_code(result, least) != BELOW:
        return "", ""
    level = result.proof or "E0"
    if result.outcome == "proposed" and not least.accept_proposed:
        return (
            f"The patch is not written, because {result.unsure}.",
            f"Next: {SAY_WHICH if result.fitting > 1 else ADD_A_TEST}; or take it as it is, by "
            "--accept-proposed.",
        )
    if _lacks_proof(result, least):
        told = f"Proof {least.proof_of(result)} was required and {level} was reached."
        if result.fitting > 1:
            return told, f"Next: {SAY_WHICH}."
        unproven = "; or take it as it is, by --require-proof E0" if level == "E0" else ""
        return told, f"Next: {NEXT_PROOF[level]}{unproven}."
    found, reason = result.integrity, result.integrity_reason
    told = f"Integrity {least.integrity} was required and "
    if found is None:
        return f"{told}no test passes that shows something.", f"Next: {NEXT_PROOF['E0']}."
    return f"{told}{found} was reached{f': {reason}' if reason else ''}.", (
        "Next: write that test with calls and plain values, or accept it with "
        f"--require-integrity {found}."
    )


def against(result: Result, least: Requirements) -> Result:
    """The result with its shortfall, where it has one, before its reason, and the next step
    after it."""
    missing, step = shortfall(result, least)
    if not missing:
        return result
    reason = f"{result.reason.rstrip('.')}." if result.reason else ""
    return replace(result, reason=" ".join(filter(None, (missing, reason, step))))
