"""Renders a table of tests and tested programs as HTML, with details for each cell. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import groupby

from agent.core.domain import Ending, Integrity, Origin, Verdict, VerdictStatus
from agent.report.result import Result
from agent.report.timeline import JudgedProgram, TestHistory
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
from demo.views.panes import fact_list, named, pane, places_with_details

LONGEST_VALUE = 1_500
"""Maximum shown characters of a value in a cell's details."""
MAX_LISTED = 3
"""Maximum number of listed adversarial calls that all pass; more are folded into one line."""
INTEGRITY_SYMBOLS: dict[Integrity, str] = {"isolated": "", "in-process": "i"}
"""The small letter next to a pass."""


def matrix(result: Result, *, opens: bool = True) -> str:
    """Renders the table; its cells can be opened if `opens` is set."""
    rows, endings = result.rows, result.endings
    if not rows and not endings:
        return ""
    columns, places = result.tested_programs, places_with_details(result) if opens else None
    # The style sheet hides the word before a number if the table is narrow.
    labels = [re.sub(r"^(\w+ )(?=\d)", r"<i>\1</i>", escaped(one.label)) for one in columns]
    head = "".join(f'<th scope="col">{label}</th>' for label in labels)
    groups = [
        _origin(origin, [*group], columns, places)
        for origin, group in groupby(rows, key=lambda row: row.origin)
    ]
    if endings:
        groups.insert(0, _group("The program", columns, (_endings(endings, columns, places),)))
    marks = "".join("<col>" for _ in columns)
    return pane(
        "matrix", "Tests",
        '<table class="tests"><caption class="sr">The result of each test for each program.'
        " Arrow keys move in a row; Enter opens the details.</caption>"
        f'<colgroup><col>{marks}</colgroup><thead><tr><th scope="col">test</th>{head}</tr></thead>'
        f"{''.join(groups)}</table>",
        # With several programs, the count is shown at the selected one.
        _count(result) if len(columns) < 2 or not opens else "", _legend(result),
    )


def _origin(
    origin: Origin, rows: Sequence[TestHistory], columns: tuple[JudgedProgram, ...],
    places: range | None,
) -> str:
    """Renders the tests of one origin; many passing adversarial calls are folded."""
    group = _group(ORIGIN_WORDS[origin], columns, (_row(row, columns, places) for row in rows))
    passes = all(cell is None or cell.passed for row in rows for cell in row.cells)
    if origin != "adversarial" or not passes or len(rows) <= MAX_LISTED:
        return group
    line = (
        '<button type="button" class="fold" data-key="added" aria-expanded="false">'
        f"{len(rows)} added calls, all without an error</button>"
    )
    return _group(line, columns, ()) + group.replace("<tbody>", "<tbody hidden>", 1)


def _group(title: str, columns: Sequence[JudgedProgram], rows: Iterable[str]) -> str:
    span = len(columns) + 1
    return (
        f'<tbody><tr class="origin"><th scope="rowgroup" colspan="{span}">{title}</th></tr>'
        f"{''.join(rows)}</tbody>"
    )


def _legend(result: Result) -> str:
    columns = result.tested_programs
    verdicts = [verdict for column in columns for verdict in column.report.verdicts]
    statuses = {verdict.evidence_status for verdict in verdicts}
    indicators = [
        f"{symbol.glyph} {symbol.meaning}" for status, symbol in STATUS_SYMBOLS.items()
        if status in statuses and status not in ("passed", "failed", "error", "timeout")
    ]
    if any(row.regressed_at(place) for row in result.rows for place in range(len(columns))):
        indicators.append("with a ring: passed before")
    if any(cell is None for row in result.rows for cell in row.cells):
        indicators.append("· not run")
    if any(verdict.type_differs for verdict in verdicts):
        indicators.append("≈ equal, but of another type")
    integrities = {verdict.integrity for verdict in verdicts if verdict.passed}
    indicators += [
        f"{symbol} {integrity}: {INTEGRITY_MEANING[integrity]}"
        for integrity, symbol in INTEGRITY_SYMBOLS.items() if symbol and integrity in integrities
    ]
    return f'<p class="legend">{"; ".join(indicators)}</p>' if indicators else ""


def _count(result: Result) -> str:
    if not result.tested_programs or not result.tested_programs[-1].report.verdicts:
        return ""
    return f" <small>{passing_words(result.tested_programs[-1].report)}</small>"


def _row(row: TestHistory, columns: tuple[JudgedProgram, ...], places: range | None) -> str:
    from agent.target.test_analysis.held_out import text_of_test  # already imported by the session

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
    key: str, name: str, contents: list[tuple[str, str]], details: list[str] | None,
    source: str = "",
) -> str:
    cells = "".join(
        f'<td><button type="button" class="cell {kind}" data-cell="{place}" tabindex="-1" '
        f'aria-expanded="false">{content}</button></td>' if details and details[place] else
        f'<td><span class="cell {kind}">{content}</span></td>'
        for place, (kind, content) in enumerate(contents)
    )
    row = (
        f'<tr class="row" data-row="{escaped(key, 200)}"><th scope="row">{escaped(name, 200)}</th>'
        f"{cells}</tr>"
    )
    if details is None:
        return row
    opened = "".join(
        f'<div class="opened" data-seen="{place}" hidden>{one}</div>'
        for place, one in enumerate(details) if one
    )
    span = len(contents) + 1
    return f'{row}<tr class="inside" hidden><td colspan="{span}">{source}{opened}</td></tr>'


def _cell(verdict: Verdict | None, regressed: bool) -> tuple[str, str]:
    if verdict is None:
        return "none", '·<i class="sr">not run</i>'
    mark, _, word = STATUS_SYMBOLS[verdict.evidence_status]
    if regressed:
        word += ", passed before"
    if verdict.type_differs:
        word += ", of another type"
    symbol = ""
    if verdict.passed and verdict.integrity is not None:
        word += f"; {verdict.integrity}"
        symbol = INTEGRITY_SYMBOLS[verdict.integrity]
    marks = "".join(
        f'<sup aria-hidden="true">{one}</sup>'
        for one in ("≈" if verdict.type_differs else "", symbol) if one
    )
    slug, ring = verdict.evidence_status.replace(" ", "-"), " ring" if regressed else ""
    return f"{slug}{ring}", f'<b aria-hidden="true">{mark}</b>{marks}<i class="sr">{word}</i>'


def _verdict(verdict: Verdict, column: JudgedProgram) -> str:
    mark, _, word = STATUS_SYMBOLS[verdict.evidence_status]
    notes = verdict_words(verdict)
    if verdict.evidence_status in ("not believed", "excluded", "vacuous"):
        word = escaped(notes.pop(0), 600)
    if verdict.passed and verdict.integrity == "isolated":
        notes.append(verdict.integrity)
    found = column.diagnosis
    if verdict.evidence_status == "error" and found is not None and found.suspicious_lines:
        notes.append("see the marked lines under “Diagnosis”")
    slug = verdict.evidence_status.replace(" ", "-")
    facts = fact_list(("call", verdict.call), *verdict_facts(verdict), limit=LONGEST_VALUE)
    return (
        f'<div class="seen {slug}"><p><b>{mark}</b> {escaped(column.label)}: {word}'
        f"<small>{escaped('; '.join(notes), 600)}</small></p>{facts}</div>"
    )


def _endings(
    endings: tuple[Ending | None, ...], columns: tuple[JudgedProgram, ...], places: range | None
) -> str:
    contents, details = [], []
    for ending, column in zip(endings, columns, strict=True):
        if ending is None:
            contents.append(_cell(None, regressed=False))
            details.append("")
            continue
        status: VerdictStatus = (
            "timeout" if ending.kind == "timeout" else "error" if ending.crashed else "passed"
        )
        mark, _, word = STATUS_SYMBOLS[status]
        contents.append((status, f'<b aria-hidden="true">{mark}</b><i class="sr">{word}</i>'))
        details.append(
            f'<div class="seen {status}"><p><b>{mark}</b> {escaped(column.label)}: '
            f"{escaped(ending_words(ending), 600)}</p></div>"
        )
    return _line("program", "runs to its end", contents, None if places is None else details)
