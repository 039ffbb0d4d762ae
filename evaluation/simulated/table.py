"""Figures of cells with their intervals, and the table of them; pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from demo.panels.measured import Share
from evaluation.figures import PROVEN
from evaluation.simulated.trials import MOST_RETRIED, LoopRun


@dataclass(frozen=True)
class CellFigures:
    """What the runs of a cell came to."""

    runs: int
    healed: Share
    """Runs that end with a right program, and say so."""
    false_proven: Share
    """Of programs called healed at E2 or above, those that are wrong."""
    false: Share
    """Of programs called healed at any level, those that are wrong."""
    turned: Share
    """Of runs that began with a right program, those that end with a wrong one."""
    calls: float
    tokens: float
    retried: Share
    """Healed rightly by generating and retrying, with as many calls as each run took."""
    saved: float | None
    """Of the calls that this takes for the same share healed; `None` where it never comes to it."""


def figures(runs: Sequence[LoopRun]) -> CellFigures:
    """The figures of at least one run."""
    claimed = [one for one in runs if one.healed]
    proven = [one for one in claimed if one.proof in PROVEN]
    began = [one for one in runs if one.began_right]
    healed = sum(one.right for one in claimed)
    calls = sum(one.calls for one in runs) / len(runs)
    within = sum(
        one.retried_right and one.retried + one.retry_tests <= one.calls for one in runs
    )
    needed = _needed(runs, healed)
    return CellFigures(
        len(runs), Share(healed, len(runs)),
        Share(sum(not one.right for one in proven), len(proven)),
        Share(sum(not one.right for one in claimed), len(claimed)),
        Share(sum(not one.right for one in began), len(began)),
        calls, sum(one.tokens for one in runs) / len(runs), Share(within, len(runs)),
        None if needed is None else 1 - calls / needed,
    )


def _needed(runs: Sequence[LoopRun], healed: int) -> float | None:
    """Mean calls of generating and retrying, with the smallest cap at which so many are healed."""
    for cap in range(1, MOST_RETRIED + 1):
        if sum(one.retried_right and one.retried <= cap for one in runs) >= healed:
            return sum(
                one.retry_tests + min(one.retried or cap, cap) for one in runs
            ) / len(runs)
    return None


HEAD = ("cell", "runs", "healed", "false E2+", "false", "turned wrong", "calls", "tokens",
        "retry heals", "calls saved")


def table(found: Mapping[str, CellFigures]) -> Iterator[str]:
    """The figures as lines of text; shares are in percent, with their intervals."""
    rows = [HEAD, *((
        name, str(one.runs),
        *map(_shown, (one.healed, one.false_proven, one.false, one.turned)),
        f"{one.calls:.1f}", f"{one.tokens:,.0f}", _shown(one.retried),
        "never as good" if one.saved is None else f"{one.saved:+.0%}",
    ) for name, one in found.items())]
    widths = [max(len(row[place]) for row in rows) for place in range(len(HEAD))]
    for row in rows:
        yield "  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip()


def _shown(share: Share) -> str:
    if not share.of:
        return "-"
    low, high = share.interval
    return f"{share.hits / share.of:.1%} [{low:.1%}, {high:.1%}]".replace("%", "")
