"""The graph's checkpointed state, and the stored values that it refers to by address.

The state holds only identifiers, counters and short texts, because the checkpoint's codec returns
unknown types as dicts and tuples as lists.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Annotated, Literal, TypedDict

from agent.core.domain import (
    DERIVED_ORIGINS,
    SPECIFYING_ORIGINS,
    TRUSTED_ORIGINS,
    Approach,
    NotHeldOut,
    Origin,
    ProofLevel,
    Report,
    RunOutcome,
    Solution,
    Strategy,
    TestCase,
    Value,
    renamed_field,
)

NOT_HELD_OUT_WORDS: dict[NotHeldOut, str] = {
    "": "",
    "together": "no test was held out, because the failing tests may depend on each other",
    "no value": "no test was held out, because no failing test states the value it expects",
    "known": "no test was held out, because other tests reveal what each of them checks",
    "seen": "a person who has seen every test changed the program",
    "edited": "the tests were edited, so none is held out any more",
}


class Suite(Value):
    """The frozen tests of a run: the visible ones and those held out from the repair."""

    visible: tuple[TestCase, ...] = ()
    held_out: tuple[TestCase, ...] = ()
    held_out_passed: bool = renamed_field("held_out_passed", "held_passed", False)
    """The held-out test also passed before the repair, so it only shows that nothing broke."""
    held_out_revealed: bool = renamed_field("held_out_revealed", "consulted", False)
    """A held-out test failed once and was shown; passing it proves nothing more."""
    not_held_out: NotHeldOut = renamed_field("not_held_out", "unheld", "")
    """Why no test could be held out although there are enough."""
    excluded: Mapping[str, str] = renamed_field("excluded", "aside", {})
    """Names of excluded derived tests, and why."""
    validated: tuple[str, ...] = renamed_field("validated", "heard", ())
    """Names of derived tests that were validated because a program failed them."""
    flaky: tuple[str, ...] = ()
    """Tests that fail only in some runs of the first program; a repair must always pass them."""
    order_dependent: tuple[str, ...] = renamed_field("order_dependent", "together", ())
    """Names of tests that fail only if the others run before them."""
    repair_was_required: bool = renamed_field("repair_was_required", "was_urged", False)
    """Another repair was tried once to pass confirmed tests."""

    @property
    def all(self) -> tuple[TestCase, ...]:
        return (*self.visible, *self.held_out)

    def with_required(self, names: Collection[str]) -> Suite:
        """The suite with the named tests required, so that another repair must pass them."""
        return self.with_origins({name: "required" for name in names}).model_copy(
            update={"repair_was_required": True}
        )

    def without_required(self) -> Suite:
        """The suite with its required tests reset to confirmed."""
        return self.with_origins(
            {test.name: "confirmed" for test in self.all if test.origin == "required"}
        )

    def with_origins(self, origins: Mapping[str, Origin]) -> Suite:
        """The suite with other origins for the named tests."""
        def of(tests: Sequence[TestCase]) -> tuple[TestCase, ...]:
            return tuple(
                one.model_copy(update={"origin": origins.get(one.name, one.origin)})
                for one in tests
            )

        return self.model_copy(update={"visible": of(self.visible), "held_out": of(self.held_out)})

    @property
    def is_specified(self) -> bool:
        """Whether user tests specify the program; see `Report.is_specified`."""
        return any(test.origin in SPECIFYING_ORIGINS for test in self.all)

    @property
    def deciding_tests(self) -> tuple[TestCase, ...]:
        """The visible deciding tests (see `Report.deciding_verdicts`) without excluded ones."""
        deciding = TRUSTED_ORIGINS if self.is_specified else TRUSTED_ORIGINS | DERIVED_ORIGINS
        return tuple(
            test for test in self.visible
            if test.origin in deciding and test.name not in self.excluded
        )

    def with_current_origins(self, report: Report) -> Report:
        """The report with the current origins and exclusions of derived tests."""
        origins = {test.name: test.origin for test in self.all}
        return report.model_copy(update={"verdicts": tuple(
            one.model_copy(update={
                "origin": origins.get(one.test, one.origin),
                "excluded": self.excluded.get(one.test, one.excluded),
            })
            for one in report.verdicts
        )})

    def without_held_out(self, report: Report) -> Report:
        """The report without held-out tests, for the repairing step."""
        held = {test.name for test in self.held_out}
        verdicts = tuple(verdict for verdict in report.verdicts if verdict.test not in held)
        return report.model_copy(update={"verdicts": verdicts})

    def revealed(self) -> Suite:
        """The suite with its held-out tests made visible."""
        before: Origin = "user" if self.is_specified else "task"
        opened = tuple(
            test.model_copy(update={"origin": before}) if test.origin == "held-out" else test
            for test in self.held_out
        )
        return self.model_copy(update={
            "visible": (*self.visible, *opened), "held_out": (), "held_out_passed": False,
        })


class AttemptCandidate(TypedDict):
    """One repair of an iteration; a tournament has several."""

    iteration: int
    place: int
    repair_id: str


def keep_newest_iteration(
    before: list[AttemptCandidate] | None, after: list[AttemptCandidate] | None
) -> list[AttemptCandidate]:
    """The candidates of the newest iteration, in order."""
    both = [*(before or ()), *(after or ())]
    newest = max((one["iteration"] for one in both), default=0)
    by_place = {one["place"]: one for one in both if one["iteration"] == newest}
    return [by_place[place] for place in sorted(by_place)]


RENAMED_FIELDS = {
    "escalated": "rediagnose", "taken": "passed_visible", "asked_person": "asked_user",
    "invented": "answer_matched_no_patch", "around_id": "search_start_id",
    "doubtful_id": "unsure_repair_id", "others_fit": "other_repairs_fit", "open_id": "competing_id",
}
"""Fields of `State` that checkpoints of older versions call by their former names."""


class State(TypedDict, total=False):
    """The graph's state; fields ending in `_id` are addresses in the store."""

    suite_id: str
    base_id: str
    solution_id: str
    search_start_id: str
    """The program from which a fork's searches start; absent if that is the first program."""
    report_id: str
    diagnosis_id: str
    doubted_id: str
    """The program that fails only confirmed tests, while another repair is tried; else empty."""
    required_from: int
    """The number of judged iterations when the confirmed tests became required."""
    iteration: int
    """Judged iterations so far: a search, a model's repair and a tournament are one each."""
    models_allowed: bool
    """The plan's models are used from here on."""
    rediagnose: bool
    """The failure is diagnosed again before the next iteration."""
    approach: Approach
    iterations_id: str
    place: int
    candidates_now: Annotated[list[AttemptCandidate], keep_newest_iteration]
    passed_visible: bool
    """The newest program passed the visible tests and is judged with all tests next."""
    objected: bool
    """The critic's objections were just turned into tests, which are validated next."""
    objection: str
    """An objection of the critic that could not be turned into a test; else empty."""
    risk: str  # the risky call that the repair adds; empty if none was found
    reviewed: str
    """The address of the program that the critic reviewed."""
    strategy: Strategy
    """Who made the current program; `approach` is what the current iteration does."""
    note: str
    proposed_id: str
    """The program of the last repair; empty if it produced none."""
    proposed_alternatives_id: str
    alternatives_id: str
    """The `Alternatives`: other patches that pass the tests like the current one; else empty."""
    asked: int
    """The number of questions about these patches that a person was asked."""
    chosen_in: int
    """The iteration whose patch a person's answer chose."""
    answer_matched_no_patch: bool
    """An answer was a value that none of the shown patches gives."""
    asking: bool
    """An answer led to another question."""
    candidates: int
    failed_edits: int
    """The number of a person's programs that failed since one passed."""
    edit_feedback: str
    edit_tried: str
    edited: bool
    """A person just changed the program, which is judged next."""
    permitted: bool
    """A person allowed the use of models, if permission was required."""
    recalled: bool
    transferred: str
    """The edit, if the recalled fix was made for another failure; else empty."""
    confidence: float
    """The probability that the current patch is right; 1 if nothing was changed."""
    unsure: str  # the reason for a low confidence, worded to follow "because"
    accepted: bool
    unsure_repair_id: str
    """The `ReservePatch`: a repair below the required confidence. A model is asked for another,
    the second opinion. Empty if there is none."""
    reserve_id: str
    """The `RecalledFix` that is used if the search finds none; else empty."""
    caveat: str
    """The remark that other repairs passed when the recalled fix was learned; else empty."""
    other_repairs_fit: bool
    """Other repairs passed the same tests when the recalled fix was learned, none refuted since."""
    competing_id: str
    """The `CompetingPatches` with the recalled fix and others that also pass now; else empty."""
    written_id: str
    """The estimate for a first program that was written from a description."""
    failure_id: str
    """The first failure, as stored in the fix memory; may be absent."""
    outcome: RunOutcome | None
    reason: str
    asked_user: bool
    """The user was asked what else to try, and gave no hint."""
    stopped: Stop | None
    proof: ProofLevel
    proof_why: str


def is_repaired(state: State) -> bool:
    """Whether the current program differs from the first."""
    return state.get("solution_id") != state.get("base_id")


Stop = Literal["iterations", "no_model", "stuck", "model", "time", "critic", "person"]
"""Why no further iteration is started."""

Ruled = Literal["confirmed", "excluded", "contested", "undecided"]
"""The validation result of a derived test; the last two leave it open."""


class ModelRepair(Value):
    """One program from a model with its report, or why there is none."""

    solution: Solution | None = None
    report: Report | None = None
    fault: str = ""
    """What is wrong with it, in words; empty if it passes."""
    by: str = ""
    is_models_fault: bool = False
    """There is no program, because the model gave no usable answer."""
    capped: bool = False
    """The model was not asked, because a limit was reached."""
    candidates: int = 1
    """The number of tried programs, including those of a search around it."""


class Iteration(Value):
    approach: Approach
    program: str = ""
    """The hash of its program's syntax tree; empty without a program."""
    signature: str = ""
    better: bool = False
    refuted: bool = False
    """Its program passed the visible tests and failed another test."""
    feedback: str = renamed_field("feedback", "told", "")
    """The text about it for the next iteration: the change, and what was wrong with it."""


class Iterations(Value):
    all: tuple[Iteration, ...] = ()
    notes: tuple[str, ...] = ()
    """Objections of reviewers against programs that passed."""

    @property
    def last(self) -> Iteration:
        return self.all[-1] if self.all else Iteration(approach="search")

    @property
    def feedback(self) -> tuple[str, ...]:
        """The texts about earlier iterations with models, and the reviewers' objections."""
        tried = [one.feedback for one in self.all if one.feedback and one.approach != "search"]
        return (*dict.fromkeys(tried), *self.notes)

    def with_note(self, note: str) -> Iterations:
        """The iterations with an objection against the last program added."""
        return self.model_copy(update={"notes": (*self.notes, note)})

    def refuted(self) -> Iterations:
        """The iterations with the last one marked as refuted by a test it had not seen."""
        *before, last = self.all
        last = last.model_copy(update={"refuted": True})
        return self.model_copy(update={"all": (*before, last)})
