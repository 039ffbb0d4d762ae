from __future__ import annotations

from typing import Any

import pytest

from agent.core.domain import File, Script, Solution, Task
from agent.judge import check
from sandbox.sandbox import Sandbox
from sandbox.types import SandboxError


class NoRoom:
    """A jail that cannot be entered, around one that can."""

    def __init__(self, jail: Sandbox) -> None:
        self._jail = jail

    def __getattr__(self, name: str) -> Any:  # all else is the jail's own
        return getattr(self._jail, name)

    async def run(self, job: object) -> None:
        raise SandboxError("the disk is full")


async def test_a_broken_jail_is_named_also_where_the_program_runs_beside_its_tests(
    jail: Sandbox,
) -> None:
    solution = Solution(files=(File(path="p.py", text="x = 1\n"),), entry="p.py")
    test = Script(name="it", origin="user", code="assert x == 1")
    broken: Any = NoRoom(jail)
    with pytest.raises(SandboxError, match="the disk is full"):
        await check(solution, [test], Task(), broken, run_program=True)
