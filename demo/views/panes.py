"""A pane of the workbench, and small pieces that several use; pure."""

from __future__ import annotations

from agent.report.result import Result
from demo.views.escape import LONGEST_TEXT, escaped, prose

NEWEST = 3
"""Programs that can be looked into while a run goes on: the page is sent anew at each step."""


def at_hand(result: Result) -> range:
    """The places of the programs that can be looked into."""
    count = len(result.columns)
    return range(max(0, count - NEWEST) if result.phase == "running" else 0, count)


def leading(result: Result) -> int:
    """The place of the program that is looked at first: the one that the run leaves, or the best so
    far where none is kept, or the newest while it goes on."""
    last = len(result.columns) - 1
    if result.phase == "running" or result.shown_report is None:
        return max(last, 0)
    kept = result.shown_report.solution
    return max(
        (at for at, column in enumerate(result.columns) if column.report.solution == kept),
        default=max(last, 0),
    )


def pane(name: str, title: str, body: str, extra: str = "", foot: str = "") -> str:
    return (
        f'<section class="pane {name}" aria-label="{title}"><h2>{title}{extra}</h2>'
        f'<div class="scroll" data-key="{name}" tabindex="0">{body}</div>{foot}</section>'
    )


def named(test: str, call: str) -> str:
    """A test by its name, or by its one line, and what it calls where that does not tell it."""
    said = test.removeprefix("assert ")
    return f"{said}: {call}" if call and call not in said else said


def small(text: str) -> str:
    return f" <small>{prose(text, 200)}</small>" if text else ""


def fact_list(*pairs: tuple[str, str], limit: int = LONGEST_TEXT) -> str:
    shown = "".join(
        f"<dt>{name}</dt><dd>{escaped(value, limit)}</dd>" for name, value in pairs if value
    )
    return f"<dl>{shown}</dl>" if shown else ""
