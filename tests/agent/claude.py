"""A server that speaks Anthropic's wire format and answers each role as a test says."""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from agent.core.settings import GENERATOR, ROLES, Settings
from agent.iteration.context import PROMPTS
from agent.propose.roles import SMALL_GENERATOR
from llm.asking.prompts import load
from tests.llm.fakes.anthropic import MESSAGES, answers, fails, whole
from tests.llm.fakes.server import Exchange, FakeServer, Handler

KEY = "sk-ant-canary-0123456789abcdef"

RIGHT_CALLS: dict[str, str] = {
    "spec_tester": json.dumps({"examples": []}),
    "qa_adversary": json.dumps({"calls": []}),
    "debugger": json.dumps({
        "cause": "the parts are joined in the wrong way", "category": "wrong_result",
        "lines": [2], "fixable": True, "confidence": 80,
    }),
    "critic": json.dumps({"note": "reads well", "approve": True}),
    "memory_summariser": json.dumps({"text": "mind the joint", "category": "wrong_result"}),
}


Said = str | Handler


@functools.cache
def _beginnings() -> dict[str, str]:
    """How the system prompt of each role begins."""
    begins = {
        load(PROMPTS, role).system.strip().partition("{{")[0].strip()[:60]: role for role in ROLES
    }
    return {**begins, load(PROMPTS, SMALL_GENERATOR).system.strip(): GENERATOR}


def role_of_system(text: str) -> str:
    """The role that a system prompt is of."""
    return next(role for begins, role in _beginnings().items() if text.startswith(begins))


class ByRole:
    """A server that answers each role with a text, with several in turn, or by a handler; and what
    it was asked."""

    def __init__(self, said: Mapping[str, Said | list[Said]]) -> None:
        self.said: dict[str, Said | list[Said]] = {**RIGHT_CALLS, **said}
        self.asked: list[str] = []
        self.server = FakeServer()

    async def __call__(self, exchange: Exchange) -> None:
        role = role_of_system(self.system(exchange.request.json))
        self.asked.append(role)
        said = self.said.get(role)
        if said is None:
            await fails(500, "api_error", f"nothing is scripted for {role}")(exchange)
            return
        if isinstance(said, list):
            said = said.pop(0) if len(said) > 1 else said[0]
        await (self.answer(said) if isinstance(said, str) else said)(exchange)

    def system(self, request: Any) -> str:
        """The system prompt of a request."""
        raise NotImplementedError

    def answer(self, text: str) -> Handler:
        """Gives a text as an answer."""
        raise NotImplementedError


class Claude(ByRole):
    """One that speaks Anthropic's wire format."""

    def __init__(self, said: Mapping[str, Said | list[Said]]) -> None:
        super().__init__(said)
        self.server.on("POST", MESSAGES, self)

    def system(self, request: Any) -> str:
        found: str = request["system"][0]["text"]
        return found

    def answer(self, text: str) -> Handler:
        return answers(whole(pieces=[text]))

    def settings(self, folder: Path, **given: Any) -> Settings:
        """Settings of a user whose only provider is this one, without time for more than E2."""
        env = {"ANTHROPIC_API_KEY": KEY, "ANTHROPIC_BASE_URL": self.server.url}
        # What a search finds of the programs that models repair here, it finds soon.
        return Settings.from_env(
            env, data_dir=folder,
            **{"proof_s": 0.0, "max_candidates": 50, "require_confidence": 0.0, **given},
        )


@asynccontextmanager
async def claude(**said: Said | list[Said]):  # type: ignore[no-untyped-def]
    """The server, serving."""
    one = Claude(said)
    async with one.server:
        yield one


def fenced(code: str) -> str:
    """A program as the generator answers it."""
    return f"```python\n{code}```\n"

