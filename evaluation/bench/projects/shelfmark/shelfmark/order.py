"""Put marks in order, and find the books that stand out of it."""

import bisect
import itertools

from shelfmark.mark import Mark


def as_mark(mark):
    """A mark of a mark or of its text."""
    return mark if isinstance(mark, Mark) else Mark(mark)


def arranged(marks):
    """Marks in the order of the shelf; equal ones keep theirs."""
    return sorted(map(as_mark, marks))


def misplaced(marks):
    """The fewest books that must be taken out so that the rest stands in order.

    >>> misplaced(["A 1", "A 5", "A 2", "A 3"])
    [Mark('A 5')]
    """
    marks = [as_mark(mark) for mark in marks]
    keys, tails, before = [], [], []
    for position, mark in enumerate(marks):
        place = bisect.bisect_right(keys, mark.key)
        keys[place : place + 1] = [mark.key]
        tails[place : place + 1] = [position]
        before.append(tails[place - 1] if place else None)
    kept = set()
    position = tails[-1] if tails else None
    while position is not None:
        kept.add(position)
        position = before[position]
    return [mark for position, mark in enumerate(marks) if position not in kept]


def bays(marks, width):
    """Yield bays of at most `width` books; the parts of a work stay together if they can.

    A work with more parts than a bay is wide begins a bay and fills as many as it needs.
    """
    bay = []
    for _, group in itertools.groupby(arranged(marks), key=lambda mark: mark.work):
        group = list(group)
        if bay and len(bay) + len(group) > width:
            yield bay
            bay = []
        while len(group) > width:
            yield group[:width]
            group = group[width:]
        bay.extend(group)
    if bay:
        yield bay


def span(bay):
    """The sign at a bay's end: its first and last mark, shortened to what tells them apart.

    >>> span(arranged(["QA 9 B3", "QA 76 C1"]))
    'QA 9 - QA 76'
    """
    first, last = bay[0], bay[-1]
    if first.name != last.name:
        return f"{first.name} - {last.name}"
    if first.number != last.number:
        return f"{first.name} {first.number} - {last.name} {last.number}"
    return f"{first.name} {first.number}"


def gaps(marks):
    """Yield (work, missing volumes) of works of several volumes, in order."""
    for _, group in itertools.groupby(arranged(marks), key=lambda mark: mark.work):
        numbered = [mark for mark in group if mark.volume]
        present = set()
        for mark in numbered:
            first, _, last = mark.volume.replace("/", "-").partition("-")
            present.update(range(int(first), int(last or first) + 1))
        missing = sorted(set(range(1, max(present, default=0) + 1)) - present)
        if missing:
            yield str(numbered[0]).partition(" v.")[0], missing
