"""The rounds of a run: how each went about a repair, and what came of it."""

from __future__ import annotations

from typing import Literal

from agent.core.domain import Approach, Report, Solution, Value

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


class Round(Value):
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


class Rounds(Value):
    """All rounds of a run, in order."""

    all: tuple[Round, ...] = ()
    notes: tuple[str, ...] = ()
    """What whoever reviewed has said against programs that passed."""

    @property
    def told(self) -> tuple[str, ...]:
        """What earlier attempts of models and their reviewers said, for the next one."""
        tried = [one.told for one in self.all if one.told and one.approach != "search"]
        return (*dict.fromkeys(tried), *self.notes)

    def with_note(self, note: str) -> Rounds:
        """The same, with something that was said against its last program."""
        return self.model_copy(update={"notes": (*self.notes, note)})

    def refuted(self) -> Rounds:
        """The same, its last program refuted by a test that it had not seen."""
        *before, last = self.all
        last = last.model_copy(update={"refuted": True})
        return self.model_copy(update={"all": (*before, last)})
