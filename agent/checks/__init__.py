"""The judge: what tests show of a solution, decided where the solution is not."""

from agent.checks.judge import check
from agent.checks.masking import mask

__all__ = ["check", "mask"]
