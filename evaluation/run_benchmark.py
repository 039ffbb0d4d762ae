"""Heals a suite of broken programs and measures what came of it.

    python -m evaluation.run_benchmark --provider mock --out DIR
    python -m evaluation.run_benchmark --suite FILE.jsonl --provider mock --out DIR

Without a suite it is `bench/tasks.jsonl`: eight tasks in words, of six categories. See `cases` for
what a suite holds.

    DIR/results.jsonl   a line for each row that is done, which is not run again; see `healing`
    DIR/logs/ID.jsonl   the log of its run, for `python -m agent replay`
    DIR/summary.json    the figures
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import quote

from agent.core.dotenv_files import warn_of_dotenv
from agent.core.events import to_jsonl
from agent.interfaces.exits import HEALED, INTERRUPTED, USAGE
from agent.iteration.context import TESTS_IN_A_BUDGET
from agent.loop.session import BadSettings, Settings, open_session
from evaluation.cases import BadSuite, Case, read_cases
from evaluation.figures import grouped, table
from evaluation.healing import CaseRow, HealedCase, holds, is_right, line_of, measured
from evaluation.lines import Lines, count, for_each, positive
from llm import LlmError
from sandbox import SandboxError, open_sandbox

TASKS = Path(__file__).parent / "bench" / "tasks.jsonl"
ROW_TIMES = 16.0
"""How much longer than one search works a row may take by the clock: a second search comes where
the first one's find is refuted, and the machine may be busy."""

def main(arguments: Sequence[str] | None = None) -> int:
    """The command; returns its exit code."""
    wanted = _parser().parse_args(arguments)
    warn_of_dotenv()
    try:
        rows = _chosen(wanted)
        settings = settings_for(
            wanted.provider, wanted.budget_s, wanted.candidates, wanted.max_iterations
        )
        lines, kept = asyncio.run(_benchmark(rows, settings, wanted))
    except (BadSuite, BadSettings, LlmError, SandboxError, OSError) as error:
        print(error, file=sys.stderr)
        return USAGE
    except KeyboardInterrupt:
        _say(f"interrupted; what is done stands in {wanted.out}, and the same command goes on")
        return INTERRUPTED
    found = grouped(lines, rows)
    summary = {
        **provenance(), "suite": wanted.suite.name, "provider": settings.provider,
        "budget_s": settings.search_s, "max_candidates": settings.max_candidates,
        "max_iterations": settings.max_iterations, "hold_out": settings.hold_out,
        "workers": wanted.workers, "rows_kept": kept, "figures": found,
    }
    (wanted.out / "summary.json").write_text(json.dumps(summary, indent=2) + "\n", "utf-8")
    if kept:
        print(f"{kept} of {len(rows)} rows were done before, with the settings of that time")
    for text in table(found):
        print(text)
    return HEALED


def provenance() -> dict[str, object]:
    """Of which version figures are that are measured now, and of which machine."""
    asked = ["git", "-C", str(TASKS.parent), "describe", "--always", "--dirty"]
    try:
        said = subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        said = ""  # an unpacked archive has no version
    now = datetime.now(UTC).isoformat(timespec="minutes")
    return {"version": said or None, "cores": os.cpu_count(), "measured": now}


async def _benchmark(
    rows: Sequence[Case], settings: Settings, wanted: argparse.Namespace
) -> tuple[list[CaseRow], int]:
    """The lines of the rows, and how many of them were done before."""
    _say(await surroundings(settings))
    if wanted.validate_reference:
        await validate(rows, settings)
    if wanted.fresh:
        (wanted.out / "results.jsonl").unlink(missing_ok=True)
    lines: Lines[CaseRow] = Lines(wanted.out / "results.jsonl")
    kept = sum(row.id in lines.by_id for row in rows)
    await run(rows, settings, lines, wanted.workers)
    return [lines.by_id[row.id] for row in rows], kept


def _chosen(wanted: argparse.Namespace) -> list[Case]:
    """The rows that are asked for; raises `BadSuite` where there are none."""
    rows = read_cases(wanted.suite)
    unknown = sorted({*wanted.task_ids} - {row.id for row in rows})
    if unknown:
        raise BadSuite(f"{wanted.suite} has no row {unknown[0]!r}")
    chosen = [
        row for row in rows
        if wanted.only in row.id and (not wanted.task_ids or row.id in wanted.task_ids)
    ][: wanted.limit]
    if not chosen:
        raise BadSuite(f"{wanted.suite} has no row whose id has {wanted.only!r}")
    return chosen


def settings_for(
    provider: str, budget_s: float, candidates: int | None, max_iterations: int | None = None
) -> Settings:
    """The agent's settings for one row; those not named here come from the environment."""
    return Settings.from_env(
        provider=provider, budget_s=budget_s * ROW_TIMES, search_s=budget_s,
        test_wall_s=budget_s / TESTS_IN_A_BUDGET, max_candidates=candidates,
        max_iterations=max_iterations, autonomy_level="full_auto",
    )


async def surroundings(settings: Settings) -> str:
    """Who answers and what holds code back, in words; raises what would end every row."""
    with tempfile.TemporaryDirectory() as folder:
        async with open_session(settings.model_copy(update={"data_dir": Path(folder)})) as session:
            jail, plan = await session.jail(), session.plan()
    drafts = "" if plan.has_model else "; a task in words begins with its row's own draft"
    return f"{plan.why}{drafts}; {jail.words}"


async def validate(rows: Iterable[Case], settings: Settings) -> None:
    """Raises `BadSuite` for rows whose own fixed program is not right by their own measure."""
    sandbox = open_sandbox(settings.sandbox, settings.environment or None)
    found = []
    for row in rows:
        if row.reference and not await holds(row.tested(row.reference), sandbox):
            found.append(f"{row.id}: the fixed program fails the tests")
        elif row.reference and not await is_right(row, row.reference, sandbox):
            found.append(f"{row.id}: the fixed program fails what is held out")
    if found:
        raise BadSuite("these rows contradict themselves: " + "; ".join(found))


async def run(
    rows: Iterable[Case], settings: Settings, lines: Lines[CaseRow], workers: int
) -> None:
    """Runs the rows that have no line yet, `workers` at a time."""
    pending = [row for row in rows if row.id not in lines.by_id]
    assert lines.path is not None, "a benchmark has a folder"
    logs = lines.path.with_name("logs")
    logs.mkdir(exist_ok=True)

    async def act(row: Case) -> None:
        found = await _contained(row, settings)
        line = found.line
        if found.log:  # before the line, which so always has one
            name = quote(row.id, safe="")[-200:]
            (logs / f"{name}.jsonl").write_text(to_jsonl(found.log), encoding="utf-8")
        lines.add(line)
        _say(
            f"{pending.index(row) + 1}/{len(pending)} {line['id']}: {line['outcome']} "
            f"{line['proof'] or ''} in {line['seconds']:.2f} s{found.why and f': {found.why}'}"
        )

    await for_each(pending, act, workers)


async def _contained(row: Case, settings: Settings) -> HealedCase:
    """A row's measure; what goes wrong with one is reported and does not end the others."""
    task = asyncio.create_task(measured(row, settings))
    try:
        await asyncio.wait({task})
    finally:
        if not task.done():
            task.cancel()
            await asyncio.wait({task})
    fault = task.exception()
    if fault is None:
        return task.result()
    traceback.print_exception(fault)
    return HealedCase(line_of(row, "failed"), why=f"{type(fault).__name__}: {fault}")


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog=f"python -m {__package__}.run_benchmark",
        description="Heal a suite of broken programs, and say how many are right.",
    )
    parser.add_argument(
        "--suite", type=Path, default=TASKS, metavar="FILE",
        help="JSON lines; by default eight tasks in words",
    )
    parser.add_argument("--provider", default="mock", metavar="NAME", help="mock: no model")
    parser.add_argument("--out", type=Path, required=True, metavar="DIR", help="for the results")
    parser.add_argument(
        "--budget-s", type=positive, default=10.0, metavar="S",
        help="processor seconds of one search; a row is ended after 16 times as long",
    )
    parser.add_argument(
        "--candidates", type=count, metavar="N",
        help="candidates of one search; with ample seconds the results do not hang on time",
    )
    parser.add_argument("--only", default="", metavar="TEXT", help="rows whose id has this")
    parser.add_argument(
        "--task-ids", nargs="+", default=(), metavar="ID", help="the rows of these ids"
    )
    parser.add_argument("--limit", type=count, metavar="N", help="the first rows only")
    parser.add_argument(
        "--workers", type=count, default=1, metavar="N",
        help="rows at a time; with more than one, seconds mean little",
    )
    parser.add_argument(
        "--max-iterations", type=count, metavar="N", help="rounds of one row, HEAL_MAX_ITERATIONS"
    )
    parser.add_argument(
        "--validate-reference", action="store_true",
        help="first ask whether each row's fixed program passes its tests and what is held out",
    )
    parser.add_argument("--fresh", action="store_true", help="forget the results that are there")
    return parser


if __name__ == "__main__":
    raise SystemExit(main())
