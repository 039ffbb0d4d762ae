"""Renders the workbench of a run as HTML, from its result. Pure functions.

All text that code, a test or a model may have written passes through `escaped`.
"""

from __future__ import annotations

from collections.abc import Callable

from agent.interfaces.bundle import patch_of, patched, rejection
from agent.report.result import Result
from agent.report.words import (
    INTEGRITY_SHORT,
    PROOF_MEANING,
    headline,
    integrity_words,
    others_words,
)
from agent.target.task import PASTED_FILENAME
from demo.views.diff import diff
from demo.views.escape import escaped, prose, sentence
from demo.views.findings import behaviours, learned, proof, smallest
from demo.views.matrix import matrix
from demo.views.panes import initially_shown, pane, small
from demo.views.programs import causes, changes, console, for_initially_shown, scrubber
from demo.views.required import next_words
from demo.views.tabs import Tab, tabs
from demo.views.timeline import steps, timeline
from demo.views.trace import trace, writing_now

STATE_MARKS: dict[str, str] = {
    "healed": "✓", "proposed": "?", "healthy": "✓", "crash_stopped": "!", "unresolved": "✗",
    "not_fixable": "✗",
    "needs_model": "?", "model_failed": "✗", "budget": "◷", "cancelled": "■", "failed": "!",
    "waiting": "?", "awaiting_review": "?", "running": "●", "empty": "○", "finished": "●",
}


def workbench(result: Result, *, own: bool = True) -> str:
    """Renders the right side of the page; `own` if the visitor started the run."""
    word, facts = headline(result)
    running = result.phase == "running"
    announced = escaped(f"{word.capitalize()}. {', '.join(facts[:1] if running else facts)}")
    behaviours_pane = behaviours(result.competing) if result.competing is not None else ""
    open_ = result.fitting_repairs > 1
    programs = _programs(result, "" if open_ else behaviours_pane, own)
    finished_steps = "" if result.outcome == "needs_model" else steps(result)
    parts = (
        _status(result, word, _with_short_question(result, facts, own), _downloads(result)),
        "" if own else sentence(SHARED, "info"),
        behaviours_pane if open_ else "", _notices(result), _printed(result),
        *((timeline(result), matrix(result), programs) if running else
          (smallest(result), programs, matrix(result), finished_steps)),
    )
    slug = "open" if open_ else "below" if result.unmet else _state(result).replace("_", "-")
    level = f" at-{result.proof}" if result.proof is not None and not open_ else ""
    waits = escaped(result.waiting.interrupt) if result.waiting is not None else ""
    return (
        f'<div class="bench is-{slug}{level}" data-phase="{result.phase}" data-waits="{waits}" '
        f'data-run="{escaped(result.run_id)}" data-announce="{announced}">'
        f"{''.join(parts)}</div>"
    )


def _programs(result: Result, behaviours_pane: str, own: bool) -> str:
    if not (result.tested_programs or result.model_calls or result.code or result.last_diff):
        return ""
    lessons = len(result.learned)
    first = initially_shown(result)
    causes_first = result.outcome is not None and not first and result.diagnosis
    claimed = proof(result) + behaviours_pane or '<p class="note">Nothing is proven.</p>'
    return (
        f'<section class="looked pane" aria-label="Programs" data-shown="{first}">'
        + scrubber(result, own=own)
        + tabs(
            "Details of the program", Tab("patch", "Diff", changes(result)),
            Tab("diagnosis", "Diagnosis", causes(result)),
            Tab("proof", "Proof", for_initially_shown(result, claimed)),
            Tab("trace", "Trace", trace(result), len(result.model_calls)),
            Tab("lessons", "Lessons", learned(result), lessons),
            Tab("console", "Console", console(result)),
            opens="diagnosis" if causes_first else "patch",
        )
        + "</section>"
    )


SHARED = (
    "Another visitor started and shared this run. You can view it, but not change it. The editors "
    "on the left contain your own input."
)
STARTING = (
    '<div class="bench is-running" data-phase="running" data-announce="Running">'
    '<header class="status"><p class="verdict"><b class="mark" aria-hidden="true">●</b>'
    "<strong>RUNNING</strong><span>starting</span></p></header></div>"
)
"""The workbench between the click and the first event."""

NO_RUN_WORKBENCH = (
    '<div class="bench" data-phase="empty" data-announce="No run was started"><p class="lead">'
    "No run was started. The message below “Heal it” says why and what to do.</p></div>"
)
"""The workbench after a refusal."""


def masthead(duplicate: str = "") -> str:
    link = (
        f'<a href="{escaped(duplicate)}" target="_blank" rel="noopener">Duplicate this Space</a>'
        if duplicate else ""
    )
    return (
        '<div class="masthead"><h1>Self-Healing Code Agent</h1>'
        "<p>Runs your Python in a jail, finds what is broken, repairs it and proves the repair."
        f'</p>{link}<button type="button" id="theme-toggle">Light/dark</button>'
        '<div id="live" class="sr" aria-live="polite"></div></div>'
    )


KEYS = '<p class="hint">Ctrl+Enter starts a run. Esc and then Tab leaves an editor.</p>'
"""How to use the page without a mouse."""

EXAMPLES_TITLE = (
    "<summary><h2>More examples</h2></summary>"
    "<p>Choose one to fill it in and start a run.</p>"
)


def _state(result: Result) -> str:
    return result.outcome or result.phase


def _with_short_question(result: Result, facts: tuple[str, ...], own: bool) -> tuple[str, ...]:
    """Replaces a question among the facts by who must answer it, since it is shown above."""
    question = result.waiting.question if result.waiting is not None else None
    short = "answer the question above" if own else "waits for the visitor who started it"
    return tuple(short if fact == question else fact for fact in facts)


def _status(result: Result, word: str, facts: tuple[str, ...], links: str) -> str:
    mark = "!" if result.unmet else STATE_MARKS[_state(result)]
    mark = "?" if result.fitting_repairs > 1 else mark
    rest = "".join(_fact(fact, result) for fact in facts)
    if result.phase == "running":
        clock = f'<time class="clock" data-elapsed="{result.worked_s:.1f}"></time>'
        bounded = result.start is not None and result.worked_s < result.start.limit_s
        most = f" of at most {result.start.limit_s:.0f} s" if bounded and result.start else ""
        rest += f"<span>{clock}{most}</span>"
    # The question of a waiting run is shown elsewhere, or among the facts.
    reason = "" if result.waiting is not None else result.why or result.reason
    line = _forked(result) + (f'<p class="reason">{prose(reason)}</p>' if reason else "")
    if result.phase == "running":
        line += writing_now(result.model_calls)
    diagnosis = result.tested_programs[0].diagnosis if result.tested_programs else None
    if diagnosis is not None and result.phase == "finished":
        line += f'<p class="was"><b>Cause:</b> {prose(diagnosis.cause, 240)}</p>'
    if result.best is not None:
        line += f'<p class="note">The best program so far: {escaped(result.best.label)}.</p>'
    if then := next_words(result):
        line += f'<p class="next"><b>Next:</b> {prose(then)}</p>'
    return (
        f'<header class="status"><p class="verdict"><b class="mark" aria-hidden="true">{mark}</b>'
        f"<strong>{escaped(word)}</strong>{rest}</p>{line}{links}</header>"
    )


def _forked(result: Result) -> str:
    parent = result.parent
    if parent is None:
        return ""
    run = escaped(parent.run, 60)
    place = f"iteration {parent.iteration}" if parent.iteration else "the submitted program"
    other = escaped("; ".join(("", *parent.edits)), 300)
    return f'<p class="note">Fork of <a href="?run={run}">{run[:8]}</a>, {place}{other}.</p>'


def _fact(fact: str, result: Result) -> str:
    if fact == f"proof {result.claim}":
        tip = escaped(integrity_words(result), 600)
        return f'<b class="level-{result.proof}" title="{tip}">{_claimed(result)}</b>'
    further = ", not proven further" if fact == PROOF_MEANING["E1"] else ""
    if result.competing is not None and fact == others_words(result.competing):
        further = ", under “Proof”"
    return f"<span>{escaped(fact, 300)}{further}</span>"


def _claimed(result: Result) -> str:
    how = "" if result.integrity is None else f" · {INTEGRITY_SHORT[result.integrity]}"
    return f"proof {result.proof}{how}"


def _downloads(result: Result) -> str:
    if not result.run_id or result.outcome == "needs_model":
        return ""
    share = '<button type="button" class="share">Share</button>'
    if result.phase not in ("finished", "failed"):
        return f'<p class="downloads">{share}</p>'
    run = escaped(result.run_id)

    def file(what: str, label: str) -> str:
        return f'<a class="download" href="gradio_api/heal/{run}/{what}" download>{label}</a>'

    of = patched(result)
    named = f" of {escaped(of, 60)}" if of != PASTED_FILENAME else ""
    rejection_suffix = f", {rejection(result)}" if rejection(result) else ""
    parts = (
        _reuse(result, file),
        file("patch", f"Patch{named}{rejection_suffix}") if patch_of(result) else "",
        file("tests", "Save tests") if result.rows else "",
        file("bundle", "Bundle") if result.phase == "finished" else file("log", "Run log"),
        share,
    )
    return f'<p class="downloads">{"".join(parts)}</p>'


def _reuse(result: Result, file: Callable[[str, str], str]) -> str:
    given = result.start.code if result.start else ""
    if result.of_project:
        use = '<button type="button" class="use-files">Use these files</button>'
        return f'{use}{file("healed", "Healed files")}' if result.diff else ""
    code = "this code" if result.best is None else "the best code so far"
    return (
        f'<button type="button" class="use">Use {code}</button>'
        '<button type="button" class="copy">Copy</button>'
        if result.shown_code not in ("", given) else ""
    )


def _printed(result: Result) -> str:
    """Renders the output of a program without tests, about which nothing else is known."""
    ended = result.report.ending if result.report is not None else None
    if result.proof != "E0" or ended is None or not (
        ended.stdout or result.outcome == "crash_stopped"
    ):
        return ""
    return pane("printed", "Output", console(result))


def _notices(result: Result) -> str:
    return "".join(
        sentence(notice.text, "note") for notice in result.notices if notice.level != "info"
    )


def replay_frame(result: Result) -> tuple[str, str, str]:
    """Renders colours, verdict and patch of a run at some event, for a replay."""
    word, facts = headline(result)
    patch = pane("patch", "Patch", diff(result.last_diff)) if result.last_diff else ""
    colours = f'is-{_state(result).replace("_", "-")} at-{result.proof}'
    return colours, _status(result, word, facts, ""), patch


def example(result: Result, lead: str, chip: int) -> str:
    """Renders a recorded run without downloads, with a button to try the example `chip`."""
    word, facts = headline(result)
    note = result.patch.note if result.patch is not None else ""
    facts = tuple(_claimed(result) if one == f"proof {result.claim}" else one for one in facts)
    spans = "".join(f"<span>{escaped(fact, 300)}</span>" for fact in (word.lower(), *facts))
    shown = (
        '<header class="status"><p class="verdict"><b class="mark" aria-hidden="true">○</b>'
        f'<strong>EXAMPLE</strong>{spans}<button type="button" class="try" data-example="{chip}">'
        "Try this</button></p></header>",
        pane("patch", "Patch", diff(result.last_diff), small(note)), matrix(result),
        pane("proof", "Proof", proof(result)),
    )
    return (
        '<div class="bench is-empty" data-phase="empty">'
        f'<p class="lead">{escaped(lead)}</p>{"".join(shown)}</div>'
    )
