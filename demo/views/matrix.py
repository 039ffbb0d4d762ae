"""Tests against judged programs as an HTML table, each cell opening onto what was seen; pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby

from agent.core.domain import Ending, Integrity, Origin, Verdict, VerdictStatus
from agent.report.result import Result
from agent.report.timeline import Column, TestHistory
from agent.report.words import (
    INTEGRITY_MEANING,
    ORIGIN_WORDS,
    STATUS_SYMBOLS,
    ending_words,
    passing_words,
    verdict_words,
)
from demo.views.escape import escaped
from demo.views.findings import verdict_facts
from demo.views.panes import at_hand, fact_list, named, pane

LONGEST_SEEN = 1_500
"""Characters of a value in a cell's details."""

MAX_LISTED = 3
"""Calls that decide nothing and all pass, which are listed unasked; more are one line."""
INTEGRITY_SYMBOLS: dict[Integrity, str] = {"isolated": "", "in-process": "i"}
"""The small letter beside a pass."""


def matrix(result: Result, *, opens: bool = True) -> str:
    """The table, whose cells open where they are to."""
    rows, endings = result.rows, result.endings
    if not rows and not endings:
        return ""
    columns, places = result.columns, at_hand(result) if opens else None
    head = "".join(  # where it is narrow, the number of a try is enough
        f'<th scope="col">{escaped(column.label).replace("try ", "<i>try </i>")}</th>'
        for column in columns
    )
    groups = [
        _origin(origin, [*group], columns, places)
        for origin, group in groupby(rows, key=lambda row: row.origin)
    ]
    if endings:
        groups.insert(0, _group("The program", columns, (_endings(endings, columns, places),)))
    marks = "".join("<col>" for _ in columns)
    return pane(
        "matrix", "Tests",
        '<table class="tests"><caption class="sr">Tests, and what each judged program made of them.'
        " In a row the arrow keys move; Enter opens what was seen.</caption>"
        f'<colgroup><col>{marks}</colgroup><thead><tr><th scope="col">test</th>{head}</tr></thead>'
        f"{''.join(groups)}</table>",
        # Where there are several, each is counted where it is looked at.
        _count(result) if len(columns) < 2 or not opens else "", _legend(result),
    )


def _origin(
    origin: Origin, rows: Sequence[TestHistory], columns: tuple[Column, ...], places: range | None
) -> str:
    """The tests of one origin; where none decides and all pass, folded into one line."""
    group = _group(ORIGIN_WORDS[origin], columns, (_row(row, columns, places) for row in rows))
    passes = all(cell is None or cell.passed for row in rows for cell in row.cells)
    if origin != "adversarial" or not passes or len(rows) <= MAX_LISTED:
        return group
    line = (
        '<button type="button" class="fold" data-key="added" aria-expanded="false">'
        f"{len(rows)} added calls all return</button>"
    )
    return _group(line, columns, ()) + group.replace("<tbody>", "<tbody hidden>", 1)


def _group(title: str, columns: Sequence[Column], rows: Iterable[str]) -> str:
    span = len(columns) + 1
    return (
        f'<tbody><tr class="origin"><th scope="rowgroup" colspan="{span}">{title}</th></tr>'
        f"{''.join(rows)}</tbody>"
    )


def _legend(result: Result) -> str:
    """What marks and small signs say, for those that are used and do not speak for themselves."""
    columns = result.columns
    verdicts = [verdict for column in columns for verdict in column.report.verdicts]
    came_to = {verdict.standing for verdict in verdicts}
    indicators = [
        f"{sign.glyph} {sign.meaning}" for standing, sign in STATUS_SYMBOLS.items()
        if standing in came_to and standing not in ("passed", "failed", "error", "timeout")
    ]
    if any(row.regressed_at(place) for row in result.rows for place in range(len(columns))):
        indicators.append("ringed: passed before")
    if any(cell is None for row in result.rows for cell in row.cells):
        indicators.append("· not run")
    if any(verdict.type_differs for verdict in verdicts):
        indicators.append("≈ equal, of another type")
    believed = {verdict.integrity for verdict in verdicts if verdict.passed}
    indicators += [
        f"{sign} {integrity}: {INTEGRITY_MEANING[integrity]}"
        for integrity, sign in INTEGRITY_SYMBOLS.items() if sign and integrity in believed
    ]
    return f'<p class="legend">{"; ".join(indicators)}</p>' if indicators else ""


def _count(result: Result) -> str:
    if not result.columns or not result.columns[-1].report.verdicts:
        return ""
    return f" <small>{passing_words(result.columns[-1].report)}</small>"


def _row(row: TestHistory, columns: tuple[Column, ...], places: range | None) -> str:
    from agent.target.test_analysis.held_out import text_of_test  # the session has imported it

    code = text_of_test(row.code, row.name.partition("[")[0]).strip("\n")
    source = f'<pre class="source" tabindex="0">{escaped(code)}</pre>' if code else ""
    latest = row.latest
    call = latest.call if latest is not None else ""
    return _line(
        f"{row.origin}-{row.name}", named(row.name if "\n" in code or not code else code, call),
        [_cell(cell, row.regressed_at(place)) for place, cell in enumerate(row.cells)],
        None if places is None else [
            "" if cell is None or place not in places else _verdict(cell, columns[place])
            for place, cell in enumerate(row.cells)
        ],
        source,
    )


def _line(
    key: str, name: str, faces: list[tuple[str, str]], seen: list[str] | None, source: str = ""
) -> str:
    """A row of the table, and under it what its cells open onto, where they do."""
    cells = "".join(
        f'<td><button type="button" class="cell {kind}" data-cell="{place}" tabindex="-1" '
        f'aria-expanded="false">{face}</button></td>' if seen and seen[place] else
        f'<td><span class="cell {kind}">{face}</span></td>'
        for place, (kind, face) in enumerate(faces)
    )
    row = (
        f'<tr class="row" data-row="{escaped(key, 200)}"><th scope="row">{escaped(name, 200)}</th>'
        f"{cells}</tr>"
    )
    if seen is None:
        return row
    opened = "".join(
        f'<div class="opened" data-seen="{place}" hidden>{one}</div>'
        for place, one in enumerate(seen) if one
    )
    return (
        f'{row}<tr class="inside" hidden><td colspan="{len(faces) + 1}">{source}{opened}</td></tr>'
    )


def _cell(verdict: Verdict | None, regressed: bool) -> tuple[str, str]:
    """How a cell is coloured, and its face."""
    if verdict is None:
        return "none", '·<i class="sr">not run</i>'
    mark, _, word = STATUS_SYMBOLS[verdict.standing]
    if regressed:
        word += ", passed before"
    if verdict.type_differs:
        word += ", of another type"
    sign = ""
    if verdict.passed and verdict.integrity is not None:
        word += f"; {verdict.integrity}"
        sign = INTEGRITY_SYMBOLS[verdict.integrity]
    marks = "".join(
        f'<sup aria-hidden="true">{one}</sup>'
        for one in ("≈" if verdict.type_differs else "", sign) if one
    )
    slug, ring = verdict.standing.replace(" ", "-"), " ring" if regressed else ""
    face = f'<b aria-hidden="true">{mark}</b>{marks}<i class="sr">{word}</i>'
    return f"{slug}{ring}", face


def _verdict(verdict: Verdict, column: Column) -> str:
    mark, _, word = STATUS_SYMBOLS[verdict.standing]
    notes = verdict_words(verdict)
    if verdict.standing in ("not believed", "set aside", "vacuous"):
        word = escaped(notes.pop(0), 600)
    if verdict.passed and verdict.integrity == "isolated":
        notes.append(verdict.integrity)
    if verdict.standing == "error" and column.diagnosis is not None and column.diagnosis.blamed:
        notes.append("its lines are marked under “Diagnosis”")
    slug = verdict.standing.replace(" ", "-")
    facts = fact_list(("call", verdict.call), *verdict_facts(verdict), limit=LONGEST_SEEN)
    return (
        f'<div class="seen {slug}"><p><b>{mark}</b> {escaped(column.label)}: {word}'
        f"<small>{escaped('; '.join(notes), 600)}</small></p>{facts}</div>"
    )


def _endings(
    endings: tuple[Ending | None, ...], columns: tuple[Column, ...], places: range | None
) -> str:
    """The program as a script; what it printed stands in the console."""
    faces, seen = [], []
    for ending, column in zip(endings, columns, strict=True):
        if ending is None:
            faces.append(_cell(None, regressed=False))
            seen.append("")
            continue
        status: VerdictStatus = (
            "timeout" if ending.kind == "timeout" else "error" if ending.crashed else "passed"
        )
        mark, _, word = STATUS_SYMBOLS[status]
        faces.append((status, f'<b aria-hidden="true">{mark}</b><i class="sr">{word}</i>'))
        seen.append(
            f'<div class="seen {status}"><p><b>{mark}</b> {escaped(column.label)}: '
            f"{escaped(ending_words(ending), 600)}</p></div>"
        )
    return _line("program", "runs to its end", faces, None if places is None else seen)
