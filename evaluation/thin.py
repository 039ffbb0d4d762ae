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
from collections.abc import Iterator
from pathlib import Path

from agent.core.trees import parse
from evaluation.cases import NAMES, BadSuite, Case, TruthScript, read_cases

WITHOUT_PASSING = 0.25
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
        rows = read_cases(wanted.suite)
    except BadSuite as error:
        parser.error(str(error))
    made = [one for row in rows if (one := thinned(row)) is not None]
    wanted.out.write_text("".join(json.dumps(one) + "\n" for one in made), encoding="utf-8")
    print(f"{len(made)} rows in {wanted.out}; {len(rows) - len(made)} have too few asserts")
    return 0


def thinned(row: Case) -> dict[str, object] | None:
    """The row with one or two of its asserts shown; `None` where it has too few."""
    asserts = list(dict.fromkeys(
        one for code in (*row.tests, *row.held_out) for one in _asserts(code)
    ))
    program = row.draft or row.program
    passing = _passing(program, asserts)
    failing = [one for one, passed in zip(asserts, passing, strict=False) if not passed]
    if len(asserts) < 3 or len(passing) != len(asserts) or not failing:
        return None
    good = [one for one in asserts if one not in failing]
    drawn = random.Random(row.id)
    shown = [drawn.choice(failing)]
    if good and drawn.random() >= WITHOUT_PASSING:
        shown.append(drawn.choice(good))
    return {
        "id": row.id, "buggy": program, "fixed": row.fixed, "tests": shown,
        "held_out": [one for one in asserts if one not in shown],
        "author": row.author, "kind": row.kind,
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
    files = {"program.py": program, "asserts.json": json.dumps(asserts), "_run.py": _RUN}
    done = TruthScript(files, ["_run.py"]).ran()
    if done is None or done.returncode:
        return []
    printed = done.stdout.rpartition("FOUND")[2]
    return list(json.loads(printed)) if printed.strip() else []


if __name__ == "__main__":
    raise SystemExit(main())
