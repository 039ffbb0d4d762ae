"""Measures how often a patch with the outcome HEALED is correct, on realistic bugs.

    python -m evaluation.claims --suite FILE [--suite FILE …] --out DIR

The terminal command heals each case in its own folder with an empty memory; then the hidden tests
(`truth` in a suite) run. Finished cases are saved in `DIR/claims.jsonl` and not run again. Prints
the numbers of claimed (HEALED, exit code 0) and proposed patches, right and wrong; the precision of
the claims with its 95 % interval (Wilson); and precision and recall by confidence. See `cases` for
the format of a suite.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TypedDict

from agent.core.events import PatchProposed, Proved, from_jsonl
from agent.core.measures import interval
from evaluation.cases import BadSuite, Case, read_cases, write
from evaluation.executors import add_executor_options, run_measurement
from evaluation.lines import JsonLinesFile

CASE_S = 600.0
THRESHOLDS = (0.95, 0.9, 0.8, 0.7, 0.6, 0.5, 0.3, 0.0)
PATCHED = ("healed", "proposed", "crash_stopped")
ROOT = Path(__file__).parent.parent


class Claim(TypedDict):
    id: str
    suite: str
    author: str
    outcome: str
    proof: str | None
    confidence: float | None
    features: dict[str, float]
    right: bool | None
    """`None` if no patch was shown."""
    strategy: str | None
    candidates: int
    calls: int
    """Model calls."""
    tokens: int
    seconds: float
    exit_code: int
    diff: str
    first_s: float | None
    """Seconds until the first patch was shown."""


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m evaluation.claims", description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--suite", type=Path, action="append", required=True, metavar="FILE")
    parser.add_argument("--out", type=Path, required=True, metavar="DIR")
    parser.add_argument("--only", default="", metavar="TEXT", help="cases whose id contains this")
    parser.add_argument("--every", type=int, default=1, metavar="N", help="every Nth case")
    add_executor_options(parser)
    parser.add_argument(
        "--validate", action="store_true", help="only check that cases are consistent"
    )
    args = parser.parse_args()
    try:
        cases = [
            (path.stem, case) for path in args.suite
            for case in read_cases(path)[:: args.every] if args.only in case.id
        ]
    except BadSuite as error:
        parser.error(str(error))
    if without := [case.id for _, case in cases if not case.has_truth]:
        parser.error(f"the case {without[0]} has no hidden tests")
    if args.validate:
        return _validate([case for _, case in cases])
    claims: JsonLinesFile[Claim] = JsonLinesFile(args.out / "claims.jsonl")

    def add(found: Claim) -> str:
        claims.add(found)
        return (
            f"{found['id']}: {found['outcome']} {found['proof'] or ''} "
            f"{'' if found['confidence'] is None else format(found['confidence'], '.2f')} "
            f"{ {True: 'right', False: 'WRONG', None: ''}[found['right']]} "
            f"{found['seconds']:.1f} s"
        )

    items = {case.id: (case, suite) for suite, case in cases}
    if status := run_measurement(args, items, measure_claim, claims, add):
        return status
    for line in table([claims.by_id[case.id] for _, case in cases]):
        print(line)
    return 0


async def measure_claim(row: tuple[Case, str]) -> Claim:
    """`heal_case` as the function of a row."""
    return await asyncio.to_thread(heal_case, *row)


def heal_case(case: Case, suite: str) -> Claim:
    """Heals a case as its user would, and runs the hidden tests on the patch."""
    with tempfile.TemporaryDirectory(prefix="claim-") as name:
        home, folder = Path(name) / "home", Path(name) / "work"
        home.mkdir()
        write(case.submitted, folder)
        log = Path(name) / "log.jsonl"
        command = ["run", ".", "--json", "--log", str(log)]
        if case.mode == "task":
            command[1:2] = ["--task", case.task]
        elif case.mode != "project":
            command[1] = "program.py"
            for path in dict.fromkeys(path.partition("/")[0] for path in case.support):
                command += ["--with", path]
        if case.mode == "asserts":
            command += ["--tests", case.test_text]
        if case.mode == "pytest":
            write({"test_program.py": case.test_text}, folder)
            command += ["--tests-file", "test_program.py"]
        done = subprocess.run(
            [sys.executable, "-m", "agent", *command], cwd=folder, capture_output=True, text=True,
            stdin=subprocess.DEVNULL, timeout=CASE_S, check=False, env={
                **os.environ, "PYTHONPATH": str(ROOT), "HEAL_DATA_DIR": str(home),
            },
        )
        try:
            document = json.loads(done.stdout)
        except ValueError as error:
            raise RuntimeError(f"{case.id}: {done.stderr[-500:]}") from error
        events = from_jsonl(log.read_text("utf-8")) if log.exists() else ()
        proved = [entry.event for entry in events if isinstance(entry.event, Proved)]
        patches = [entry.at for entry in events if isinstance(entry.event, PatchProposed)]
    if document["outcome"] is None and done.returncode in (2, 3):
        raise RuntimeError(f"{case.id}: {document['error'] or document['reason']}")
    outcome = str(document["outcome"] or "refused")
    changed = dict(document["files"])
    if case.mode == "task":
        changed = {"program.py": next(iter(changed.values()), "")}
    is_shown = outcome in PATCHED or (case.mode == "task" and outcome == "healthy")
    # The reference is right; checking it might not end.
    is_reference = bool(case.fixed) and changed.get("program.py") == case.fixed
    return Claim(
        id=case.id, suite=suite, author=case.author, outcome=outcome, proof=document["proof"],
        confidence=document["confidence"], features=dict(proved[-1].features) if proved else {},
        right=is_reference or case.is_right(changed) if is_shown else None,
        strategy=document["strategy"],
        candidates=document["candidates"], calls=document["calls"], tokens=document["tokens"],
        seconds=document["seconds"], exit_code=done.returncode,
        diff=document["diff"], first_s=patches[0] - events[0].at if patches else None,
    )


def table(claims: Sequence[Claim]) -> Iterator[str]:
    every = len(claims)
    for name, some in (
        ("claimed (HEALED)", [one for one in claims if is_claimed(one)]),
        ("proposed", [one for one in claims if one["right"] is not None and not is_claimed(one)]),
    ):
        right = sum(one["right"] is True for one in some)
        low, high = interval(right, len(some))
        yield (
            f"{name}: {len(some)} of {every}, right {right}, wrong {len(some) - right}; "
            f"precision {right / max(1, len(some)):.0%} (95 %: {low:.0%} to {high:.0%})"
        )
    shown = [one for one in claims if one["right"] is not None]
    all_right = sum(one["right"] is True for one in shown)
    yield (
        f"not claimed and no patch shown: {every - len(shown)}; right among all shown: "
        f"{all_right} of {every} ({all_right / max(1, every):.0%})"
    )
    first = [found for one in claims if (found := one.get("first_s")) is not None] or [0.0]
    yield (
        f"median seconds {statistics.median([one['seconds'] for one in claims]):.1f}, "
        f"to the first patch {statistics.median(first):.1f}"
    )
    yield "confidence at least   patches   right   precision   recall (of all cases)"
    for least in THRESHOLDS:
        some = [one for one in shown if (one["confidence"] or 0.0) >= least]
        right = sum(one["right"] is True for one in some)
        yield (
            f"{least:>19.2f}   {len(some):>7}   {right:>5}   {right / max(1, len(some)):>9.0%}   "
            f"{right / max(1, every):>6.0%}"
        )


def is_claimed(one: Claim) -> bool:
    return one["outcome"] == "healed" and one["exit_code"] == 0


def _validate(cases: Sequence[Case]) -> int:
    """Checks that programs fail, and reference repairs pass, their tests and hidden tests."""
    bad = [
        f"{case.id}: the unchanged program passes its tests or the hidden tests" for case in cases
        if case.mode != "task" and (case.passes({}) or case.is_right({}))
    ] + [
        f"{case.id}: the reference fix fails the tests or the hidden tests" for case in cases
        if case.fixed and not (case.passes(case.reference) and case.is_right(case.reference))
    ]
    print("\n".join([*bad, f"{len(cases)} cases, {len(bad)} contradict themselves"]))
    return 1 if bad else 0


if __name__ == "__main__":
    from evaluation.claims import main as by_name  # other processes import the rows' function

    raise SystemExit(by_name())
