"""The judge: what tests show of a solution, decided where the solution is not."""

from agent.judge.judge import check
from agent.judge.texts.masking import mask

__all__ = ["check", "mask"]
