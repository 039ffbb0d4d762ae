"""What a run waits with, and what an answer adds to its caps; pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from pydantic import ValidationError

from agent.events import Answered, Extended, Resumed, Stamped, Waiting


class BadExtension(ValueError):
    """Caps cannot be raised by what was given; the message says how they can."""


def pending(log: Iterable[Stamped]) -> Waiting | None:
    """The question that a run waits with, by its log."""
    asked: Waiting | None = None
    for entry in log:
        match entry.event:
            case Waiting() as asked:
                pass
            case Answered() | Resumed():
                asked = None
            case _ if entry.final:
                asked = None
    return asked


def extension(answer: Mapping[str, object], again: Extended) -> Extended | None:
    """What an answer adds to the caps of a run: `again` where it names nothing, and `None` where it
    ends the run. Raises `BadExtension`."""
    if answer == {"end": True} and answer["end"] is True:
        return None
    if not answer:
        return again
    try:
        more = Extended.model_validate(dict(answer), strict=True)
    except ValidationError as error:
        raise BadExtension("Caps are raised by numbers of usd, tokens, calls and seconds, as "
                           '{"usd": 0.5, "seconds": 60}.') from error
    numbers = (more.usd, more.tokens, more.calls, more.seconds)
    if not all(0 <= number < float("inf") for number in numbers) or not any(numbers):
        raise BadExtension("Caps are raised by numbers above 0.")
    return more
