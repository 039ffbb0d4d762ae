"""What LangGraph carries between steps: identifiers, counters and short words only.

Values live in the store, by content. So nothing here can meet the checkpoint's codec, which
returns unknown types as dicts with only a warning and tuples as lists.
"""

from __future__ import annotations

from typing import TypedDict

from agent.core.domain import (
    VETOING_ORIGINS,
    ProofLevel,
    Report,
    RunOutcome,
    Strategy,
    TestCase,
    Value,
)


class Suite(Value):
    """The frozen tests of a run: those a repair may see, and those it may not."""

    visible: tuple[TestCase, ...] = ()
    held_out: tuple[TestCase, ...] = ()
    held_passed: bool = False
    """The held-out test passed before the repair too: it shows that nothing else broke."""
    consulted: bool = False
    """A held-out test failed once and was shown; passing it proves no more."""
    unheld: str = ""
    """Why there are tests enough and none could be held out, in words."""
    flaky: tuple[str, ...] = ()
    """Names of tests that fail in some runs of the first program only: no search goes by them,
    and a repair must pass them in every run."""

    @property
    def all(self) -> tuple[TestCase, ...]:
        return (*self.visible, *self.held_out)

    @property
    def oracle(self) -> tuple[TestCase, ...]:
        """The visible tests that decide, as `Report.oracle` has it."""
        trusted = tuple(test for test in self.visible if test.origin in VETOING_ORIGINS)
        return trusted or tuple(test for test in self.visible if test.origin == "spec")

    def seen_of(self, report: Report) -> Report:
        """What may be told of a report to whoever repairs: of the tests held out, not even how they
        fail."""
        held = {test.name for test in self.held_out}
        verdicts = tuple(verdict for verdict in report.verdicts if verdict.test not in held)
        return report.model_copy(update={"verdicts": verdicts})

    def shown(self) -> Suite:
        """The same tests with none held out any more."""
        opened = tuple(test.model_copy(update={"origin": "user"}) for test in self.held_out)
        return self.model_copy(update={
            "visible": (*self.visible, *opened), "held_out": (), "held_passed": False,
        })


class State(TypedDict, total=False):
    """The graph's state. Fields ending in `_id` are addresses in the store."""

    suite_id: str
    base_id: str
    """The first program, as brought or drafted."""
    solution_id: str
    """The program now judged."""
    report_id: str
    """The newest report, of `solution_id`."""
    best_id: str
    best_report_id: str
    diagnosis_id: str
    iteration: int
    paid: bool
    """No repair was found without a model: from here on the plan's models are asked."""
    escalated: bool
    """That was just seen: the failure is diagnosed once more, by a model."""
    strategy: Strategy
    note: str
    proposed_id: str
    """The program that the last repair has brought; empty where it brought none."""
    proposed_rivals_id: str
    """The `Alternatives` that pass too; empty without any."""
    rivals_id: str
    """The `Alternatives` of the current program; empty where no other is known to pass."""
    asked: int
    """Questions about them that were put to a person."""
    asking: bool
    """An answer led to another question."""
    candidates: int
    recalled: bool
    transferred: str
    """What was done, where the recalled fix was made for another failure; else empty."""
    reserve_id: str
    """The `RecalledFix` whose program is taken where the search finds none; it is searched all the
    same, since someone can be asked which of several repairs is right."""
    caveat: str
    """What is told of the recalled fix: that other repairs passed too; else empty."""
    open_id: str
    """The `Rivals` of the recalled fix that pass now as well; empty where there are none."""
    failure_id: str
    """The first failure, as the memory knows it; absent where there was none, or no test, or no
    program was brought."""
    outcome: RunOutcome
    """How the run ends, where that is decided before its last step."""
    reason: str
    proof: ProofLevel
    proof_why: str
