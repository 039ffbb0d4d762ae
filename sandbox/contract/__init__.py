"""The contract of every backend: claims, and the programs that test them."""

from __future__ import annotations

from sandbox.contract.checks import (
    CHECKS,
    ECHO,
    EXECUTE,
    HONEST_CHECKS,
    ContractCheck,
    Finding,
    findings,
)
from sandbox.contract.programs import HONEST, ROOMY, RUN_AS_MAIN, script

__all__ = [
    "CHECKS", "ECHO", "EXECUTE", "HONEST", "HONEST_CHECKS", "ROOMY", "RUN_AS_MAIN", "ContractCheck",
    "Finding", "findings", "script",
]
