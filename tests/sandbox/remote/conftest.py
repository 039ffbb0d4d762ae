"""The services that remote backends are tried against, one by one or each in turn."""

from __future__ import annotations

import os
import runpy
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from sandbox import Sandbox, open_sandbox

HERE = Path(__file__).parent
STUBS = runpy.run_path(str(HERE / "stubs.py"))


@pytest.fixture
async def e2b(tmp_path: Path) -> AsyncIterator[Any]:
    """E2B's service on this machine."""
    async with STUBS["E2BService"](tmp_path).serve() as service:
        yield service


@pytest.fixture
async def daytona(tmp_path: Path) -> AsyncIterator[Any]:
    """Daytona's service on this machine."""
    async with STUBS["DaytonaService"](tmp_path).serve() as service:
        yield service


@pytest.fixture(params=["e2b", pytest.param("daytona", marks=pytest.mark.nightly)])
async def service(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Any]:
    """Each of the two services."""
    stub = STUBS[{"e2b": "E2BService", "daytona": "DaytonaService"}[request.param]](tmp_path)
    stub.name = request.param
    async with stub.serve():
        yield stub


@pytest.fixture
def opened(service: Any) -> Sandbox:
    """The backend that belongs to `service`."""
    return open_sandbox(service.name, service.settings())


@pytest.fixture
def docker(tmp_path: Path) -> Callable[..., dict[str, str]]:
    """An environment in which `docker` is the fake one, in a mode if wanted."""
    bin = tmp_path / "docker-bin"
    bin.mkdir()
    command = bin / "docker"
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{HERE / "fake_docker.py"}" "$@"\n')
    command.chmod(0o755)

    def environment(mode: str = "") -> dict[str, str]:
        return {
            "PATH": f"{bin}:{os.environ['PATH']}",
            "FAKE_DOCKER_FOLDER": str(tmp_path),
            "FAKE_DOCKER_MODE": mode,
        }

    return environment
