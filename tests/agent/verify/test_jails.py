"""What holds code back: told as it was seen, named where it is broken, and not led around."""

from __future__ import annotations

from typing import Any

import pytest

from agent.core.domain import File, JailLayer, JailStatus, Script, Solution, Task
from agent.verify.jail_level import jail_status_of
from agent.verify.judge import check
from sandbox import SandboxUnavailable
from sandbox.levels import Isolation, Layer
from sandbox.sandbox import Sandbox
from sandbox.types import SandboxError
from tests.agent.values import table

PLANTED = table(__file__, "programs.toml")["planted_links"]


def test_a_jail_that_holds() -> None:
    other_run = Isolation("L3", (Layer("seccomp", True, "open a socket: EACCES"),))

    assert jail_status_of(other_run, "jail") == JailStatus(
        words="jail: L3, confirmed by tests: Landlock, seccomp, limits", level="L3",
        layers=(JailLayer(name="seccomp", holds=True, observed="open a socket: EACCES"),),
    )


@pytest.mark.parametrize(("other_run", "backend", "words"), [
    (
        Isolation("L1", (
            Layer("limits", True, "set"), Layer("jail", False, "the kernel has no seccomp"),
        )), "subprocess",
        "subprocess: L1: limits only: the network and readable files are open; "
        "no jail: the kernel has no seccomp",
    ),
    (Isolation("R", ()), "e2b", None),
])
def test_what_was_not_seen_to_hold_is_not_said_to(
    other_run: Isolation, backend: str, words: str | None
) -> None:
    said = jail_status_of(other_run, backend).words

    assert "confirmed by tests" not in said
    assert words in (None, said)


class NoRoom:
    """A jail that cannot be entered, around one that can."""

    def __init__(self, jail: Sandbox) -> None:
        self._jail = jail

    def __getattr__(self, name: str) -> Any:  # all else is the jail's own
        return getattr(self._jail, name)

    async def run(self, job: object) -> None:
        raise SandboxError("the disk is full")


async def test_a_broken_jail_is_named_in_a_shared_process(jail: Sandbox) -> None:
    solution = Solution(files=(File(path="p.py", text="x = 1\n"),), entry="p.py")
    test = Script(name="it", origin="user", code="assert x == 1")
    broken: Any = NoRoom(jail)
    with pytest.raises(SandboxError, match="the disk is full"):
        await check(solution, [test], Task(), broken, run_program=True)


@pytest.mark.parametrize("jail", ["L3", "L4"], indirect=True)
async def test_no_link_of_the_program_leads_into_the_tests_folder(jail: Any, judge: Any) -> None:
    try:
        await jail.isolation()
    except SandboxUnavailable as refusal:
        pytest.skip(str(refusal))
    (verdict,) = (await judge(PLANTED["program"], PLANTED["tests"], ("test_it",))).verdicts

    assert (verdict.status, verdict.got, verdict.expected) == ("failed", "0", "8")
