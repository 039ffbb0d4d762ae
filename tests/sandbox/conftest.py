"""The jail as many tests want it: at each level that this system grants, or at the strongest."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import pytest

from sandbox import SandboxUnavailable
from sandbox.jail import JailSandbox
from sandbox.levels import JailLevel


async def at(level: JailLevel) -> JailSandbox:
    """The jail at exactly that level; skips where the system does not grant it."""
    try:
        sandbox = JailSandbox(at_most=level)
        seen = (await sandbox.isolation()).level
    except SandboxUnavailable as refusal:
        pytest.skip(str(refusal))
    if seen != level:
        pytest.skip(f"{level} is not granted here, {seen} is")
    return sandbox


@pytest.fixture
def jail_at() -> Callable[[JailLevel], Awaitable[JailSandbox]]:
    """The jail at a level that the test names."""
    return at


WEAKER = [pytest.param(level, marks=pytest.mark.weaker) for level in ("L3", "L2")]


@pytest.fixture(params=["L4", *WEAKER])
async def jail(request: pytest.FixtureRequest) -> JailSandbox:
    """The jail at each level."""
    return await at(request.param)


@pytest.fixture(params=["L4", WEAKER[0]])
async def jail_with_files(request: pytest.FixtureRequest) -> JailSandbox:
    """The jail at each level at which files can be opened."""
    return await at(request.param)


@pytest.fixture
async def strongest() -> JailSandbox:
    """The jail at the strongest level that is granted, whichever that is."""
    try:
        sandbox = JailSandbox()
        await sandbox.isolation()
    except SandboxUnavailable as refusal:
        pytest.skip(str(refusal))
    return sandbox
