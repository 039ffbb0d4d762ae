"""A provider around another one: what traces and the router have in common."""

from __future__ import annotations

from llm.provider import Provider


class Wrapped:
    """Passes everything but the answers through; what wraps brings a `stream` of its own."""

    def __init__(self, provider: Provider) -> None:
        self.provider = provider
        self.name = provider.name
        self.model = provider.model

    async def models(self) -> tuple[str, ...]:
        return await self.provider.models()

    def count(self, text: str) -> int:
        return self.provider.count(text)

    @property
    def thinks(self) -> bool:
        return self.provider.thinks

    @property
    def exact(self) -> bool:
        return self.provider.exact

    @property
    def window(self) -> int | None:
        return self.provider.window

    async def close(self) -> None:
        await self.provider.close()
