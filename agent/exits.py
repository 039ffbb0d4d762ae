"""The exit codes of the terminal face, and which one a run earns."""

from __future__ import annotations

from typing import TYPE_CHECKING, assert_never

if TYPE_CHECKING:
    from agent.domain import ProofLevel
    from agent.result import Result

HEALED, NOT_HEALED, USAGE, INTERNAL, NOT_FIXABLE, BUDGET, BELOW_PROOF = range(7)
INTERRUPTED = 130

EXIT_CODES: dict[int, str] = {
    HEALED: "healthy, or healed at --require-proof or above (check: every test passes)",
    NOT_HEALED: "not healed (check: a test fails)",
    USAGE: "usage: an argument, a path or a file that cannot be used or written",
    INTERNAL: "a fault of ours",
    NOT_FIXABLE: "not fixable by code: invalid tests, a missing package, the environment",
    BUDGET: "the budget or the time is used up",
    BELOW_PROOF: "healed below --require-proof; so is a crash that merely stops (E0)",
    INTERRUPTED: "interrupted; nothing was written",
}


def exit_code(result: Result, required: ProofLevel = "E1") -> int:
    """The exit code of a run: what happened, measured against the proof asked for."""
    if result.error:
        return INTERNAL
    match result.outcome:
        case None | "unresolved":
            return NOT_HEALED
        case "healthy":
            return HEALED
        case "healed" | "crash_stopped":
            return HEALED if result.proven(required) else BELOW_PROOF
        case "not_fixable":
            return NOT_FIXABLE
        case "budget":
            return BUDGET
        case "cancelled":
            return INTERRUPTED
        case _:
            assert_never(result.outcome)


def shortfall(result: Result, required: ProofLevel) -> str:
    """How a repair stays below the proof asked for, in a sentence; empty where it does not."""
    if exit_code(result, required) != BELOW_PROOF:
        return ""
    return f"Proof {required} was required and {result.proof or 'E0'} was reached."
