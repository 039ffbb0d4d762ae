"""Whole runs with models: a program that no search heals here, servers that answer by role."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from agent.core.events import Event, LogEntry, without_retries
from agent.core.settings import Settings
from agent.loop.session import Session, open_session
from agent.report.result import Result, fold
from agent.target.task import from_page
from tests.agent.claude import ByRole, Said, fenced
from tests.llm.fakes import ollama, openai
from tests.llm.fakes.server import Handler

# No edit of this program reaches the right one within the candidates that the tests allow.
HARD = "def shout(words):\n    return words\n"
HARD_TESTS = (
    "assert shout('a b') == 'A! B!'\nassert shout('x') == 'X!'\nassert shout('') == ''\n"
)
SOLVED = "def shout(words):\n    return ' '.join(word.upper() + '!' for word in words.split())\n"
WRONG = "def shout(words):\n    return words.upper() + '!'\n"


async def followed(session: Session, run: str) -> Result:
    """What a run has come to when it ends, or waits."""
    seen = 0
    while True:
        async for batch in session.follow(run, seen):
            seen = batch[-1].seq
        log = session.log(run)
        if log[-1].final or session.waiting(run) is not None:
            result = fold(log)
            if result.outcome is None:
                print(log[-1].event)  # pytest shows why a run came to nothing where a test fails
            return result


async def until(session: Session, run: str, kind: str) -> None:
    """Waits until the run has logged something of that kind."""
    async for batch in session.follow(run):
        if any(entry.event.kind == kind for entry in batch):
            return
    raise AssertionError(f"the run ended or waits without {kind}")


def events(log: tuple[LogEntry, ...], *kinds: str) -> list[Any]:  # of the kinds that are named
    """The events of a run, of some kinds only where some are named."""
    received: list[Event] = [entry.event for entry in without_retries(log)]
    return [event for event in received if not kinds or event.kind in kinds]


def settings(folder: Path, env: dict[str, str], **given: Any) -> Settings:
    return Settings.from_env(
        env, data_dir=folder,
        **{"proof_s": 60.0, "max_candidates": 50, "require_confidence": 0.0, **given},
    )


async def healed(
    settings: Settings, code: str = HARD, tests: str = HARD_TESTS, words: str = "", **given: Any
) -> tuple[Result, list[Any]]:
    """A whole run in a session of its own, and its events."""
    async with open_session(settings) as session:
        run = await session.start(from_page(code, tests, words).task, **given)
        return await followed(session, run), events(session.log(run))


class _OpenAiRoles(ByRole):
    """Has the system prompt as its first message, and a generator that knows the repair."""

    def __init__(self, said: dict[str, Said]) -> None:
        super().__init__({"generator": fenced(SOLVED), **said})

    def system(self, request: Any) -> str:
        found: str = request["messages"][0]["content"]
        return found


class Compatible(_OpenAiRoles):
    """A server that speaks OpenAI's chat completions."""

    def __init__(self, said: dict[str, Said]) -> None:
        super().__init__(said)
        self.server.on("POST", openai.CHAT, self)

    def answer(self, text: str) -> Handler:
        return openai.answers(openai.whole(pieces=[text]))


class Ollama(_OpenAiRoles):
    """An Ollama with one model."""

    def __init__(self, said: dict[str, Said]) -> None:
        super().__init__(said)
        ollama.healthy(self.server, self)

    def answer(self, text: str) -> Handler:
        return ollama.answers([ollama.line(text), ollama.last()])


@asynccontextmanager
async def compatible(**said: Said) -> AsyncIterator[Compatible]:
    one = Compatible(said)
    async with one.server:
        yield one


@asynccontextmanager
async def an_ollama(**said: Said) -> AsyncIterator[Ollama]:
    one = Ollama(said)
    async with one.server:
        yield one
