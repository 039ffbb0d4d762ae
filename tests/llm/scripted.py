"""A provider that does what a test scripts, and keeps what it was asked."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from llm import Message, Provider, Reply, Request, Stream, Usage
from llm.asking.ask import ask_typed
from llm.types import Finish

REQUEST = Request("critic", "system", (Message("user", "user"),), max_tokens=100)


@dataclass(frozen=True)
class Answer:
    """An answer in pieces; `fault` breaks it off after them."""

    pieces: tuple[str, ...] = ("hello", " world")
    usage: Usage = field(default_factory=lambda: Usage(10, 5))
    finish: Finish = "stop"
    note: str = ""
    fault: Exception | None = None
    every_s: float = 0.0
    measured: Mapping[str, float] = field(default_factory=dict)
    """Fields of the reply: seconds, and billions of parameters."""


Step = Answer | Exception


@dataclass
class Scripted:
    """Answers by a list of steps; the last is repeated."""

    steps: Sequence[Step] = (Answer(),)
    name: str = "scripted"
    model: str = "m"
    thinks: bool = False
    exact: bool = False
    window: int | None = None
    asked: list[Request] = field(default_factory=list)
    dropped: int = 0
    closed: bool = False

    async def stream(self, request: Request) -> Stream:
        self.asked.append(request)
        step = self.steps[min(len(self.asked), len(self.steps)) - 1]
        if isinstance(step, Exception):
            raise step
        try:
            for piece in step.pieces:
                await asyncio.sleep(step.every_s)
                yield piece
        except (GeneratorExit, asyncio.CancelledError):
            self.dropped += 1
            raise
        if step.fault is not None:
            raise step.fault
        text = "".join(step.pieces)
        yield Reply(text, step.finish, self.name, self.model, step.usage, step.note,
                    **step.measured)  # type: ignore[arg-type]

    async def models(self) -> tuple[str, ...]:
        return (self.model,)

    def count(self, text: str) -> int:
        return len(text)

    async def close(self) -> None:
        self.closed = True


def saying(*texts: str, window: int | None = None, thinks: bool = False) -> Scripted:
    """A provider that says these texts, one after the other."""
    return Scripted([Answer((text,)) for text in texts], window=window, thinks=thinks)


async def ask_any(provider: Provider, request: Request, schema: Mapping[str, object]) -> object:
    """The answer as any JSON value that is valid under a schema."""
    return await ask_typed(provider, request, schema, lambda value: value)
