"""Labels for the backs of books."""

from shelfmark.classes import REFERENCE, room
from shelfmark.order import as_mark

WIDTH = 8


def label(mark, width=WIDTH):
    """The lines of a label, none longer than `width` where that is possible.

    >>> label("QA 76.9 B12 1998 v.2")
    ['QA', '76.9', '.B12', '1998', 'v.2']
    """
    mark = as_mark(mark)
    lines = [mark.collection] if mark.collection else []
    if len(mark.name) + 1 + len(mark.number) <= width and not mark.cutters:
        lines.append(f"{mark.name} {mark.number}")
    else:
        lines += [mark.name, mark.number]
    for position, cutter in enumerate(mark.cutters):
        lines.append(("" if position else ".") + "".join(cutter))
    if mark.year:
        lines.append(mark.year)
    if mark.volume:
        lines.append(f"v.{mark.volume}")
    if mark.copy > 1:
        lines.append(f"c.{mark.copy}")
    return [line for part in lines for line in broken(part, width)]


def broken(line, width):
    """A line broken at a point or a hyphen where it is too long.

    >>> broken("1234.56789", 8)
    ['1234', '.56789']
    """
    if len(line) <= width:
        return [line]
    place = max(line.rfind(sign, 1, width + 1) for sign in ".-/")
    if place < 0:
        return [line]
    return [line[:place], *broken(line[place:], width)]


def signpost(mark):
    """Where to look for a mark: "floor 1, bay 30", or the desk for reference books."""
    mark = as_mark(mark)
    if mark.collection == REFERENCE:
        return "at the desk"
    floor, bay = room(mark.name)
    place = "ground floor" if floor == 0 else f"floor {floor}"
    return f"{place}, bay {bay}"


def sheet(marks, columns=3, width=WIDTH):
    """A sheet of labels side by side, as text.

    Labels of a row are as high as the highest of them; rows are parted by an empty line.
    """
    rows = []
    marks = list(marks)
    for start in range(0, len(marks), columns):
        labels = [label(mark, width) for mark in marks[start : start + columns]]
        height = max(map(len, labels))
        for number in range(height):
            cells = [lines[number] if number < len(lines) else "" for lines in labels]
            rows.append("  ".join(cell.ljust(width) for cell in cells).rstrip())
        rows.append("")
    return "\n".join(rows[:-1])
