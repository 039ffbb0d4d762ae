"""Counts how Python's standard library is written, for `agent.repair.naturalness`.

    python -m evaluation.corpus agent/repair/corpus.py

Only counts of syntax are kept, of every module but tests and those that are data or no longer
kept up. Another Python gives other counts: the table says whose they are.
"""

from __future__ import annotations

import argparse
import ast
import platform
import sys
import sysconfig
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from agent.repair.naturalness import Shape, shapes

LEAST = 3
"""Sightings below this tell nothing."""
LEFT_OUT = {"test", "tests", "idlelib", "lib2to3", "site-packages", "pydoc_data", "__pycache__"}
WIDTH = 100

HEAD = '''"""How often each kind of node stands where in the standard library of Python {version}.

One line a place: the kind of the parent, its field, and pairs of a kind of child and how often
it stands there. Written by `python -m evaluation.corpus`, which says what was counted.
"""

COUNTS = """'''


def main(arguments: Sequence[str] | None = None) -> int:
    """Writes the table, once all is counted."""
    parser = argparse.ArgumentParser(prog="python -m evaluation.corpus", description=__doc__)
    parser.add_argument("file", type=Path, help="the module to write")
    wanted = parser.parse_args(arguments)
    counts: Counter[Shape] = Counter()
    for path in sources(Path(sysconfig.get_path("stdlib"))):
        counts += shapes(ast.parse(path.read_bytes()))
    lines = [HEAD.format(version=platform.python_version()), *table(counts), '"""']
    wanted.file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return 0


def sources(library: Path) -> list[Path]:
    """The modules that are counted, in a fixed order."""
    return sorted(
        path
        for path in library.rglob("*.py")
        if not LEFT_OUT & {*path.relative_to(library).parts}
    )


def table(counts: Counter[Shape]) -> Iterator[str]:
    """Lines of at most `WIDTH` characters; a place with more begins several of them."""
    places: dict[tuple[str, str], list[str]] = {}
    for (place, kind), count in sorted(counts.items(), key=lambda one: (one[0][0], -one[1])):
        if count >= LEAST:
            places.setdefault(place, []).append(f"{kind} {count}")
    for place, pairs in places.items():
        line = " ".join(place)
        for pair in pairs:
            if len(line) + 1 + len(pair) > WIDTH:
                yield line
                line = " ".join(place)
            line += f" {pair}"
        yield line


if __name__ == "__main__":
    sys.exit(main())
