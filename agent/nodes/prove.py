"""Prove: how far the current program is shown to be right, and by what."""

from __future__ import annotations

from agent.context import Context
from agent.domain import Proof, Report
from agent.events import Proved
from agent.state import State, Suite


def proof_of(report: Report, suite: Suite) -> Proof:
    """The proof level a passing report carries; pure.

    A verdict from a process that held the solution too never lifts proof above E1, nor does
    a value whose type differs from the expected one.
    """
    trusted = report.trusted
    if not trusted:
        return Proof(level="E0", why="there is no test; the program ends without a crash")
    passed = f"{len(trusted)} of {len(trusted)} tests pass"
    weak = [verdict for verdict in trusted if verdict.integrity == "in-process"]
    if weak:
        return Proof(level="E1", why=f"{passed}, {len(weak)} judged in the program's own process")
    if not suite.held_out:
        shown = "; the held-out test had to be shown" if suite.consulted else ""
        return Proof(level="E1", why=f"{passed}{shown}")
    if any(verdict.type_differs for verdict in trusted):
        return Proof(level="E1", why=f"{passed}, one with a value of another type than expected")
    return Proof(
        level="E2", why=f"{passed}, {len(suite.held_out)} of them never seen by the repair"
    )


async def prove(state: State, ctx: Context) -> State:
    """Computes the proof of the current program from its newest report."""
    report = ctx.store.get(state["report_id"], Report)
    proof = proof_of(report, ctx.store.get(state["suite_id"], Suite))
    ctx.emit(Proved(level=proof.level, why=proof.why))
    return {"proof": proof.level, "proof_why": proof.why}
