"""What LangGraph carries between steps: identifiers, counters and short words. Values are in the
store, as the checkpoint's codec returns unknown types as dicts and tuples as lists."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Annotated, Literal, TypedDict

from pydantic import Field

from agent.core.domain import (
    DERIVED_ORIGINS,
    PINNING_ORIGINS,
    VETOING_ORIGINS,
    Approach,
    Origin,
    ProofLevel,
    Report,
    RunOutcome,
    Solution,
    Strategy,
    TestCase,
    Unheld,
    Value,
)

UNHELD_WORDS: dict[Unheld, str] = {
    "": "",
    "together": "no test was held out: they fail together, and it may be one that it takes",
    "no value": "no test was held out: no failing one names the value it expects",
    "known": "no test was held out: what each asks, others tell",
    "seen": "a person who has seen every test changed the program",
    "edited": "the tests were edited, so none is held out any more",
}


class Suite(Value):
    """The frozen tests of a run: those a repair may see, and those it may not."""

    visible: tuple[TestCase, ...] = ()
    held_out: tuple[TestCase, ...] = ()
    held_passed: bool = False
    """The held-out test passed before the repair too: it shows that nothing else broke."""
    consulted: bool = False
    """A held-out test failed once and was shown; passing it proves no more."""
    unheld: Unheld = ""
    """Why there are tests enough and none could be held out."""
    aside: Mapping[str, str] = Field(default_factory=dict)
    """Names of derived tests that are not believed any more, and why."""
    heard: tuple[str, ...] = ()
    """Names of derived tests that were judged beside a program which they fail."""
    flaky: tuple[str, ...] = ()
    """Tests that fail in some runs of the first program only; a repair must pass them in every
    run."""
    together: tuple[str, ...] = ()
    """Names of tests that fail only where the others run before them."""

    was_urged: bool = False
    """Another repair was tried once for the sake of confirmed tests."""

    @property
    def all(self) -> tuple[TestCase, ...]:
        return (*self.visible, *self.held_out)

    def derived_required(self, names: Collection[str]) -> Suite:
        """The same tests, of which these forbid success alone for now."""
        return self.with_origins({name: "urged" for name in names}).model_copy(
            update={"was_urged": True}
        )

    def settled(self) -> Suite:
        """The same tests, with none urged any more."""
        return self.with_origins(
            {test.name: "confirmed" for test in self.all if test.origin == "urged"}
        )

    def with_origins(self, origins: Mapping[str, Origin]) -> Suite:
        """The same tests, some with another origin, by their names."""
        def of(tests: Sequence[TestCase]) -> tuple[TestCase, ...]:
            return tuple(
                one.model_copy(update={"origin": origins.get(one.name, one.origin)})
                for one in tests
            )

        return self.model_copy(
            update={"visible": of(self.visible), "held_out": of(self.held_out)}
        )

    @property
    def is_specified(self) -> bool:
        """Whether tests of the user say what the program does, as `Report.is_pinned` has it."""
        return any(test.origin in PINNING_ORIGINS for test in self.all)

    @property
    def oracle(self) -> tuple[TestCase, ...]:
        """The visible tests that decide, as `Report.oracle` has it, but for those set aside."""
        deciding = VETOING_ORIGINS if self.is_specified else VETOING_ORIGINS | DERIVED_ORIGINS
        return tuple(
            test for test in self.visible
            if test.origin in deciding and test.name not in self.aside
        )

    def ruled(self, report: Report) -> Report:
        """A report with what was ruled of derived tests: those set aside say nothing any more."""
        origins = {test.name: test.origin for test in self.all}
        return report.model_copy(update={"verdicts": tuple(
            one.model_copy(update={
                "origin": origins.get(one.test, one.origin),
                "aside": self.aside.get(one.test, one.aside),
            })
            for one in report.verdicts
        )})

    def seen_of(self, report: Report) -> Report:
        """A report without the held-out tests, for the step that repairs."""
        held = {test.name for test in self.held_out}
        verdicts = tuple(verdict for verdict in report.verdicts if verdict.test not in held)
        return report.model_copy(update={"verdicts": verdicts})

    def shown(self) -> Suite:
        """The same tests with none held out any more."""
        before: Origin = "user" if self.is_specified else "task"
        opened = tuple(
            test.model_copy(update={"origin": before}) if test.origin == "held-out" else test
            for test in self.held_out
        )
        return self.model_copy(update={
            "visible": (*self.visible, *opened), "held_out": (), "held_passed": False,
        })


class AttemptCandidate(TypedDict):
    """What one attempt of a model came to, of a round in which there may be several."""

    round: int
    place: int
    try_id: str


def of_the_newest_iteration(
    before: list[AttemptCandidate] | None, after: list[AttemptCandidate] | None
) -> list[AttemptCandidate]:
    """The attempts of the newest round, in order."""
    both = [*(before or ()), *(after or ())]
    newest = max((one["round"] for one in both), default=0)
    kept = {one["place"]: one for one in both if one["round"] == newest}
    return [kept[place] for place in sorted(kept)]


class State(TypedDict, total=False):
    """The graph's state. Fields ending in `_id` are addresses in the store."""

    suite_id: str
    base_id: str
    solution_id: str
    around_id: str
    """The program that a search goes around, where a fork starts with another than the first."""
    report_id: str
    diagnosis_id: str
    doubted_id: str
    """A program that fails confirmed tests only, while another is tried; else empty."""
    urged_from: int
    """The iteration in which that began."""
    iteration: int
    """Judged rounds so far: a search, a model's repair and a tournament are one each."""
    paid: bool
    """The plan's models are asked from here on."""
    escalated: bool
    """The failure is diagnosed again before the next iteration."""
    approach: Approach
    """How the next round goes about it."""
    rounds_id: str
    place: int
    candidates_now: Annotated[list[AttemptCandidate], of_the_newest_iteration]
    taken: bool
    """The newest round's program passed what it had seen, and is judged by all."""
    objected: bool
    """Its objections were just made tests, which are to be judged."""
    objection: str
    """What the critic said and could not be made a test; else empty."""
    risk: str
    reviewed: str
    """The address of the program that the critic has seen."""
    strategy: Strategy
    note: str
    proposed_id: str
    """The program that the last repair has brought; empty where it brought none."""
    proposed_rivals_id: str
    rivals_id: str
    """The `Alternatives` of the current program; empty where no other is known to pass."""
    asked: int
    """Questions about them that were put to a person."""
    asking: bool
    """An answer led to another question."""
    candidates: int
    failed_edits: int
    """Programs of a person's that failed since one passed."""
    edit_told: str
    edit_tried: str
    edited: bool
    """A person has just changed the program, which is to be judged."""
    permitted: bool
    """A person has given leave to ask models, where that was asked for."""
    recalled: bool
    transferred: str
    """What was done, where the recalled fix was made for another failure; else empty."""
    confidence: float
    """How likely the current patch is right; 1 where nothing was changed."""
    unsure: str
    accepted: bool
    doubtful_id: str
    """The `Reserve` with a patch below the required confidence, while a model is asked."""
    reserve_id: str
    """The `RecalledFix` that is taken where the search finds none; else empty."""
    caveat: str
    """What is told of the recalled fix: that other repairs passed too; else empty."""
    others_fit: bool
    """Other repairs passed these very tests when it was learned, and none of them was refuted."""
    open_id: str
    """The `CompetingPatches` of the recalled fix that pass now as well; empty if there are none."""
    written_id: str
    """The estimate for a first program that was written from words."""
    failure_id: str
    """The first failure, as the memory knows it; may be absent."""
    outcome: RunOutcome | None
    reason: str
    helped: bool
    """A person was asked what else to try, and had nothing to say."""
    stopped: Stop | None
    proof: ProofLevel
    proof_why: str


def is_repaired(state: State) -> bool:
    """Whether the program now judged is another than the first."""
    return state.get("solution_id") != state.get("base_id")


Stop = Literal["iterations", "no_model", "stuck", "model", "time", "critic", "person"]
"""Why no further iteration is tried."""

Ruled = Literal["confirmed", "set aside", "contested", "undecided"]
"""What comes of a derived test in dispute; the last two leave it open."""


class Try(Value):
    """One program that a model brought, with its verdict; or why it brought none."""

    solution: Solution | None = None
    report: Report | None = None
    fault: str = ""
    """What is wrong with it, in words; empty where it passes."""
    by: str = ""
    is_models_fault: bool = False
    """There is no program, since the model gave no usable answer."""
    capped: bool = False
    """The model was not asked: a cap was reached."""
    candidates: int = 1
    """Programs that were tried for it: itself, and those of a search around it."""


class Iteration(Value):
    """One judged round."""

    approach: Approach
    program: str = ""
    """The hash of its program's syntax tree; empty where it brought none."""
    signature: str = ""
    better: bool = False
    refuted: bool = False
    """Its program passed all that it had seen, and failed another test."""
    told: str = ""
    """What the next round is told of it: the change, and what was wrong with it."""


class Iterations(Value):
    """All rounds of a run, in order."""

    all: tuple[Iteration, ...] = ()
    notes: tuple[str, ...] = ()
    """What whoever reviewed has said against programs that passed."""

    @property
    def told(self) -> tuple[str, ...]:
        """What earlier attempts of models and their reviewers said, for the next one."""
        tried = [one.told for one in self.all if one.told and one.approach != "search"]
        return (*dict.fromkeys(tried), *self.notes)

    def with_note(self, note: str) -> Iterations:
        """The same, with something that was said against its last program."""
        return self.model_copy(update={"notes": (*self.notes, note)})

    def refuted(self) -> Iterations:
        """The same, its last program refuted by a test that it had not seen."""
        *before, last = self.all
        last = last.model_copy(update={"refuted": True})
        return self.model_copy(update={"all": (*before, last)})
