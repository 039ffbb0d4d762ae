"""The judge: what tests show of a solution, decided where the solution is not."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from agent.judge.judge import check
    from agent.judge.texts.masking import mask

__all__ = ["check", "mask"]


def __getattr__(name: str) -> object:
    """Loads what is asked for: a project's suite is judged without most of this room."""
    if name == "check":
        from agent.judge.judge import check

        return check
    if name == "mask":
        from agent.judge.texts.masking import mask

        return mask
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
