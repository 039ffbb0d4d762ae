"""Heals a suite of broken programs and measures what came of it.

    python -m evaluation.run_benchmark --provider mock --out DIR
    python -m evaluation.run_benchmark --suite FILE.jsonl --provider mock --out DIR

Without a suite it is `bench/tasks.jsonl`: eight tasks in words, of six categories. A row that is
done stands in `DIR/results.jsonl` and is not run again. See `suite` for what a row holds,
`healing` for what a line of the results holds, `truth` for what counts as right.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
import traceback
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from agent.core.dotenv_files import warn_of_dotenv
from agent.doors.exits import HEALED, INTERRUPTED, USAGE
from agent.healing.context import TESTS_IN_A_BUDGET
from agent.run.session import BadSettings, Settings, open_session
from evaluation.figures import Figures, grouped, table
from evaluation.healing import Measured, line_of, measured
from evaluation.results import BadResults, Results, provenance
from evaluation.suite import BadRow, BadSuite, Row, read_suite
from evaluation.truth import refuted
from llm import LlmError
from sandbox import SandboxError, open_sandbox

TASKS = Path(__file__).parent / "bench" / "tasks.jsonl"
ROW_TIMES = 16.0
"""How much longer than one search works a row may take by the clock: a second search comes where
the first one's find is refuted, and the machine may be busy."""

Tell = Callable[[str], None]


def main(arguments: Sequence[str] | None = None) -> int:
    """The command; returns its exit code."""
    wanted = _parser().parse_args(arguments)
    warn_of_dotenv()
    try:
        rows = _chosen(wanted)
        settings = settings_for(
            wanted.provider, wanted.budget_s, wanted.candidates, wanted.max_iterations
        )
        results, kept = asyncio.run(_benchmark(rows, settings, wanted))
        found = summarised(rows, results)
    except (BadSuite, BadResults, BadSettings, LlmError, SandboxError) as error:
        print(error, file=sys.stderr)
        return USAGE
    except KeyboardInterrupt:
        _say(f"interrupted; what is done stands in {wanted.out}, and the same command goes on")
        return INTERRUPTED
    results.summarise(
        {
            **provenance(), "suite": wanted.suite.name, "provider": settings.provider,
            "budget_s": settings.search_s, "max_candidates": settings.max_candidates,
            "max_iterations": settings.max_iterations, "hold_out": settings.hold_out,
            "workers": wanted.workers, "rows_kept": kept,
            "figures": found,
        }
    )
    if kept:
        print(f"{kept} of {len(rows)} rows were done before, with the settings of that time")
    for text in table(found):
        print(text)
    return HEALED


async def _benchmark(
    rows: Sequence[Row | BadRow], settings: Settings, wanted: argparse.Namespace
) -> tuple[Results, int]:
    """The results, and how many of the rows were done before."""
    _say(await surroundings(settings))
    if wanted.validate_reference:
        await validate(rows, settings)
    results = Results(wanted.out, wanted.fresh)
    kept = sum(row.id in results.lines for row in rows)
    await run(rows, settings, results, wanted.workers, _say)
    return results, kept


def _chosen(wanted: argparse.Namespace) -> list[Row | BadRow]:
    """The rows that are asked for; raises `BadSuite` where there are none."""
    rows = read_suite(wanted.suite)
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


async def validate(rows: Iterable[Row | BadRow], settings: Settings) -> None:
    """Raises `BadSuite` for rows whose own fixed program is not right by their own measure."""
    sandbox = open_sandbox(settings.sandbox, settings.environment or None)
    found = [
        f"{row.id}: {why}" for row in rows
        if isinstance(row, Row) and (why := await refuted(row, sandbox))
    ]
    if found:
        raise BadSuite("these rows contradict themselves: " + "; ".join(found))


async def run(
    rows: Iterable[Row | BadRow], settings: Settings, results: Results, workers: int, tell: Tell
) -> None:
    """Runs the rows that have no line yet, `workers` at a time."""
    pending = [row for row in rows if row.id not in results.lines]
    waiting = iter(enumerate(pending, start=1))

    async def work() -> None:
        for number, row in waiting:
            found = await _contained(row, settings)
            results.add(found)
            line = found.line
            tell(
                f"{number}/{len(pending)} {line['id']}: {line['outcome']} {line['proof'] or ''} "
                f"in {line['seconds']:.2f} s" + (f": {found.why}" if found.why else "")
            )

    async with asyncio.TaskGroup() as group:
        for _ in range(workers):
            group.create_task(work())


async def _contained(row: Row | BadRow, settings: Settings) -> Measured:
    """A row's measure; what goes wrong with one is told and does not end the others."""
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
    return Measured(
        line_of(row.id, "failed", known=isinstance(row, Row) and row.truth.known),
        why=f"{type(fault).__name__}: {fault}",
    )


def summarised(rows: Sequence[Row | BadRow], results: Results) -> dict[str, Figures]:
    """The figures of the rows that are done."""
    lines = [results.lines[row.id] for row in rows if row.id in results.lines]
    return grouped(lines, {row.id: row.groups for row in rows})


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


def positive(text: str) -> float:
    """A number of the command line that is above 0."""
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < float("inf"):
        raise argparse.ArgumentTypeError(f"{text!r} is no number above 0")
    return value


def count(text: str) -> int:
    """A whole number of the command line that is above 0."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number above 0")
    return int(text)


if __name__ == "__main__":
    raise SystemExit(main())
