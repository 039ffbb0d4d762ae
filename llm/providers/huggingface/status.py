"""How the model in this process is doing, for people."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from llm.types import Finish, Usage

State = Literal["waiting", "loading", "loaded", "failed"]


@dataclass(frozen=True)
class Ended:
    """How an answer ended, and what it took."""

    finish: Finish
    usage: Usage
    note: str
    forwards: int
    """Runs of the network, the one over the question included."""
    first_s: float | None
    """Seconds from the beginning of the work to the first piece of text."""
    wall_s: float
    cancelled: bool = False

    @property
    def tokens_a_forward(self) -> float:
        return self.usage.output / max(1, self.forwards)

    @property
    def tokens_a_second(self) -> float:
        return self.usage.output / self.wall_s if self.wall_s else 0.0


@dataclass(frozen=True)
class LoadedModel:
    """A model as it was loaded."""

    device: str
    dtype: str
    four_bit: bool
    memory_mib: int


@dataclass(frozen=True)
class Description:
    """A local model as the page shows it."""

    model: str
    state: State
    fault: str = ""
    """Why it could not be loaded."""
    fitted: LoadedModel | None = None
    recent: tuple[Ended, ...] = ()
    """The last calls, the newest last."""

    def __str__(self) -> str:
        if self.fitted is None:
            return f"{self.model}: {self.state}{self.fault and f' ({self.fault})'}"
        fitted = self.fitted
        bits = ", 4-bit weights" if fitted.four_bit else ""
        text = (
            f"{self.model}: {self.state}, {fitted.device}, {fitted.dtype}{bits}, "
            f"{fitted.memory_mib:,} MiB"
        )
        if self.recent:
            last = self.recent[-1]
            first = "-" if last.first_s is None else f"{last.first_s:.2f} s"
            text += (
                f"; last call {last.tokens_a_second:.1f} tokens/s, first text after {first}, "
                f"{last.tokens_a_forward:.2f} tokens a forward"
            )
        return text
