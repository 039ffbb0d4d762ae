"""The judge: what tests show of a solution, decided where the solution is not."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agent.core.lazy import loaded_later

if TYPE_CHECKING:
    from agent.judge.judge import check
    from agent.judge.texts.masking import mask

__all__ = ["check", "mask"]
__getattr__ = loaded_later(__name__, {"judge": "check", "texts.masking": "mask"})
