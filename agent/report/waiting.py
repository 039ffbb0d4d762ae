"""The question that a run waits for, and the validation of its answer. Pure functions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from pydantic import ValidationError

from agent.core.domain import RunOutcome, Value
from agent.core.events import Answered, Extended, LogEntry, Resumed, Waiting
from agent.target.errors import BadInput

REVIEW_NEEDS = ("review", "permission", "help")


class Review(Value):
    """A person's decision on a repair, on using a model, or on what to try next."""

    approve: bool = False
    hint: str = ""
    code: str | None = None
    """The entry file as edited by the person."""

    @classmethod
    def of(cls, given: object) -> Review:
        try:
            return cls.model_validate(given, strict=True)
        except ValidationError as error:
            raise BadReview(
                'The review is not valid. Send {"approve": true}, {"approve": false, "hint": "…"} '
                'for another iteration, or {"code": "…"} with the corrected program.'
            ) from error


class BadReview(BadInput, ValueError):
    """The answer is not a valid review; the message describes the format."""


class BadExtension(BadInput, ValueError):
    """The answer does not raise the budget; the message describes the format."""


@dataclass(frozen=True)
class StepAnswer:
    interrupt: str
    value: Mapping[str, object]


@dataclass(frozen=True)
class ContinueRun:
    """Continues the run, with a larger budget where a limit was reached."""

    budget_extension: Extended | None = None


@dataclass(frozen=True)
class EndRun:
    outcome: RunOutcome


Answer = StepAnswer | ContinueRun | EndRun


def open_question(entries: Iterable[LogEntry]) -> Waiting | None:
    """The open question of a run, read from its log."""
    asked: Waiting | None = None
    for entry in entries:
        match entry.event:
            case Waiting() as asked:
                pass
            case Answered() | Resumed():
                asked = None
            case _ if entry.final:
                asked = None
    return asked


def read_answer(asked: Waiting, value: Mapping[str, object]) -> Answer:
    """Validates a person's answer; raises `BadReview` and `BadExtension`."""
    if asked.needs == "answer":
        return StepAnswer(asked.interrupt, dict(value))
    if asked.needs in REVIEW_NEEDS:
        review = Review.of(dict(value))
        hinted = review.hint.strip() and not review.approve and review.code is None
        if asked.hint_refusal and hinted:
            raise BadReview(
                f"A hint cannot be used: {asked.hint_refusal}. Nothing was changed. Answer without "
                "a hint, or send the corrected program."
            )
        return StepAnswer(asked.interrupt, review.model_dump())
    if asked.needs in ("key", "visitor"):
        return EndRun("cancelled") if value.get("end") is True else ContinueRun()
    if value == {"end": True} and value["end"] is True:
        return EndRun("budget")
    if not value and asked.budget_extension is None:
        raise BadExtension("The budget cannot be raised here. End the run.")
    return ContinueRun(_extension(value) if value else asked.budget_extension)


def _extension(value: Mapping[str, object]) -> Extended:
    try:
        more = Extended.model_validate(dict(value), strict=True)
    except ValidationError as error:
        raise BadExtension("Raise the budget by numbers of usd, tokens, calls or seconds, such as "
                           '{"usd": 0.5, "seconds": 60}.') from error
    numbers = (more.usd, more.tokens, more.calls, more.seconds)
    if not all(0 <= number < float("inf") for number in numbers) or not any(numbers):
        raise BadExtension("Raise the budget by at least one number above 0.")
    return more
