"""The gauntlet: attacks on a jail, each beside a control, and who runs them."""

from __future__ import annotations

from sandbox.attacks import (
    exhaustion,
    files,
    kernel,
    lasting,
    looking,
    neighbours,
    network,
    processes,
)
from sandbox.attacks.assail import Result, assail
from sandbox.attacks.attack import Attack
from sandbox.attacks.world import World

ATTACKS: tuple[Attack, ...] = (
    *looking.ATTACKS,
    *processes.ATTACKS,
    *network.ATTACKS,
    *files.ATTACKS,
    *kernel.ATTACKS,
    *exhaustion.ATTACKS,
    *lasting.ATTACKS,
    *neighbours.ATTACKS,
)

__all__ = ["ATTACKS", "Attack", "Result", "World", "assail"]
