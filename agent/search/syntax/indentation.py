"""Changes the indentation of lines and regions, and adds missing bodies."""

from __future__ import annotations

import re

from agent.search.syntax.broken import Broken, SyntaxEdit, moved, width

_MAX_LINES_BACK = 12
_REGION = 45
_HEAD = re.compile(r"\s*(?:if|elif|else|for|while|def|class|try|except|finally|with|async|match"
                    r"|case)\b.*:\s*(?:#.*)?$")
_CLAUSE_HEAD = re.compile(r"\s*(?:elif|else|except|finally)\b")
_STEP = 4


def indentation(broken: Broken) -> list[SyntaxEdit]:
    """Indents or dedents runs of lines near the fault."""
    is_likely = broken.fault.mentions("indent", "outside", "loop", "expected 'except'", "async")
    found = _bodies(broken)
    found += _regions(broken, 0.45 if is_likely else 1.3)
    found += _preceding_lines(broken, 0.5 if is_likely else 1.5)
    return found


def _step(broken: Broken) -> int:
    """The most common indentation step of the text."""
    steps: dict[int, int] = {}
    for row, line in enumerate(broken.lines):
        below = broken.below(row)
        if below is not None and _HEAD.match(line):
            step = width(broken.lines[below]) - width(line)
            if step > 0:
                steps[step] = steps.get(step, 0) + 1
    return max(steps, key=lambda step: (steps[step], step == _STEP)) if steps else _STEP


def _levels(broken: Broken, row: int) -> dict[int, float]:
    """Possible indentations of a line with their costs."""
    step = _step(broken)
    lines, own = broken.lines, width(broken.lines[row])
    before = broken.above(row)
    levels: dict[int, float] = {}
    if before is not None:
        levels[width(lines[before]) + step * bool(_HEAD.match(lines[before]))] = 0.0
    open_levels, level, above = list[tuple[int, int]](), own + 400, before
    while above is not None and level > 0:
        if width(lines[above]) < level:
            level = width(lines[above])
            open_levels.append((level, above))
        above = broken.above(above)
    outer = [pair for pair in open_levels if pair[0] > own]
    if outer and len(outer) > 1:
        # A line that is dedented too far belongs to the outermost block where it compiles.
        open_levels = [*reversed(outer), *(pair for pair in open_levels if pair[0] <= own)]
        levels.pop(outer[0][0], None)
    for place, (level, above) in enumerate(open_levels):
        follows = _CLAUSE_HEAD.match(lines[row]) is not None
        partner = re.match(r"\s*(?:if|elif|for|while|try|except|else)\b", lines[above]) is not None
        levels.setdefault(level, 0.1 + 0.06 * place - (0.1 if follows and partner else 0.0))
        if follows and partner:
            levels[level] = min(levels[level], 0.05 + 0.02 * place)
    below = broken.below(row)
    if below is not None:
        levels.setdefault(width(lines[below]), 0.2)
    for level in (own + step, max(0, own - step)):
        levels.setdefault(level, 0.3)
    levels.pop(own, None)
    return levels


def _regions(broken: Broken, cost: float) -> list[SyntaxEdit]:
    """Moves the fault's line, its block, or more lines after it to another level."""
    found = []
    for line in broken.suspect_lines[: 4 if cost < 1 else 2]:
        if line.is_long:
            continue
        row = line.index
        for level, extra in _levels(broken, row).items():
            shift = level - line.width
            for end, more in _ends(broken, row, shift, every=cost < 1).items():
                away = 0.0 if row == broken.index else 0.35
                found += _shifted(broken, cost + extra + more + away, row, end, shift)
    return found


def _shifted(broken: Broken, cost: float, first: int, last: int, shift: int) -> list[SyntaxEdit]:
    """Moves a run of lines to another level, without and with the inside of multi-line strings."""
    lines, inside = broken.lines, broken.inside_strings
    new = tuple(moved(line, shift) for line in lines[first:last])
    if inside.isdisjoint(range(first, last)):
        return [broken.replaced(cost, first, last, new)]
    kept = tuple(
        lines[row] if row in inside else moved(lines[row], shift) for row in range(first, last))
    return [
        broken.replaced(cost, first, last, kept),
        broken.replaced(cost + 0.04, first, last, new),
    ]


def _ends(broken: Broken, row: int, shift: int, *, every: bool) -> dict[int, float]:
    """Possible ends of a region that begins at a line, with their costs."""
    lines, own = broken.lines, width(broken.lines[row])
    deeper, same = row + 1, row + 1
    while deeper < len(lines) and (not lines[deeper].strip() or width(lines[deeper]) > own):
        deeper += 1
    while same < len(lines) and (not lines[same].strip() or width(lines[same]) >= own):
        same += 1
    ends = {row + 1: 0.0, deeper: 0.0 if deeper > row + 1 else 0.1}
    ends.setdefault(same, 0.12)
    ends.setdefault(len(lines), 0.3)
    for end in range(row + 2, min(len(lines), row + (_REGION if every else 2)) + 1):
        if end < len(lines) and not lines[end - 1].strip():
            continue
        natural = end < len(lines) and width(lines[end]) == own + shift
        ends.setdefault(end, (0.1 if natural else 0.25) + 0.012 * (end - row))
    if deeper > row + 1:
        ends[row + 1] = 0.12
    return ends


def _preceding_lines(broken: Broken, cost: float) -> list[SyntaxEdit]:
    """Moves a run of lines before the fault to the level of its line, or one step in or out."""
    found = []
    lines, row = broken.lines, broken.index
    own = width(lines[row])
    step = _step(broken)
    first = row
    for distance in range(_MAX_LINES_BACK):
        above = broken.above(first)
        if above is None:
            break
        first = above
        last = broken.above(row)
        assert last is not None
        for shift in sorted({own - width(lines[last]), own - width(lines[first]), step, -step}):
            if shift:
                natural = shift == own - width(lines[last])
                extra = 0.05 * distance + (0.0 if natural else 0.3)
                found += _shifted(broken, cost + 0.1 + extra, first, row, shift)
    return found


def _bodies(broken: Broken) -> list[SyntaxEdit]:
    """Adds `pass` as the body of a block that has none."""
    lines = broken.lines
    found = []
    rows = [broken.index, *[line.index for line in broken.suspect_lines[1:3]]]
    if broken.fault.mentions("EOF", "expected an indented block"):
        rows += [row for row in [broken.above(len(lines))] if row is not None]
    for row in dict.fromkeys(rows):
        if not _HEAD.match(lines[row]):
            continue
        level = width(lines[row])
        last = row
        while last + 1 < len(lines) and (
                re.match(r"\s*#", lines[last + 1]) and width(lines[last + 1]) > level):
            last += 1
        below = broken.below(last)
        if below is not None and width(lines[below]) > level:
            continue
        filler = " " * (level + _step(broken)) + "pass"
        unlikely = last == row and below is not None and width(lines[below]) == level and not (
            _CLAUSE_HEAD.match(lines[below])
            or re.match(r"\s*(?:def|class|@|async)\b", lines[below])
        )
        found.append(broken.replaced(0.9 if unlikely else 0.42, last + 1, last + 1, (filler,)))
    return found
