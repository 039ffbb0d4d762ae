"""HTML helpers shared by the views of the workbench. Pure functions."""

from __future__ import annotations

from agent.report.result import Result
from demo.views.escape import LONGEST_TEXT, escaped, prose

NEWEST = 3
"""Newest programs with details during a run; the page is sent again at each step."""


def places_with_details(result: Result) -> range:
    """Returns the places of the programs that have details."""
    count = len(result.tested_programs)
    return range(max(0, count - NEWEST) if result.phase == "running" else 0, count)


def initially_shown(result: Result) -> int:
    """Returns the place of the program to show first: the result of the run, else the best one, or
    the newest while the run is in progress."""
    last = len(result.tested_programs) - 1
    if result.phase == "running" or result.shown_report is None:
        return max(last, 0)
    shown = result.shown_report.solution
    return max(
        (at for at, column in enumerate(result.tested_programs) if column.report.solution == shown),
        default=max(last, 0),
    )


def pane(name: str, title: str, body: str, extra: str = "", foot: str = "") -> str:
    return (
        f'<section class="pane {name}" aria-label="{title}"><h2>{title}{extra}</h2>'
        f'<div class="scroll" data-key="{name}" tabindex="0">{body}</div>{foot}</section>'
    )


def named(test: str, call: str) -> str:
    """Returns a test's name or single line, with its call if that is not part of it."""
    name = test.removeprefix("assert ")
    return f"{name}: {call}" if call and call not in name else name


def small(text: str) -> str:
    return f" <small>{prose(text, 200)}</small>" if text else ""


def fact_list(*pairs: tuple[str, str], limit: int = LONGEST_TEXT) -> str:
    shown = "".join(
        f"<dt>{name}</dt><dd>{escaped(value, limit)}</dd>" for name, value in pairs if value
    )
    return f"<dl>{shown}</dl>" if shown else ""
