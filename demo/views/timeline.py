"""Renders the steps of a run, its models and its jail as HTML. Pure functions."""

from __future__ import annotations

from agent.core.domain import Report
from agent.core.events import Recalled, RunStarted, Searched
from agent.log.spending import duration_words
from agent.report.result import Result
from agent.report.timeline import TimelineStep
from agent.report.words import ReportLine, event_lines, step_words
from demo.models.plans import plan_html, roles_html
from demo.views.escape import prose
from demo.views.panes import pane

TONE_MARKS = {"plain": "·", "good": "✓", "bad": "✗", "warning": "!"}


def timeline(result: Result) -> str:
    items = _moments(result)
    return pane("timeline", "Timeline", f"<ol>{items}</ol>" if items else "<p>Starting…</p>")


def steps(result: Result) -> str:
    """Renders the timeline of a run that has ended, collapsed."""
    items = _moments(result)
    count = f" <small>{len(result.timeline)} steps</small>"
    return (
        '<section class="program timeline-folded"><details data-key="steps">'
        f"<summary>Timeline{count}</summary>{where(result)}<ol>{items}</ol></details></section>"
    ) if items else ""


def _moments(result: Result) -> str:
    now, judged = result.current, judged_last(result)
    return "".join(step_text(one, one is now, judged, result.start) for one in result.timeline)


def judged_last(result: Result) -> Report | None:
    return result.tested_programs[-1].report if result.tested_programs else None


def step_text(
    step: TimelineStep, now: bool, judged: Report | None, start: RunStarted | None
) -> str:
    took = "" if step.wall_ms is None else duration_words(step.wall_ms / 1_000)
    # Lessons have their own tab, and the headline shows the progress of a search.
    events = [
        one.model_copy(update={"lessons": ()}) if isinstance(one, Recalled) else one
        for one in step.events if not (now and isinstance(one, Searched))
    ]
    lines = [line for one in events for line in event_lines(one, judged)]
    bad = bool(lines) and lines[-1].tone == "bad"
    ended = ("✓", "done") if step.wall_ms is not None else ("○", "left")
    mark, state = ("●", "now") if now else ("!", "bad") if bad else ended
    turn = f' <small class="turn">{step.iteration}</small>' if step.iteration else ""
    running = '<span class="sr">running</span>' if now else ""
    return (
        f'<li class="moment {state}"><b class="dot" aria-hidden="true">{mark}</b>'
        f'<div><p>{step_words(step.step, start)}{turn}{running}<time>{took}</time></p>'
        f"<ul>{''.join(map(_line, lines))}</ul></div></li>"
    )


def _line(line: ReportLine) -> str:
    return (
        f'<li class="tone-{line.tone}"><b aria-hidden="true">{TONE_MARKS[line.tone]}</b> '
        f"{prose(line.text, 600)}</li>"
    )


def where(result: Result) -> str:
    start = result.start
    if start is None:
        return ""
    roles = roles_html(start.roles, key="who-run")
    return plan_html(start.provider, start.provider_why, start.jail, roles)
