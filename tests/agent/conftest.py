"""A session without a model."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from agent.loop.session import Session, open_session
from tests.agent.runs import PROVING_S, settings


@pytest.fixture
async def session(tmp_path: Path, request: pytest.FixtureRequest) -> AsyncIterator[Session]:
    proof_s = PROVING_S if request.node.get_closest_marker("proven") else 0.0
    async with open_session(settings(tmp_path, proof_s=proof_s)) as opened:
        yield opened
