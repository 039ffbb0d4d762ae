"""All that a new provider takes: its class, and its row in `llm/providers.toml`."""

from __future__ import annotations

from llm import Connection, Reply, Request, Stream, Usage
from llm.provider import estimated_tokens
from tests.agent.claude import RIGHT_CALLS, fenced
from tests.agent.model_runs import SOLVED

ROW = """
[tiny]
factory = "tests.agent.tiny:Tiny"
package = "json"
extra = "tiny"
key = "TINY_API_KEY"
needs_key = true
free = true
settings.model = { variable = "TINY_MODEL", default = "tiny-1", about = "the tiny model" }
settings.mood = { variable = "TINY_MOOD", default = 5, least = 1, about = "how merry it is" }
"""


class Tiny:
    """Answers from memory."""

    name, exact, thinks, window = "tiny", False, False, None

    def __init__(self, connection: Connection) -> None:
        self.model = connection.model
        self.mood = connection.option("mood")

    async def stream(self, request: Request) -> Stream:
        text = {**RIGHT_CALLS, "generator": fenced(SOLVED)}[request.role]
        yield text
        yield Reply(text, "stop", self.name, self.model, Usage(3, 4), note=f"mood {self.mood}")

    async def models(self) -> tuple[str, ...]:
        return (self.model,)

    def count(self, text: str) -> int:
        return estimated_tokens(text)

    async def close(self) -> None:
        """Nothing is held."""
