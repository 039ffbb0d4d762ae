"""The provider of the plan without a model: rules answer, computed from the real run.

It stands in for no model: a role without a rule, or a rule that cannot answer, says so.
"""

from __future__ import annotations

from llm.errors import NoModel
from llm.provider import Rules, estimated_tokens
from llm.types import Reply, Request, Stream, Usage


class MockProvider:
    """Answers each role by its rule."""

    name = "mock"
    model = "none"
    thinks = False
    exact = False
    window = None

    def __init__(self, rules: Rules) -> None:
        self._rules = rules

    async def stream(self, request: Request) -> Stream:
        if request.role not in self._rules:
            raise NoModel(f"the role {request.role!r} needs a model, and none is configured")
        text = self._rules[request.role](request.variables)
        yield text
        yield Reply(text, "stop", self.name, self.model, Usage(), cost_usd=0.0)

    async def models(self) -> tuple[str, ...]:
        return ()

    def count(self, text: str) -> int:
        return estimated_tokens(text)

    async def close(self) -> None:
        """Nothing is held."""
