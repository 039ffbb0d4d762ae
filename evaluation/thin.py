"""Makes rows with hardly any tests from a suite: one failing assert and at most one that passes.

    python -m evaluation.thin --suite FILE --out FILE

The other asserts are held out, as the truth of the row. Which two are shown is drawn by the row's
id, so that it is the same each time; in one row of four no passing assert is shown. Rows with fewer
than three asserts, and rows of which none fails, are left out and counted.
"""

from __future__ import annotations

import argparse
import ast
import json
import random
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from agent.core.trees import parse
from evaluation.cases import NAMES, write
from evaluation.suite import BadRow, BadSuite, Row, read_suite

WITHOUT_PASSING = 0.25
RUN_S = 30.0
_RUN = NAMES + """
import json
found = []
for code in json.load(open("asserts.json")):
    try:
        exec(code, dict(globals()))
        found.append(True)
    except Exception:
        found.append(False)
print("FOUND", json.dumps(found))
"""


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m evaluation.thin", description=__doc__)
    parser.add_argument("--suite", type=Path, required=True, metavar="FILE")
    parser.add_argument("--out", type=Path, required=True, metavar="FILE")
    wanted = parser.parse_args()
    try:
        rows = [row for row in read_suite(wanted.suite) if not isinstance(row, BadRow)]
    except BadSuite as error:
        parser.error(str(error))
    made = [one for row in rows if (one := thinned(row)) is not None]
    wanted.out.write_text("".join(json.dumps(one) + "\n" for one in made), encoding="utf-8")
    print(f"{len(made)} rows in {wanted.out}; {len(rows) - len(made)} have too few asserts")
    return 0


def thinned(row: Row) -> dict[str, object] | None:
    """The row with one or two of its asserts shown; `None` where it has too few."""
    asserts = list(dict.fromkeys(
        one for code in (*row.broken.tests, *row.truth.held_out) for one in _asserts(code)
    ))
    passing = _passing(row.broken.program, asserts)
    failing = [one for one, passed in zip(asserts, passing, strict=False) if not passed]
    if len(asserts) < 3 or len(passing) != len(asserts) or not failing:
        return None
    good = [one for one in asserts if one not in failing]
    drawn = random.Random(row.id)
    shown = [drawn.choice(failing)]
    if good and drawn.random() >= WITHOUT_PASSING:
        shown.append(drawn.choice(good))
    return {
        "id": row.id, "buggy": row.broken.program, "fixed": row.truth.fixed, "tests": shown,
        "held_out": [one for one in asserts if one not in shown], **dict(row.groups),
    }


def _asserts(code: str) -> Iterator[str]:
    """The asserts of a text, each with the imports before it; the whole text where it has other
    statements as well."""
    tree = parse(code)
    if not all(isinstance(one, ast.Assert | ast.Import | ast.ImportFrom) for one in tree.body):
        yield code
        return
    imports = [ast.unparse(one) for one in tree.body if not isinstance(one, ast.Assert)]
    for one in tree.body:
        if isinstance(one, ast.Assert):
            yield "\n".join([*imports, ast.unparse(one)])


def _passing(program: str, asserts: list[str]) -> list[bool]:
    """Which asserts hold for a program; none where it does not come to an end."""
    with tempfile.TemporaryDirectory(prefix="thin-") as name:
        folder = Path(name)
        write({"program.py": program, "asserts.json": json.dumps(asserts), "_run.py": _RUN}, folder)
        try:
            done = subprocess.run(
                [sys.executable, "_run.py"], cwd=folder, capture_output=True, text=True,
                timeout=RUN_S, stdin=subprocess.DEVNULL, check=False,
            )
        except subprocess.TimeoutExpired:
            return []
    printed = done.stdout.rpartition("FOUND")[2]
    return list(json.loads(printed)) if done.returncode == 0 and printed.strip() else []


if __name__ == "__main__":
    raise SystemExit(main())
