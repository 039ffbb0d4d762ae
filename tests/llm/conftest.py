from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from tests.llm.fakes.server import FakeServer


@pytest.fixture
async def server() -> AsyncIterator[FakeServer]:
    """A server that answers as a test scripts it."""
    async with FakeServer() as server:
        yield server
