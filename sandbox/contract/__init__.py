"""The contract of every backend: claims, and the programs that test them."""

from __future__ import annotations

from sandbox.contract.checks import (
    CHECKS,
    ECHO,
    EXECUTE,
    HONEST_CHECKS,
    CheckResult,
    ContractCheck,
    run_checks,
)
from sandbox.contract.programs import GENEROUS_LIMITS, HONEST, RUN_AS_MAIN, script

__all__ = [
    "CHECKS", "ECHO", "EXECUTE", "GENEROUS_LIMITS", "HONEST", "HONEST_CHECKS", "RUN_AS_MAIN",
    "CheckResult", "ContractCheck", "run_checks", "script",
]
