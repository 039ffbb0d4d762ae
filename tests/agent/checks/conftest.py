"""What the tests of the judge share: one sandbox, and a short way to judge."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import pytest

from agent.checks import check
from agent.domain import File, Report, Script, Solution, Task
from sandbox.sandbox import Sandbox, open_sandbox

Judge = Callable[..., Awaitable[Report]]


@pytest.fixture(scope="session")
def jail() -> Sandbox:
    return open_sandbox()


@pytest.fixture
def judge(jail: Sandbox) -> Judge:
    """Judges a program's text by named snippets, or by nodes of one test file."""

    async def judged(
        text: str, tests: Mapping[str, str] | str, nodes: tuple[str, ...] = (), *,
        task: Task | None = None, entry: str = "program.py", files: tuple[File, ...] = (),
        **more: Any,
    ) -> Report:
        if isinstance(tests, str):
            scripts = [Script(name=n, origin="user", code=tests, node=n) for n in nodes] or [
                Script(name="it", origin="user", code=tests)
            ]
        else:
            scripts = [Script(name=n, origin="user", code=code) for n, code in tests.items()]
        solution = Solution(files=(File(path=entry, text=text), *files), entry=entry)
        return await check(solution, scripts, task or Task(), jail, **more)

    return judged
