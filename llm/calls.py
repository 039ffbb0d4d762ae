"""What a router tells while it works: one value for each thing that happens to a call."""

from __future__ import annotations

from dataclasses import dataclass

from llm.types import Reply, Usage


@dataclass(frozen=True)
class CallStarted:
    """A call is about to be made, and charged with the most it can come to."""

    id: int
    role: str
    provider: str
    model: str
    prompt: str
    tokens: int
    usd: float | None
    """`None`: the price is unknown."""
    asked: tuple[tuple[str, str], ...] = ()
    """Who says what in the question, keys taken out; the system's words come first."""


@dataclass(frozen=True)
class CallRetried:
    """A provider turned the call away before it began to answer; it is made again."""

    id: int
    why: str
    wait_s: float


@dataclass(frozen=True)
class CallWaits:
    """The call waits for a model on this machine, which is downloaded or loaded first."""

    id: int
    doing: str


@dataclass(frozen=True)
class CallEnded:
    """The call came to an answer, whole or not: see its `finish`."""

    id: int
    role: str
    prompt: str
    question: str
    """The hash of what was asked."""
    reply: Reply


@dataclass(frozen=True)
class CallBroke:
    """The call failed or was cancelled; what it may have cost is charged."""

    id: int
    role: str
    provider: str
    model: str
    error: str
    """The class of the error, as `Overloaded`, or `Cancelled`."""
    why: str
    usage: Usage
    usd: float | None
    wall_s: float
    said: str = ""
    """What had come of an answer, keys taken out."""


@dataclass(frozen=True)
class Classified:
    """Answers have shown that a model needs the short loop; what makes it small or slow."""

    words: str


@dataclass(frozen=True)
class CallFellBack:
    """Another model takes the question over, as the user has allowed."""

    role: str
    from_: str
    to: str
    why: str


CallEvent = (
    CallStarted | CallRetried | CallWaits | CallEnded | CallBroke | Classified | CallFellBack
)
