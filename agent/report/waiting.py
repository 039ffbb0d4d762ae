"""What a run waits for, and what answers it; pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from pydantic import ValidationError

from agent.core.domain import RunOutcome, Value
from agent.core.events import Answered, Extended, Resumed, Stamped, Waiting
from agent.target.errors import BadInput

REVIEWED = ("review", "leave", "help")


class Review(Value):
    """A person's word on a repair, on asking a model for one, or on what else to try."""

    approve: bool = False
    hint: str = ""
    code: str | None = None
    """The entry file as the person has changed it."""

    @classmethod
    def of(cls, given: object) -> Review:
        """Raises `BadReview`."""
        try:
            return cls.model_validate(given, strict=True)
        except ValidationError as error:
            raise BadReview(
                'A review is {"approve": true}, {"approve": false, "hint": "…"} for another try, '
                'or {"code": "…"} with the program as it should be.'
            ) from error


class BadReview(BadInput, ValueError):
    """That is no review; the message says what one is."""


class BadExtension(BadInput, ValueError):
    """Caps cannot be raised by what was given; the message says how they can."""


@dataclass(frozen=True)
class ForStep:
    """An answer to a step that has asked."""

    interrupt: str
    value: Mapping[str, object]


@dataclass(frozen=True)
class GoOn:
    """The run goes on, where a cap was reached with more."""

    more: Extended | None = None


@dataclass(frozen=True)
class End:
    """The run ends here."""

    outcome: RunOutcome


Answer = ForStep | GoOn | End


def pending(entries: Iterable[Stamped]) -> Waiting | None:
    """The question that a run waits with, by its log."""
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
    """What a person's answer comes to; raises `BadReview` and `BadExtension`."""
    if asked.needs == "answer":
        return ForStep(asked.interrupt, dict(value))
    if asked.needs in REVIEWED:
        review = Review.of(dict(value))
        if asked.unhinted and review.hint.strip() and not review.approve and review.code is None:
            raise BadReview(
                f"A hint cannot be followed: {asked.unhinted}. Nothing is changed: answer without "
                "one, or give the program as it should be."
            )
        return ForStep(asked.interrupt, review.model_dump())
    if asked.needs in ("key", "visitor"):
        return End("cancelled") if value.get("end") is True else GoOn()
    if value == {"end": True} and value["end"] is True:
        return End("budget")
    if not value and asked.more is None:
        raise BadExtension("No more is offered here: end the run.")
    return GoOn(_extension(value) if value else asked.more)


def _extension(value: Mapping[str, object]) -> Extended:
    try:
        more = Extended.model_validate(dict(value), strict=True)
    except ValidationError as error:
        raise BadExtension("Caps are raised by numbers of usd, tokens, calls and seconds, as "
                           '{"usd": 0.5, "seconds": 60}.') from error
    numbers = (more.usd, more.tokens, more.calls, more.seconds)
    if not all(0 <= number < float("inf") for number in numbers) or not any(numbers):
        raise BadExtension("Caps are raised by numbers above 0.")
    return more
