"""Creates a suite with few tests from another: one failing and at most one passing assert per row.

    python -m evaluation.thin --suite FILE --out FILE

The other asserts are held out as the truth of the row. The choice is seeded by the row's id, so it
is reproducible; a quarter of the rows show no passing assert. Rows with fewer than three asserts or
without a failing one are omitted and counted.
"""

from __future__ import annotations

import argparse
import ast
import json
import random
from collections.abc import Iterator
from pathlib import Path

from agent.core.trees import parse
from evaluation.cases import IMPORTS, BadSuite, Case, TruthScript, read_cases

WITHOUT_PASSING = 0.25
_RUN = IMPORTS + """
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
    args = parser.parse_args()
    try:
        rows = read_cases(args.suite)
    except BadSuite as error:
        parser.error(str(error))
    thin_rows = [one for row in rows if (one := thin(row)) is not None]
    args.out.write_text("".join(json.dumps(one) + "\n" for one in thin_rows), encoding="utf-8")
    print(f"{len(thin_rows)} rows in {args.out}; {len(rows) - len(thin_rows)} omitted: they have "
          "fewer than three asserts, or none that fails")
    return 0


def thin(row: Case) -> dict[str, object] | None:
    """The row with one or two of its asserts shown; `None` if it has too few."""
    asserts = list(dict.fromkeys(
        one for code in (*row.tests, *row.held_out) for one in _asserts(code)
    ))
    program = row.draft or row.program
    passing = _passing(program, asserts)
    failing = [one for one, passed in zip(asserts, passing, strict=False) if not passed]
    if len(asserts) < 3 or len(passing) != len(asserts) or not failing:
        return None
    passing_asserts = [one for one in asserts if one not in failing]
    generator = random.Random(row.id)
    shown = [generator.choice(failing)]
    if passing_asserts and generator.random() >= WITHOUT_PASSING:
        shown.append(generator.choice(passing_asserts))
    return {
        "id": row.id, "buggy": program, "fixed": row.fixed, "tests": shown,
        "held_out": [one for one in asserts if one not in shown],
        "author": row.author, "kind": row.kind,
    }


def _asserts(code: str) -> Iterator[str]:
    """Yields the asserts of a text, each with the imports; the whole text if it contains other
    statements."""
    tree = parse(code)
    if not all(isinstance(one, ast.Assert | ast.Import | ast.ImportFrom) for one in tree.body):
        yield code
        return
    imports = [ast.unparse(one) for one in tree.body if not isinstance(one, ast.Assert)]
    for one in tree.body:
        if isinstance(one, ast.Assert):
            yield "\n".join([*imports, ast.unparse(one)])


def _passing(program: str, asserts: list[str]) -> list[bool]:
    """Whether each assert holds for a program; empty if the program does not end."""
    files = {"program.py": program, "asserts.json": json.dumps(asserts), "_run.py": _RUN}
    done = TruthScript(files, ["_run.py"]).run()
    if done is None or done.returncode:
        return []
    printed = done.stdout.rpartition("FOUND")[2]
    return list(json.loads(printed)) if printed.strip() else []


if __name__ == "__main__":
    raise SystemExit(main())
