"""A session without a model."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from agent.loop.session import Session, open_session
from tests.agent.runs import settings


@pytest.fixture
async def session(tmp_path: Path) -> AsyncIterator[Session]:
    async with open_session(settings(tmp_path)) as opened:
        yield opened
