"""The gauntlet: attacks on a sandbox, each with a control run in a naive harness."""

from __future__ import annotations

from sandbox.attacks.assail import AttackResult, Gauntlet, gauntlet, run_attacks
from sandbox.attacks.attack import ATTACKS, Attack
from sandbox.attacks.targets import Targets

__all__ = ["ATTACKS", "Attack", "AttackResult", "Gauntlet", "Targets", "gauntlet", "run_attacks"]
