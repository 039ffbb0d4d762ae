"""What holds code back is told as it was seen, and what is missing with the reason."""

from __future__ import annotations

from agent.core.domain import Jail, JailLayer
from agent.judge.jail_level import as_told
from sandbox.levels import Layer, Witness


def test_a_jail_that_holds() -> None:
    witness = Witness("L3", (Layer("seccomp", True, "open a socket: EACCES"),))

    assert as_told(witness, "jail") == Jail(
        words="jail: L3 seen to hold: Landlock, seccomp, limits", level="L3",
        layers=(JailLayer(name="seccomp", holds=True, seen="open a socket: EACCES"),),
    )


def test_limits_where_there_is_no_jail() -> None:
    witness = Witness(
        "L1", (Layer("limits", True, "set"), Layer("jail", False, "the kernel has no seccomp"))
    )

    assert as_told(witness, "subprocess").words == (
        "subprocess: L1: limits only: the network and readable files are open; "
        "no jail: the kernel has no seccomp"
    )


def test_a_machine_elsewhere_is_not_said_to_have_been_seen() -> None:
    assert "seen to hold" not in as_told(Witness("R", ()), "e2b").words
