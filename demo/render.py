"""The workbench of a run as HTML, from its result; pure.

Everything that code, a test or a model may have written passes through `escaped`. Nothing here is
a template: the page inserts the finished string as it is.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby

from agent.core.domain import (
    PROOF_ORDER,
    Behaviour,
    Diagnosis,
    Ending,
    Evidence,
    Integrity,
    Report,
    Rivals,
    Standing,
    Verdict,
    tally,
)
from agent.core.events import ModelCalled, PartialFound, Waiting
from agent.log.result import Result
from agent.log.timeline import Column, Row, TimelineStep
from agent.log.words import (
    INTEGRITY_MEANING,
    ORIGIN_WORDS,
    PROOF_MEANING,
    STANDING_SIGNS,
    STEP_WORDS,
    Line,
    category_words,
    cost_words,
    doubt_words,
    ending_words,
    event_lines,
    headline,
    model_words,
    partial_words,
    verdict_words,
)
from agent.repair.ranking.question import choice_in_words
from demo.escape import escaped, sentence
from demo.patch import DiffLine, diff_lines
from demo.plans import plan_html, roles_html

LONGEST_DIFF = 600
"""Lines of a diff that are shown; the patch holds all of them."""

MOST_BESIDE = 3
"""Columns that fit beside the name of a test."""
INTEGRITY_SIGNS: dict[Integrity, str] = {"outside": "", "observed": "o", "in-process": "i"}
"""The small letter beside a pass."""
TONE_MARKS = {"plain": "·", "good": "✓", "bad": "✗", "warning": "!"}
STATE_MARKS: dict[str, str] = {
    "healed": "✓", "healthy": "✓", "crash_stopped": "!", "unresolved": "✗", "not_fixable": "✗",
    "model_failed": "✗", "budget": "⏱", "cancelled": "■", "failed": "!", "waiting": "?",
    "awaiting_review": "?", "running": "●", "empty": "○", "finished": "●",
}


def workbench(result: Result) -> str:
    """The whole right side of the page."""
    word, facts = headline(result)
    announced = escaped(f"{word.capitalize()}. {', '.join(facts)}")
    rivals = _rivals(result.rivals) if result.rivals is not None else ""
    open_ = result.fitting > 1
    going = result.phase == "running"
    diagnosed = _diagnosis(result.diagnosis) if result.diagnosis is not None else ""
    parts = (
        _status(result, word, facts, _downloads(result)), rivals if open_ else "", _notices(result),
        *((_timeline(result), _matrix(result), _patch(result)) if going else
          (_patch(result), _smallest(result), _matrix(result), _proof(result))),
        "" if open_ else rivals, diagnosed, _learned(result), _program(result), _calls(result),
        _where(result) if going else _steps(result),
    )
    slug = "open" if open_ else _state(result).replace("_", "-")
    level = f" at-{result.proof}" if result.proof is not None and not open_ else ""
    return (
        f'<div class="bench is-{slug}{level}" data-phase="{result.phase}" '
        f'data-announce="{announced}">'
        f"{''.join(parts)}</div>"
    )


STARTING = (
    '<div class="bench is-running" data-phase="running" data-announce="Running">'
    '<header class="status"><p class="verdict"><b class="mark" aria-hidden="true">●</b>'
    "<strong>RUNNING</strong><span>starting</span></p></header></div>"
)
"""The workbench between the click and the first event."""
MASTHEAD = (
    '<div class="masthead"><h1>Self-Healing Code Agent</h1>'
    "<p>Runs your Python in a jail, finds what is broken, repairs it and proves the repair.</p>"
    '<button type="button" id="theme-toggle">Light or dark</button>'
    '<div id="live" class="sr" aria-live="polite"></div></div>'
)
KEYS = '<p class="hint">Ctrl+Enter heals. Esc and then Tab leaves an editor.</p>'
"""How to work without a mouse."""
EXAMPLES_TITLE = "<h2>More examples</h2><p>Choose one: it is filled in and healed at once.</p>"


def _state(result: Result) -> str:
    """How a run stands: its outcome, or its phase until it has one."""
    return result.outcome or result.phase


def _status(result: Result, word: str, facts: tuple[str, ...], links: str) -> str:
    mark = "?" if result.fitting > 1 else STATE_MARKS[_state(result)]
    rest = "".join(_fact(fact, result) for fact in facts)
    if result.phase == "running":
        rest += f'<span class="clock" data-elapsed="{result.seconds:.1f}"></span>'
    line = f'<p class="reason">{escaped(result.reason)}</p>' if result.reason else ""
    return (
        f'<header class="status"><p class="verdict"><b class="mark" aria-hidden="true">{mark}</b>'
        f"<strong>{escaped(word)}</strong>{rest}</p>{line}{links}</header>"
    )


def _fact(fact: str, result: Result) -> str:
    """A fact beside the verdict; that of the proof in the colour of its level."""
    if fact == f"proof {result.claim}":
        return f'<b class="level-{result.proof}">{escaped(fact, 300)}</b>'
    return f"<span>{escaped(fact, 300)}</span>"


def _where(result: Result) -> str:
    start = result.start
    if start is None:
        return ""
    roles = roles_html(start.roles, key="who-run")
    return plan_html(start.provider, start.provider_why, start.jail, roles)


def _downloads(result: Result) -> str:
    if result.phase not in ("finished", "failed"):
        return ""
    run = escaped(result.run_id)
    patch = (
        f'<a class="download" href="gradio_api/heal/{run}/patch" download>Download patch</a>'
        if patch_of(result) else ""
    )
    log = f'<a class="download" href="gradio_api/heal/{run}/log" download>Download run log</a>'
    copy = (
        '<button type="button" class="copy">Copy the program</button>'
        '<button type="button" class="use">Use this code</button>'
        if result.code else ""
    )
    return f'<p class="downloads">{copy}{patch}{log}</p>'


def patch_of(result: Result) -> str:
    """The patch a reader may take along: a repair, or else the best partial one."""
    partial = result.partial.diff if result.partial is not None else ""
    return result.last_diff or partial


def _notices(result: Result) -> str:
    return "".join(
        sentence(notice.text, "note") for notice in result.notices if notice.level != "info"
    )


def _pane(name: str, title: str, body: str, extra: str = "") -> str:
    return (
        f'<section class="pane {name}" aria-label="{title}"><h2>{title}{extra}</h2>'
        f'<div class="scroll" data-key="{name}" tabindex="0">{body}</div></section>'
    )


def _timeline(result: Result) -> str:
    items = _moments(result)
    return _pane("timeline", "Timeline", f"<ol>{items}</ol>" if items else "<p>Starting…</p>")


def _steps(result: Result) -> str:
    """The timeline of a run that goes on no more, folded."""
    items = _moments(result)
    count = f" <small>{len(result.timeline)} steps</small>"
    return (
        '<section class="program timeline-folded"><details data-key="steps">'
        f"<summary>Timeline{count}</summary>{_where(result)}<ol>{items}</ol></details></section>"
    ) if items else ""


def _moments(result: Result) -> str:
    judged = result.columns[-1].report if result.columns else None
    return "".join(_step(one, one is result.current, judged) for one in result.timeline)


def _step(step: TimelineStep, now: bool, judged: Report | None) -> str:
    took = "" if step.wall_ms is None else _duration(step.wall_ms)
    lines = [line for event in step.events for line in event_lines(event, judged)]
    bad = bool(lines) and lines[-1].tone == "bad"
    ended = ("✓", "done") if step.wall_ms is not None else ("○", "left")
    mark, state = ("●", "now") if now else ("!", "bad") if bad else ended
    turn = f' <small class="turn">{step.iteration}</small>' if step.iteration else ""
    running = '<span class="sr">running</span>' if now else ""
    return (
        f'<li class="moment {state}"><b class="dot" aria-hidden="true">{mark}</b>'
        f'<div><p>{STEP_WORDS[step.step]}{turn}{running}<time>{took}</time></p>'
        f"<ul>{''.join(map(_line, lines))}</ul></div></li>"
    )


def _line(line: Line) -> str:
    return (
        f'<li class="tone-{line.tone}"><b aria-hidden="true">{TONE_MARKS[line.tone]}</b> '
        f"{escaped(line.text, 600)}</li>"
    )


def _duration(wall_ms: float) -> str:
    return f"{wall_ms:.0f} ms" if wall_ms < 1_000 else f"{wall_ms / 1_000:.1f} s"


def _matrix(result: Result) -> str:
    rows, endings = result.rows, result.endings
    if not rows and not endings:
        return ""
    columns = result.columns
    head = "".join(f"<span>{_label(column.label)}</span>" for column in columns)
    body = "".join(
        f'<h3>{ORIGIN_WORDS[origin]}</h3>{"".join(_row(row, columns) for row in group)}'
        for origin, group in groupby(rows, key=lambda row: row.origin)
    )
    if endings:
        body = _endings(endings, columns) + body
    style = f'style="--columns:{max(1, len(columns))}"'
    kind = "table many" if len(columns) > MOST_BESIDE else "table"
    return _pane(
        "matrix", "Tests",
        f'<div class="{kind}" {style}><div class="line head"><span>test</span>{head}</div>'
        f"{body}</div>{_legend(columns)}",
        _count(result),
    )


def _label(label: str) -> str:
    """A column's label; where it is narrow, the number of a try is enough."""
    return escaped(label).replace("try ", "<i>try </i>")


def _legend(columns: tuple[Column, ...]) -> str:
    """What marks and small signs say, for those that are used and do not speak for themselves."""
    verdicts = [verdict for column in columns for verdict in column.report.verdicts]
    came_to = {verdict.standing for verdict in verdicts}
    signs = [
        f"{sign.glyph} {sign.meaning}" for standing, sign in STANDING_SIGNS.items()
        if standing in came_to and standing not in ("passed", "failed", "error", "timeout")
    ]
    if any(verdict.type_differs for verdict in verdicts):
        signs.append("≈ equal, of another type")
    believed = {verdict.integrity for verdict in verdicts if verdict.passed}
    signs += [
        f"{sign} {integrity}: {INTEGRITY_MEANING[integrity]}"
        for integrity, sign in INTEGRITY_SIGNS.items() if sign and integrity in believed
    ]
    return f'<p class="legend">{"; ".join(signs)}</p>' if signs else ""


def _count(result: Result) -> str:
    if not result.columns or not result.columns[-1].report.verdicts:
        return ""
    verdicts = result.columns[-1].report.verdicts
    return f" <small>{tally(verdicts)}</small>"


def _row(row: Row, columns: tuple[Column, ...]) -> str:
    cells = "".join(
        _cell(cell, row.regressed_at(index)) for index, cell in enumerate(row.cells)
    )
    key = escaped(f"row-{row.origin}-{row.name}", 200)
    details = "".join(
        _verdict(cell, column.label)
        for cell, column in zip(row.cells, columns, strict=True)
        if cell is not None
    )
    source = f'<pre class="source">{escaped(row.code)}</pre>' if row.code else ""
    latest = row.latest
    alone = row.code.strip() if row.code and "\n" not in row.code.strip() else ""
    shown = (latest.call if latest is not None else "") or alone or row.name
    shown = shown.removeprefix("assert ")
    return (
        f'<details class="row" data-key="{key}"><summary class="line">'
        f'<span class="name">{escaped(shown, 200)}</span>{cells}</summary>'
        f'<div class="inside">{source}{details}</div></details>'
    )


def _cell(verdict: Verdict | None, regressed: bool) -> str:
    if verdict is None:
        return '<span class="cell none" title="not run">·<i class="sr">not run</i></span>'
    mark, _, word = STANDING_SIGNS[verdict.standing]
    if regressed:
        word += ", passed before"
    if verdict.type_differs:
        word += ", of another type"
    sign = ""
    if verdict.passed and verdict.integrity is not None:
        word += f"; {verdict.integrity}"
        sign = INTEGRITY_SIGNS[verdict.integrity]
    marks = "".join(
        f"<sup>{one}</sup>" for one in ("≈" if verdict.type_differs else "", sign) if one
    )
    ring = " ring" if regressed else ""
    return (
        f'<span class="cell {_class(verdict)}{ring}" title="{word}">'
        f'{mark}{marks}<i class="sr">{word}</i></span>'
    )


def _class(verdict: Verdict) -> str:
    """The name by which the page colours a verdict."""
    return verdict.standing.replace(" ", "-")


def _verdict(verdict: Verdict, label: str) -> str:
    mark, _, word = STANDING_SIGNS[verdict.standing]
    notes = verdict_words(verdict)
    if verdict.standing in ("not believed", "set aside", "vacuous"):
        word = escaped(notes.pop(0), 600)
    if verdict.passed and verdict.integrity == "outside":
        notes.append(verdict.integrity)
    facts = _facts(
        ("call", verdict.call), ("expected", verdict.expected), ("got", verdict.got),
        ("message", "" if verdict.doubt else verdict.message),
    )
    return (
        f'<div class="seen {_class(verdict)}"><p><b>{mark}</b> {escaped(label)}: {word}'
        f"<small>{escaped('; '.join(notes), 600)}</small></p>{facts}</div>"
    )


def _endings(endings: tuple[Ending | None, ...], columns: tuple[Column, ...]) -> str:
    cells, told_of = [], []
    for ending, column in zip(endings, columns, strict=True):
        if ending is None:
            cells.append(_cell(None, False))
            continue
        status: Standing = (
            "timeout" if ending.kind == "timeout" else "error" if ending.crashed else "passed"
        )
        mark, _, word = STANDING_SIGNS[status]
        cells.append(f'<span class="cell {status}">{mark}<i class="sr">{word}</i></span>')
        output = ending.traceback or ending.stderr
        trace = f"<pre>{escaped(output)}</pre>" if output and ending.crashed else ""
        told_of.append(
            f'<div class="seen {status}"><p><b>{mark}</b> {escaped(column.label)}: '
            f"{escaped(ending_words(ending), 600)}</p>{trace}</div>"
        )
    return (
        '<h3>The program</h3><details class="row" data-key="row-program">'
        f'<summary class="line"><span class="name">runs to its end</span>{"".join(cells)}</summary>'
        f'<div class="inside">{"".join(told_of)}</div></details>'
    )


def _patch(result: Result) -> str:
    if result.last_diff:
        note = result.patch.note if result.patch is not None else ""
        title = "Patch" if result.phase == "finished" else "Patch under test"
        return _pane("patch", title, diff(result.last_diff), _small(note))
    if result.partial is not None:
        return _pane("patch partial", "Best partial patch", _partial(result.partial),
                     ' <small class="warn">not a fix</small>')
    return ""


def question(rivals: Rivals | None) -> str:
    """What is asked above the buttons that answer it."""
    if rivals is None:
        return ""
    return (
        f'<div class="question"><h2>Which is right?</h2><p>More than one repair fits your tests. '
        f"What should <code>{escaped(rivals.call, 400)}</code> give? The answer becomes a test, "
        "and the program is healed again with it.</p></div>"
    )


def choice(labels: str, gives: str) -> str:
    """The face of a button that answers a question; plain text, cut where it is long."""
    return choice_in_words(labels, gives if len(gives) <= 60 else f"{gives[:59]}…")


def _rivals(rivals: Rivals) -> str:
    shown = "".join(map(_rival, rivals.behaviours))
    return _pane(
        "rivals", "Behaviours that fit the tests",
        f'<p class="call"><code>{escaped(rivals.call, 400)}</code></p>{shown}',
        f" <small>{len(rivals.behaviours)}; A is the patch</small>",
    )


def _rival(one: Behaviour) -> str:
    raises = one.gives.startswith("raises ")
    gives = escaped(one.gives.removeprefix("raises "), 400)
    return (
        f'<div class="rival"><p><b>{escaped(one.label, 10)}</b> {"raises" if raises else "gives"} '
        f"<code>{gives}</code>{_small(one.note)}</p>{diff(one.diff)}</div>"
    )


def _small(text: str) -> str:
    return f" <small>{escaped(text, 200)}</small>" if text else ""


def _partial(partial: PartialFound) -> str:
    return f'<p class="note">{escaped(partial_words(partial))}</p>{diff(partial.diff)}'


def diff(text: str) -> str:
    """A unified diff with line numbers, and marks on the words that changed."""
    lines = diff_lines(text)
    body = "".join(_diff_line(line) for line in lines[:LONGEST_DIFF] if line.kind != "file")
    more = len(lines) - LONGEST_DIFF
    rest = f'<p class="note">{more:,} more lines: download the patch.</p>' if more > 0 else ""
    return f'<div class="diff">{body}</div>{rest}'


_SIGNS = {"gone": ("\u2212", "removed"), "came": ("+", "added")}


def _diff_line(line: DiffLine) -> str:
    sign, said = _SIGNS.get(line.kind, ("", ""))
    words = f'<i class="sr">{said}</i>' if said else ""
    content = "".join(
        f"<mark>{escaped(piece.text)}</mark>" if piece.changed else escaped(piece.text)
        for piece in line.pieces
    )
    old = "" if line.old is None else str(line.old)
    new = "" if line.new is None else str(line.new)
    return (
        f'<div class="{line.kind}"><span class="number">{old}</span>'
        f'<span class="number">{new}</span><b>{sign}{words}</b><code>{content}</code></div>'
    )


def _smallest(result: Result) -> str:
    verdict = result.smallest_failure
    if verdict is None or result.outcome in (None, "healed", "healthy"):
        return ""
    facts = _facts(
        ("expected", verdict.expected), ("got", verdict.got), ("message", verdict.message)
    )
    return _pane(
        "smallest", "The smallest failing test",
        f'<p class="call"><code>{escaped(verdict.call or verdict.name)}</code></p>{facts}',
    )


def _facts(*pairs: tuple[str, str]) -> str:
    shown = "".join(
        f"<dt>{name}</dt><dd>{escaped(value)}</dd>" for name, value in pairs if value
    )
    return f"<dl>{shown}</dl>" if shown else ""


def _diagnosis(diagnosis: Diagnosis) -> str:
    evidence = "".join(f"<li>{escaped(item, 600)}</li>" for item in diagnosis.evidence)
    blamed = "".join(
        f'<div class="blamed"><span class="number">{line.line}</span>'
        f"<code>{escaped(line.text.strip(), 300)}</code>"
        f'<meter min="0" max="1" value="{line.suspicion:.2f}" '
        f'aria-label="suspicion of line {line.line}">{line.suspicion:.0%}</meter>'
        f"{_values(line.values)}</div>"
        for line in diagnosis.blamed
    )
    fixable = "" if diagnosis.fixable else '<p class="note">No edit of this program could help.</p>'
    return _pane(
        "diagnosis", "Diagnosis",
        f'<p class="cause">{escaped(diagnosis.cause, 1_000)}</p>{fixable}'
        f"{f'<ul>{evidence}</ul>' if evidence else ''}{blamed}",
        f" <small>{category_words(diagnosis)}, "
        f"{diagnosis.confidence:.0%} sure</small>",
    )


def _values(values: Iterable[tuple[str, str]]) -> str:
    shown = "".join(
        f"<span><i>{escaped(name, 80)}</i> = {escaped(value, 160)}</span>" for name, value in values
    )
    return f'<p class="values">{shown}</p>' if shown else ""


def _proof(result: Result) -> str:
    if result.proof is None:
        return ""
    reached = PROOF_ORDER.index(result.proof)
    steps = "".join(
        f'<li class="{"reached" if index <= reached else "open"}">'
        f'<b>{step}</b><span>{PROOF_MEANING[step]}</span></li>'
        for index, step in enumerate(PROOF_ORDER)
        if index > 0 or reached == 0
    )
    why = f'<p class="note">{escaped(result.proof_why, 1_000)}</p>' if result.proof_why else ""
    seen = _evidence(result.evidence) if result.evidence is not None else ""
    shown = f" <small>{escaped(result.claim, 300)}</small>"
    return _pane("proof", "Proof", f"{why}<ol>{steps}</ol>{seen}", shown)


def _evidence(seen: Evidence) -> str:
    """What was looked at for a proof above E2, in figures, and what speaks against it."""
    figures = _facts(
        ("changed inputs", f"{seen.probes:,} raise nothing new"),
        ("siblings", f"{seen.siblings} tried in its place" if seen.siblings else ""),
        ("mutants", f"{seen.killed} of {seen.mutants} noticed" if seen.mutants else ""),
        ("equivalent", f"{seen.equivalent} left out" if seen.equivalent else ""),
        ("re-runs", f"{seen.reruns} with other seeds" if seen.reruns else ""),
    )
    listed = "".join(f"<li>{escaped(line, 400)}</li>" for line in doubt_words(seen))
    return figures + (f'<ul class="against">{listed}</ul>' if listed else "")


def _learned(result: Result) -> str:
    items = [
        f"<li>{escaped(lesson.text, 1_000)}"
        f"{' <small>the edit was stored</small>' if lesson.stored_fix else ''}</li>"
        for lesson in result.learned
    ]
    if result.recalled is not None and result.recalled.replayed:
        items.insert(0, f"<li>{escaped(result.recalled.note, 600)}</li>")
    if not items:
        return ""
    return _pane("learned", "Learning log", f"<ul>{''.join(items)}</ul>")


def _calls(result: Result) -> str:
    """What models were asked, what came of it, and what it cost so far."""
    if not result.models:
        return ""
    lines = "".join(
        f'<li class="{"" if isinstance(one, ModelCalled) else "tone-warning"}">'
        f"{escaped(model_words(one), 600)}</li>"
        for one in result.models
    )
    spent = f"<small>{escaped(cost_words(result))}</small>"
    return (
        '<section class="program"><details data-key="calls">'
        f"<summary>Model calls {spent}</summary><ul>{lines}</ul></details></section>"
    )


def paused(waiting: Waiting, *, own: bool) -> str:
    """What a run waits for that has reached a cap or lacks a key, above its buttons."""
    title = "A cap is reached." if waiting.needs == "budget" else "A key is needed."
    if not own:
        how = "Only whoever started this run can let it go on."
    elif waiting.needs == "budget":
        how = "Nothing more is spent unless you add to it."
    else:
        how = "Give it under “Models and keys”, then let the run go on."
    return (
        f'<div class="question"><h2>{title}</h2><p>{escaped(waiting.question)}</p>'
        f"<p>{how}</p></div>"
    )


def asked(question: str) -> str:
    """What a review asks, above its buttons."""
    return f'<div class="question"><p>{escaped(question)}</p></div>'


def _program(result: Result) -> str:
    if result.phase != "finished":
        return ""
    parts = []
    if result.code:
        drafted = result.start is not None and not result.start.code
        title = "The program with the patch" if result.diff else "The program"
        shown = " open" if drafted and not result.diff else ""
        parts.append(
            f'<details data-key="healed-code" class="whole"{shown}><summary>{title}</summary>'
            f"<pre>{escaped(result.code, 60_000)}</pre></details>"
        )
    if result.stdout:
        parts.append(
            '<details data-key="stdout"><summary>What it prints</summary>'
            f"<pre>{escaped(result.stdout)}</pre></details>"
        )
    return f'<section class="program">{"".join(parts)}</section>' if parts else ""


def example(result: Result, lead: str) -> str:
    """A run that has ended, shown where none is begun: nothing of it can be taken along."""
    word, facts = headline(result)
    shown = (
        _status(result, word, facts, ""), _patch(result), _matrix(result), _proof(result),
    )
    return (
        f'<div class="bench is-empty is-healed at-{result.proof}" data-phase="empty">'
        f'<p class="lead">{escaped(lead)}</p>{"".join(shown)}</div>'
    )
