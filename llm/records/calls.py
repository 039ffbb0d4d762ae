"""A recorded call as a value, and as what stands for it in a line."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from llm import errors
from llm.errors import CallFailed, LlmError, NeedsKey, OverBudget, RateLimited
from llm.provider import sayable
from llm.questions import Question, fingerprint
from llm.types import MOST_TOKENS, Alternative, Reply, Usage

VERSION = 1
"""Of the lines; a reader takes no other."""


@dataclass(frozen=True)
class Call:
    """One recorded call. Neither reply nor error: the asker left before its end."""

    key: str
    question: Question
    pieces: tuple[str, ...]
    reply: Reply | None
    error: LlmError | None
    exact: bool
    window: int | None
    thinks: bool

    @property
    def whom(self) -> tuple[str, str]:
        """The provider and the model that were asked."""
        return str(self.question["provider"]), str(self.question["model"])


def read_call(content: dict[str, Any]) -> Call:  # as it was read; what is wrong with it raises
    """The call of a line."""
    asked_for = dict(content["request"])
    if content["key"] != fingerprint(asked_for):
        raise ValueError("its key is not that of its question")
    reply = content.get("reply")
    error = content.get("error")
    if reply is not None:
        others = tuple(Alternative(*one) for one in reply.get("alternatives", ()))
        reply = Reply(**{**reply, "usage": _counted(reply["usage"]), "alternatives": others})
        reply = replace(reply, text=sayable(reply.text))
    return Call(
        key=content["key"],
        question=asked_for,
        pieces=tuple(sayable(str(piece)) for _, piece in content["deltas"]),
        reply=reply,
        error=None if error is None else _raised(error),
        exact=bool(content["exact"]),
        window=content["window"],
        thinks=bool(content["thinks"]),
    )


_ERRORS: dict[str, type[LlmError]] = {
    name: one for name, one in vars(errors).items()
    if isinstance(one, type) and issubclass(one, LlmError)
}


def write_error(error: LlmError) -> dict[str, object]:
    """An error as it stands in a record."""
    # A subclass that a provider made for itself is written as the nearest one that all know.
    known = next(one.__name__ for one in type(error).__mro__ if one.__name__ in _ERRORS)
    written: dict[str, object] = {"class": known, "message": str(error)}
    if isinstance(error, CallFailed):
        written["started"] = error.started
        written["usage"] = None if error.usage is None else asdict(error.usage)
    if isinstance(error, RateLimited):
        written["retry_after_s"] = error.retry_after_s
    if isinstance(error, OverBudget):
        written["cap"] = error.cap
    if isinstance(error, NeedsKey):
        written["variable"] = error.variable
    return written


def _counted(written: Mapping[str, Any]) -> Usage:  # as it was read; what is wrong raises
    usage = Usage(**written)
    counts = (usage.input, usage.output, usage.read, usage.written)
    if not all(type(count) is int and 0 <= count <= MOST_TOKENS for count in counts):
        raise ValueError(f"{counts} are no counts of tokens")
    return usage


def _raised(written: Mapping[str, Any]) -> LlmError:  # as it was read; what is wrong raises
    """The error that was recorded."""
    given = {name: value for name, value in written.items() if name not in ("class", "message")}
    if given.get("usage") is not None:
        given["usage"] = _counted(given["usage"])
    return _ERRORS[written["class"]](written["message"], **given)
