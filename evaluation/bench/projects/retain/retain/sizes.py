"""Sizes and ages for people."""

import re

STEPS = ("B", "KiB", "MiB", "GiB", "TiB")
SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([kmgt]?)(i?)b?", re.IGNORECASE)


def human(size, decimals=1):
    """Bytes as people read them: "1.5 KiB".

    Rounding never gives "1024.0 KiB"; the next unit is taken then.
    """
    step = 0
    value = float(size)
    while round(value, decimals) >= 1024 and step < len(STEPS) - 1:
        value /= 1024
        step += 1
    return f"{value:.{decimals if step else 0}f} {STEPS[step]}"


def parsed(text):
    """Bytes of a written size: "1.5 GiB" by 1024, "2 kB" by 1000; raises ValueError."""
    found = SIZE.fullmatch(text.strip())
    if not found:
        raise ValueError(f"no size: {text!r}")
    number, step, binary = found.groups()
    power = " kmgt".index(step.lower()) if step else 0
    return round(float(number) * (1024 if binary else 1000) ** power)


def age(seconds):
    """An age in its largest unit: "3 days", "1 hour"."""
    for name, length in (("day", 86400), ("hour", 3600), ("minute", 60)):
        count = int(seconds // length)
        if count:
            return f"{count} {name}" + ("s" if count > 1 else "")
    return "now"


def table(rows, right=()):
    """Rows as aligned text; columns in `right` are set to the right."""
    rows = [[str(cell) for cell in row] for row in rows]
    if not rows:
        return ""
    widths = [max(map(len, column)) for column in zip(*rows)]
    lines = []
    for row in rows:
        cells = [
            cell.rjust(width) if number in right else cell.ljust(width)
            for number, (cell, width) in enumerate(zip(row, widths))
        ]
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines)
