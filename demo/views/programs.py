"""Renders the tested programs of a run as HTML: changes, diagnosis and output. Pure functions.

The page contains all programs and shows one of them, so that switching needs no request. A program
is identified by its place: its index in `Result.tested_programs`. The parts of the page about it
have this place in `data-at`; `page.js` shows and hides them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from math import ceil

from agent.core.domain import Diagnosis, SuspiciousLine
from agent.report.iterations import program_diff
from agent.report.result import Result
from agent.report.timeline import JudgedProgram
from agent.report.words import category_words, partial_facts, passing_words
from demo.views.diff import diff
from demo.views.escape import LONGEST_TEXT, escaped, prose
from demo.views.panes import fact_list, initially_shown, places_with_details

LONGEST_PROGRAM = 60_000
AROUND = 4
"""Lines shown around a suspicious line of a long program."""
SHORT = 40
"""Maximum lines of a program that is shown completely."""
MAX_COMPARED = 8
"""Number of newest programs that can be compared with each other."""


def text_of(result: Result, place: int) -> str:
    """Returns the text of a tested program; empty if the log does not contain it."""
    solution = result.tested_programs[place].solution
    return "" if solution is None else solution.text


def _each(result: Result, show: Callable[[int], str]) -> str:
    first = initially_shown(result)
    return "".join(
        f'<div data-at="{place}"{"" if place == first else " hidden"}>{show(place)}</div>'
        for place in places_with_details(result)
    )


def for_initially_shown(result: Result, shown: str) -> str:
    """Renders a part that exists only for the initially shown program; the others refer to it."""
    if len(result.tested_programs) < 2:
        return shown
    first = initially_shown(result)
    label = escaped(result.tested_programs[first].label)
    note = f'<p class="note">This is available only for “{label}”.</p>'
    return _each(result, lambda place: shown if place == first else note)


def scrubber(result: Result, *, own: bool) -> str:
    """Renders the slider that selects a program; empty if there is only one.

    Args:
        own: Whether the viewer started the run, and so may fork it.
    """
    tested, first = result.tested_programs, initially_shown(result)
    if len(tested) < 2:
        return ""
    places = places_with_details(result)
    names = "".join(
        f'<option value="{place}">{escaped(tested[place].label)}</option>' for place in places
    )
    fork = (
        '<button type="button" class="act" data-act="fork" '
        'title="Start a new run from this program">Fork</button>'
        if own and result.phase in ("finished", "failed") else ""
    )
    opens = (
        '<button type="button" class="act" data-act="open" '
        'title="Put this program into the editor">Edit</button>'
        if not result.of_project else ""
    )
    return (
        '<div class="scrub"><button type="button" data-step="-1" aria-label="Previous program">◀'
        f'</button><input type="range" min="{places[0]}" max="{places[-1]}" value="{first}" '
        'list="programs" aria-label="Tested program" '
        f'aria-valuetext="{escaped(tested[first].label)}"><datalist id="programs">{names}'
        '</datalist><button type="button" data-step="1" aria-label="Next program">▶</button>'
        f'<div class="which">{_each(result, lambda place: _which(result, place))}</div>'
        f"{opens}{fork}</div>"
    )


def _which(result: Result, place: int) -> str:
    program = result.tested_programs[place]
    solution = program.solution
    by = "" if solution is None or solution.origin == "user" else f"by {solution.origin}"
    summary = ", ".join(filter(None, (by, passing_words(program.report))))
    note = "" if solution is None else escaped(solution.note, 300)
    return f'<b>{escaped(program.label)}</b> <span title="{note}">{escaped(summary, 300)}</span>'


def changes(result: Result) -> str:
    return (
        _untested_patch(result) + _comparison_menu(result)
        + _each(result, lambda place: _program(result, place))
        + ("" if result.tested_programs
           else _whole(result.shown_code, "code", final=True, shown=True))
    )


def _untested_patch(result: Result) -> str:
    places = places_with_details(result)[::-1]
    tested = [program_diff(result.tested_programs, place, 0) for place in places]
    if result.last_diff and result.last_diff not in tested:
        title = "Patch" if result.phase == "finished" else "Patch under test"
        return f'<p class="which"><b>{title}</b></p>{diff(result.last_diff)}'
    if result.partial is not None and not (result.last_diff or result.partial.diff in tested):
        return (
            '<div class="partial"><p class="which"><b>Best partial patch</b> '
            '<small class="warn">not a fix</small></p>'
            f'<p class="note">{prose(partial_facts(result.partial))}</p>'
            f"{diff(result.partial.diff)}</div>{_low_confidence(result)}"
        )
    return ""


def _low_confidence(result: Result) -> str:
    return "".join(
        f'<details data-key="unlikely-{one.label}"><summary>Another unlikely patch: '
        f"{escaped(one.note or 'no description', 300)}</summary>{diff(one.diff)}</details>"
        for one in result.low_confidence[1:]
    )


def _comparison_menu(result: Result) -> str:
    if len(result.tested_programs) < 3:
        return ""
    others = "".join(
        f'<option value="{place}">{escaped(result.tested_programs[place].label)}</option>'
        for place in _comparable_places(result)
    )
    return (
        '<p class="held"><label>Compared with <select class="against">'
        '<option value="original">the original</option>'
        f'<option value="parent">the one it is derived from</option>{others}</select></label></p>'
    )


def _comparable_places(result: Result) -> range:
    count = len(result.tested_programs)
    return range(0) if result.phase == "running" else range(max(1, count - MAX_COMPARED), count)


def _program(result: Result, place: int) -> str:
    tested = result.tested_programs
    text, first = text_of(result, place), not place
    whole = _whole(
        text, f"whole-{place}", final=place == initially_shown(result),
        shown=first and len(tested) == 1,
        more=", without the patch" if first and result.phase == "waiting" else "",
    )
    if first:
        note = '<p class="note">This is the first program.</p>'
        return whole if len(tested) == 1 else f"{note}{whole}"
    original, parent = program_diff(tested, place, 0), program_diff(tested, place)
    shown = f'<div data-against="original">{_diff(tested, place, 0)}</div>'
    if original != parent:
        of = tested[place].parent or 0
        shown += f'<div data-against="parent" hidden>{_diff(tested, place, of)}</div>'
    for other in _comparable_places(result):
        if other != place:
            shown += f'<div data-against="{other}" hidden>{_diff(tested, place, other)}</div>'
    return shown + whole


def _diff(tested: Sequence[JudgedProgram], place: int, other: int) -> str:
    if tested[place].solution is None or tested[other].solution is None:
        return ""
    text = program_diff(tested, place, other)
    return diff(text) if text else '<p class="note">Both programs have the same text.</p>'


def _whole(text: str, key: str, *, final: bool, shown: bool = False, more: str = "") -> str:
    if not text:
        return ""
    mark = ' data-final="yes"' if final else ""
    return (
        f'<details data-key="{key}" class="whole"{mark}{" open" if shown else ""}>'
        f'<summary>The whole program{more}</summary><pre tabindex="0">'
        f"{escaped(text, LONGEST_PROGRAM)}</pre></details>"
    )


def causes(result: Result) -> str:
    if not any(program.diagnosis for program in result.tested_programs):
        return NO_CAUSE if result.diagnosis is None else _cause(result.diagnosis, "")
    return _each(result, lambda place: _diagnosis(result, place))


NO_CAUSE = '<p class="note">There is no diagnosis.</p>'


def _diagnosis(result: Result, place: int) -> str:
    program = result.tested_programs[place]
    if program.diagnosis is not None:
        return _cause(program.diagnosis, text_of(result, place))
    if not program.report.passed:
        return NO_CAUSE
    tested = result.tested_programs
    before = next((n for n in range(place - 1, -1, -1) if tested[n].diagnosis), None)
    if before is None:
        return '<p class="note">All its tests pass.</p>'
    note = f"All its tests pass. Diagnosis of “{escaped(tested[before].label)}”:"
    return f'<p class="note">{note}</p>{_diagnosis(result, before)}'


EQUAL_SUSPICION, MAX_MARKED = 0.02, 3
"""Difference of suspicion that counts as equal, and the most lines of equal suspicion to single
out."""


def _cause(found: Diagnosis, text: str) -> str:
    evidence = "".join(f"<li>{escaped(item, 600)}</li>" for item in found.evidence)
    fixable = "" if found.fixable else '<p class="note">No edit of this program can help.</p>'
    lines = text.splitlines() if text else []
    suspicious = {one.line: one for one in found.suspicious_lines}
    code = "".join(_lines(lines, suspicious)) if suspicious else ""
    return (
        f'<p class="cause">{escaped(found.cause, 1_000)}'
        f" <small>{category_words(found)}, {_sure(found.confidence)}</small></p>{fixable}"
        f"{f'<ul>{evidence}</ul>' if evidence else ''}"
        f"{_element('div', 'blame', code)}"
    )


def _lines(lines: list[str], suspicious: dict[int, SuspiciousLine]) -> Iterator[str]:
    numbers = (
        range(1, len(lines) + 1) if lines and len(lines) <= SHORT else sorted({
            near for line in suspicious for near in range(line - AROUND, line + AROUND + 1)
            if near in suspicious or 1 <= near <= len(lines)
        })
    )
    top, before = max(one.suspicion for one in suspicious.values()), 0
    alike = sum(top - one.suspicion < EQUAL_SUSPICION for one in suspicious.values())
    if alike > MAX_MARKED:
        yield '<p class="note">The marked lines are equally suspicious.</p>'
    for number in numbers:
        if number != before + 1:
            yield '<p class="gap">⋯</p>'
        before = number
        one = suspicious.get(number)
        text = lines[number - 1] if number <= len(lines) else one.text if one else ""
        first = one is not None and top - one.suspicion < EQUAL_SUSPICION and alike <= MAX_MARKED
        yield _line(number, text, one, first)


def _sure(confidence: float) -> str:
    """Returns a confidence in words, since digits would suggest too much precision."""
    return "sure" if confidence >= 0.9 else "likely" if confidence >= 0.5 else "a guess"


def _line(number: int, text: str, one: SuspiciousLine | None, first: bool) -> str:
    level = 0 if one is None else 5 if first else min(4, ceil(one.suspicion * 5))
    label = "most suspicious" if first else '<i class="sr">suspicious</i>'
    share = f"<b>{label}</b>" if one is not None else ""
    values = "".join(
        f"<span><i>{escaped(name, 80)}</i> = {escaped(value, 160)}</span>"
        for name, value in one.values
    ) if one is not None else ""
    return (
        f'<div class="line s{level}"><span class="number">{number}</span>'
        f"<code>{escaped(text, 300)}</code>{share}</div>"
        f"{_element('p', 'values', values)}"
    )


NO_OUTPUT = '<p class="note">It printed nothing.</p>'
OUTPUT_NOT_SAVED = (
    '<p class="note">The program was only called by tests, and the output of these calls is not '
    "saved.</p>"
)


def console(result: Result) -> str:
    """Renders the output of each program when it ran as a script."""
    if not any(_printed(program) for program in result.tested_programs):
        ran = any(result.endings)
        return _streams(result.stdout, "") or (NO_OUTPUT if ran else OUTPUT_NOT_SAVED)
    return _each(result, lambda place: _printed(result.tested_programs[place]) or (
        OUTPUT_NOT_SAVED if result.tested_programs[place].report.ending is None else NO_OUTPUT
    ))


def _printed(program: JudgedProgram) -> str:
    ending = program.report.ending
    if ending is None:
        return ""
    cut = (
        f'<p class="note">Only the first {len(ending.stdout):,} characters of the output are saved.'
        "</p>"
    ) if ending.truncated else ""
    return _streams(ending.stdout, ending.stderr or ending.traceback) + cut


def _streams(stdout: str, stderr: str) -> str:
    return fact_list(("stdout", _first_and_last(stdout)), ("stderr", _first_and_last(stderr)))


def _first_and_last(text: str) -> str:
    if len(text) <= LONGEST_TEXT:
        return text
    half = LONGEST_TEXT // 2 - 100
    gap = f"… {len(text) - 2 * half:,} of {len(text):,} characters are left out …"
    return f"{text[:half]}\n{gap}\n{text[-half:]}"


def _element(tag: str, name: str, body: str) -> str:
    return f'<{tag} class="{name}">{body}</{tag}>' if body else ""
