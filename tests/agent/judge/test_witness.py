"""What holds code back is told as it was seen, and what is missing with the reason."""

from __future__ import annotations

from agent.core.domain import Jail, JailLayer
from agent.judge.jail_level import jail_of
from sandbox.levels import Isolation, Layer


def test_a_jail_that_holds() -> None:
    witness = Isolation("L3", (Layer("seccomp", True, "open a socket: EACCES"),))

    assert jail_of(witness, "jail") == Jail(
        words="jail: L3 seen to hold: Landlock, seccomp, limits", level="L3",
        layers=(JailLayer(name="seccomp", holds=True, seen="open a socket: EACCES"),),
    )


def test_limits_where_there_is_no_jail() -> None:
    witness = Isolation(
        "L1", (Layer("limits", True, "set"), Layer("jail", False, "the kernel has no seccomp"))
    )

    assert jail_of(witness, "subprocess").words == (
        "subprocess: L1: limits only: the network and readable files are open; "
        "no jail: the kernel has no seccomp"
    )


def test_a_machine_elsewhere_is_not_said_to_have_been_seen() -> None:
    assert "seen to hold" not in jail_of(Isolation("R", ()), "e2b").words
