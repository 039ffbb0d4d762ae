"""A programmer whose answers are right or wrong by given rates, as a provider of the loop.

Every answer is drawn by itself from the run's seed, the role and how often that role was asked, so
that errors of different roles are independent. Where a run `misreads`, generator, reference and
predictor err alike: they share one wrong reading of the words. Nothing here reads a verdict.
"""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from agent.repair.ranking.question import Answer
from agent.run.nodes.specify import derived_test
from agent.thinking.arbitration import same
from evaluation.simulated.tasks import BenchTask
from llm import Request, Stream
from llm.provider import estimated_tokens
from llm.types import Reply, Usage

Shares = tuple[float, float]
"""Of answers that are right, and nearly right; the rest is wrong."""
SPEC_TESTS, ATTACKS = 5, 3


@dataclass(frozen=True)
class Rates:
    """How often a programmer is right."""

    name: str
    draft: Shares
    repair: Shares
    spec_wrong: float = 0.15
    """Of derived tests, each by itself."""
    one_wrong: bool = False
    """Exactly one derived test is wrong, whatever `spec_wrong` says."""
    predictor: float = 0.85
    """Of values."""
    reference: float = 0.75
    arbiter: float = 0.75
    """Of rulings that are not open."""
    open: float = 0.1
    """Of rulings."""
    critic: float = 0.8
    """Of reviews: a wrong one approves a wrong program, or objects to a right one by a value that
    is wrong."""
    confidence: int = 80
    misreads: float = 0.0
    """Of runs in which wrong answers of generator, reference and predictor are one and the same."""


@dataclass
class Programmer:
    """One programmer in one run."""

    task: BenchTask
    rates: Rates
    seed: str

    name, model, thinks, exact, window = "simulated", "programmer", False, False, None

    def __post_init__(self) -> None:
        self._asked: Counter[str] = Counter()
        chance = random.Random(f"{self.seed} reading")
        self._reading = (
            chance.choice(self.task.wrong) if chance.random() < self.rates.misreads else ""
        )

    async def stream(self, request: Request) -> Stream:
        text = await self._answer(request)
        said = "".join(message.text for message in request.messages)
        yield text
        yield Reply(
            text, "stop", self.name, self.model,
            Usage(self.count(request.system + said), self.count(text)), cost_usd=0.0,
        )

    async def models(self) -> tuple[str, ...]:
        return (self.model,)

    def count(self, text: str) -> int:
        return estimated_tokens(text)

    async def close(self) -> None:
        """Nothing is held."""

    def program(self, shares: Shares, chance: random.Random) -> str:
        """A program, right by these shares."""
        drawn = chance.random()
        if drawn < shares[0]:
            return self.task.right
        if self._reading:
            return self._reading
        return chance.choice(self.task.near if drawn < sum(shares) else self.task.wrong)

    def tests(self) -> list[tuple[str, str]]:
        """The derived tests: calls, and what each is said to give."""
        chance = random.Random(f"{self.seed} spec")
        calls = chance.sample(self.task.calls, min(SPEC_TESTS, len(self.task.calls)))
        wrong = [chance.random() < self.rates.spec_wrong for _ in calls]
        if self.rates.one_wrong:
            wrong = [place == 0 for place in range(len(calls))]
        return [
            (call, self._wrong(call, chance) if is_wrong else self.task.gives(call))
            for call, is_wrong in zip(calls, wrong, strict=True)
        ]

    async def _answer(self, request: Request) -> str:
        role = request.role
        chance = random.Random(f"{self.seed} {role} {self._asked[role]}")
        self._asked[role] += 1
        told = request.variables
        match role:
            case "generator" if "code" in told:
                return _fenced(self.program(self.rates.repair, chance))
            case "generator" if "plainest" in request.messages[0].text:
                return _fenced(self.program((self.rates.reference, 0.0), chance))
            case "generator":
                return _fenced(self.program(self.rates.draft, chance))
            case "spec_tester":
                return _examples(self.tests())
            case "qa_adversary":
                calls = chance.sample(self.task.calls, ATTACKS)
                return json.dumps({"calls": [{"why": "it may fail", "call": one} for one in calls]})
            case "arbiter" if "calls" in told:
                return _examples(await self._predicted(str(told["calls"]).splitlines(), chance))
            case "arbiter":
                return self._ruled(str(told["test"]), chance)
            case "critic":
                return await self._reviewed(str(told["code"]), chance)
            case "debugger":
                return json.dumps({
                    "cause": "it does other than the words say", "category": "wrong_result",
                    "lines": [2], "fixable": True, "confidence": self.rates.confidence,
                })
        return json.dumps({"text": "read the words again", "category": "wrong_result"})

    async def _predicted(
        self, calls: Sequence[str], chance: random.Random
    ) -> list[tuple[str, str]]:
        await self.task.learn_calls([call for call in calls if not self._known(call)])
        found = []
        for call in calls:
            right = chance.random() < self.rates.predictor
            value = self._known(call)
            if value:
                found.append((call, value if right else self._wrong(call, chance, read=True)))
        return found

    def _ruled(self, test: str, chance: random.Random) -> str:
        """The arbiter's word on `assert call == value`."""
        drawn, sure = chance.random(), chance.random() >= self.rates.open
        right = self.task.values[self.task.right].items()
        is_right = any(
            made is not None and made.code == test
            for made in (derived_test(call, value, self.task.words) for call, value in right)
        )
        verdict = "code_wrong" if is_right == (drawn < self.rates.arbiter) else "test_wrong"
        return json.dumps({
            "quote": self.task.words.splitlines()[0] if sure else "", "reason": "it says so",
            "verdict": verdict if sure else "spec_ambiguous",
        })

    async def _reviewed(self, code: str, chance: random.Random) -> str:
        right = await self.task.holds(code)
        if right == (chance.random() < self.rates.critic):
            return json.dumps({"note": "it does what the words say", "approve": True})
        given = await self.task.learn(code)
        differing = [
            call for call in self.task.calls
            if not same(Answer.read(given.get(call, "")), Answer.read(self.task.gives(call)))
        ]
        call = chance.choice(differing or self.task.calls)
        value = self.task.gives(call) if differing else self._wrong(call, chance)
        return json.dumps({"note": "it does other than the words say", "approve": False,
                           "objections": [{"quote": self.task.words.splitlines()[0], "call": call,
                                           "expected": value}]})

    def _known(self, call: str) -> str:
        plain = "".join(call.split())
        return next((
            value for one, value in self.task.values[self.task.right].items()
            if "".join(one.split()) == plain
        ), "")

    def _wrong(self, call: str, chance: random.Random, *, read: bool = False) -> str:
        """A value that is not the right one: what some wrong program gives, else one made up. With
        `read` it is that of the run's wrong reading, where it has one."""
        right = self._known(call)
        if read and self._reading:
            return self.task.gives(call, self._reading)
        others = sorted({
            value for text in (*self.task.near, *self.task.wrong)
            if (value := self.task.gives(call, text))
            and not same(seen := Answer.read(value), Answer.read(right)) and not seen.raises
        })
        return chance.choice(others) if others else repr(f"not {right}")


def _examples(pairs: list[tuple[str, str]]) -> str:
    found: list[dict[str, Any]] = [{"call": call, "expected": value} for call, value in pairs]
    return json.dumps({"examples": found})


def _fenced(text: str) -> str:
    return f"```python\n{text}```\n"

