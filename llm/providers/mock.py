"""The provider of the plan without a model: rules answer, computed from the real run.

It stands in for no model: a role without a rule, or a rule that cannot answer, says so.
"""

from __future__ import annotations

from collections.abc import AsyncIterator

from llm.errors import NoModel
from llm.provider import Request, Rules


class MockProvider:
    """Answers each role by its rule."""

    name = "mock"
    model = "none"

    def __init__(self, rules: Rules) -> None:
        self._rules = rules

    async def stream(self, request: Request) -> AsyncIterator[str]:
        if request.role not in self._rules:
            raise NoModel(f"the role {request.role!r} needs a model, and none is configured")
        yield self._rules[request.role](request.variables)
