"""Heals a suite of broken programs and measures the results.

    python -m evaluation.run_benchmark --provider mock --out DIR
    python -m evaluation.run_benchmark --suite FILE.jsonl --provider mock --out DIR

The default suite is `bench/tasks.jsonl`: eight task texts of six categories. See `cases` for the
format of a suite.

    DIR/results.jsonl   a line for each finished row, which is not run again; see `healing`
    DIR/logs/ID.jsonl   the log of its run, for `python -m agent replay`
    DIR/summary.json    the statistics
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from urllib.parse import quote

from agent.core.dotenv_files import warn_of_dotenv
from agent.core.events import to_jsonl
from agent.core.settings import BadSettings, Settings
from agent.interfaces.exits import HEALED, USAGE
from agent.iteration.models import Models
from evaluation.cases import BadSuite, Case, read_cases
from evaluation.executors import NODES, add_executor_options, run_measurement
from evaluation.figures import grouped, table
from evaluation.healing import CaseRow, HealedCase, holds, is_right, measure_case, settings_for
from evaluation.lines import JsonLinesFile, count, positive
from llm import LlmError
from sandbox import SandboxError, open_sandbox

TASKS = Path(__file__).parent / "bench" / "tasks.jsonl"


def main(arguments: Sequence[str] | None = None) -> int:
    args = _parser().parse_args(arguments)
    warn_of_dotenv()
    try:
        rows = _select_rows(args)
        given = {
            "provider": args.provider, "budget_s": args.budget_s, "candidates": args.candidates,
            "max_iterations": args.max_iterations,
        }
        settings = settings_for(**given)
        plan = Models(settings).plan()
        if args.validate_reference:
            asyncio.run(validate(rows, settings))
    except (BadSuite, BadSettings, LlmError, SandboxError, OSError) as error:
        print(error, file=sys.stderr)
        return USAGE
    drafts = "" if plan.has_model else "; a task text begins with its row's own draft"
    print(f"{plan.why}{drafts}", file=sys.stderr, flush=True)
    if args.fresh:
        (args.out / "results.jsonl").unlink(missing_ok=True)
    lines: JsonLinesFile[CaseRow] = JsonLinesFile(args.out / "results.jsonl")
    resumed = sum(row.id in lines.by_id for row in rows)
    function, items = partial(measure_case, given=given), {row.id: row for row in rows}
    if status := run_measurement(args, items, function, lines, writer(lines), settings):
        return status
    found = grouped([lines.by_id[row.id] for row in rows], rows)
    summary = {
        **provenance(), "suite": args.suite.name, "provider": settings.provider,
        "budget_s": settings.search_s, "max_candidates": settings.max_candidates,
        "max_iterations": settings.max_iterations, "hold_out": settings.hold_out,
        **json.loads((args.out / NODES).read_text("utf-8")), "samples": args.samples,
        "rows_kept": resumed, "figures": found,
    }
    (args.out / "summary.json").write_text(json.dumps(summary, indent=2) + "\n", "utf-8")
    if resumed:
        print(f"{resumed} of {len(rows)} rows are from an earlier run with its settings")
    for text in table(found):
        print(text)
    return HEALED


def provenance() -> dict[str, object]:
    """The version, machine and time of a measurement."""
    command = ["git", "-C", str(TASKS.parent), "describe", "--always", "--dirty"]
    try:
        version = subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        version = ""  # an unpacked archive has no version
    now = datetime.now(UTC).isoformat(timespec="minutes")
    return {"version": version or None, "cores": os.cpu_count(), "measured": now}


def _select_rows(args: argparse.Namespace) -> list[Case]:
    """Returns the requested rows; raises `BadSuite` if there are none."""
    rows = read_cases(args.suite)
    unknown = sorted({*args.task_ids} - {row.id for row in rows})
    if unknown:
        raise BadSuite(f"{args.suite} has no row {unknown[0]!r}")
    chosen = [
        row for row in rows
        if args.only in row.id and (not args.task_ids or row.id in args.task_ids)
    ][: args.limit]
    if not chosen:
        raise BadSuite(f"{args.suite} has no row whose id contains {args.only!r}")
    return [
        row if number == 1 else row.model_copy(update={"id": f"{row.id}#{number}"})
        for row in chosen for number in range(1, args.samples + 1)
    ]


async def validate(rows: Iterable[Case], settings: Settings) -> None:
    """Raises `BadSuite` for rows whose fixed program fails their tests or truth."""
    sandbox = open_sandbox(settings.sandbox, settings.environment or None)
    found = []
    for row in rows:
        if row.reference and not await holds(row.test_script(row.reference), sandbox):
            found.append(f"{row.id}: the fixed program fails the tests")
        elif row.reference and not await is_right(row, row.reference, sandbox):
            found.append(f"{row.id}: the fixed program fails the truth")
    if found:
        raise BadSuite("these rows contradict themselves: " + "; ".join(found))


def writer(lines: JsonLinesFile[CaseRow]) -> Callable[[HealedCase], str]:
    """Returns a function that writes the log and the line of a row, and describes its result."""
    assert lines.path is not None, "a benchmark has a folder"
    logs = lines.path.with_name("logs")
    logs.mkdir(exist_ok=True)

    def add(found: HealedCase) -> str:
        line = found.line
        if found.log:  # written before the line, so that every line has a log
            name = quote(line["id"], safe="")[-200:]
            (logs / f"{name}.jsonl").write_text(to_jsonl(found.log), encoding="utf-8")
        lines.add(line)
        return (
            f"{line['id']}: {line['outcome']} {line['proof'] or ''} in {line['seconds']:.2f} s"
            f"{found.why and f': {found.why}'}"
        )

    return add


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog=f"python -m {__package__}.run_benchmark",
        description="Heal a suite of broken programs, and count the correct repairs.",
    )
    parser.add_argument(
        "--suite", type=Path, default=TASKS, metavar="FILE",
        help="JSON lines; by default eight task texts",
    )
    parser.add_argument("--provider", default="mock", metavar="NAME", help="mock: no model")
    parser.add_argument(
        "--out", type=Path, required=True, metavar="DIR", help="folder of the results"
    )
    parser.add_argument(
        "--budget-s", type=positive, default=10.0, metavar="S",
        help="processor seconds of one search; a row ends after 16 times as many wall seconds",
    )
    parser.add_argument(
        "--candidates", type=count, metavar="N",
        help="candidates of one search; with enough seconds the results do not depend on time",
    )
    parser.add_argument("--only", default="", metavar="TEXT", help="rows whose id contains this")
    parser.add_argument(
        "--task-ids", nargs="+", default=(), metavar="ID", help="the rows of these ids"
    )
    parser.add_argument("--limit", type=count, metavar="N", help="the first rows only")
    add_executor_options(parser)
    parser.add_argument(
        "--samples", type=count, default=1, metavar="N",
        help="measurements of each row, for pass@k; without a model they are alike",
    )
    parser.add_argument(
        "--max-iterations", type=count, metavar="N",
        help="iterations of one row (HEAL_MAX_ITERATIONS)",
    )
    parser.add_argument(
        "--validate-reference", action="store_true",
        help="first check that each row's fixed program passes its tests and truth",
    )
    parser.add_argument("--fresh", action="store_true", help="delete existing results")
    return parser


if __name__ == "__main__":
    raise SystemExit(main())
