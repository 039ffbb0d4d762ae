"""Events of model calls that a router reports."""

from __future__ import annotations

from dataclasses import dataclass

from llm.types import Reply, Usage


@dataclass(frozen=True)
class CallStarted:
    """A call is about to be made; its maximum cost is reserved."""

    id: int
    role: str
    provider: str
    model: str
    prompt: str
    tokens: int
    usd: float | None
    """`None` if the price is unknown."""
    asked: tuple[tuple[str, str], ...] = ()
    """(speaker, text) of each message, with keys removed; the system prompt comes first."""


@dataclass(frozen=True)
class CallRetried:
    """A provider rejected the call before answering; the call is retried."""

    id: int
    why: str
    wait_s: float


@dataclass(frozen=True)
class CallWaiting:
    """The call waits for a local model to be downloaded or loaded."""

    id: int
    doing: str


@dataclass(frozen=True)
class CallEnded:
    """The call returned an answer; its `finish` says whether it is complete."""

    id: int
    role: str
    prompt: str
    question: str
    """The hash of the request."""
    reply: Reply


@dataclass(frozen=True)
class CallAborted:
    """The call failed or was cancelled; its possible cost is charged."""

    id: int
    role: str
    provider: str
    model: str
    error: str
    """The class of the error, such as `Overloaded`, or `Cancelled`."""
    why: str
    usage: Usage
    usd: float | None
    wall_s: float
    said: str = ""
    """The part of the answer that was received, with keys removed."""


@dataclass(frozen=True)
class ModelRated:
    """A model was found to be small or slow; `words` says why."""

    words: str


@dataclass(frozen=True)
class CallFellBack:
    """The request is sent to a fallback model, as the user has allowed."""

    role: str
    from_: str
    to: str
    why: str


CallEvent = (
    CallStarted | CallRetried | CallWaiting | CallEnded | CallAborted | ModelRated | CallFellBack
)
