"""The gauntlet: attacks on a jail, each beside a control, and who runs them."""

from __future__ import annotations

from sandbox.attacks.assail import AttackResult, Gauntlet, gauntlet, run_attacks
from sandbox.attacks.attack import ATTACKS, Attack
from sandbox.attacks.world import World

__all__ = ["ATTACKS", "Attack", "AttackResult", "Gauntlet", "World", "gauntlet",
    "run_attacks",
]
