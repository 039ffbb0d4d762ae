"""Compares the results of several settings, as tables, plots and raw rows.

    python -m evaluation.sweep NAME=DIR NAME=DIR ... --out DIR

Each DIR is the `--out` of a measuring command on the same suite; the first is the baseline. DIR
gets `report.md`, which is also printed, `rates.png`, `precision-recall.png`, and all rows with
their setting as `rows.jsonl` and `rows.parquet`. `summary.json` is for the page, which shows the
folders in `HEAL_DATA_DIR/benchmarks`. Needs the extra `statistics`.
"""

from __future__ import annotations

import argparse
import json
import math
import re
import statistics
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from agent.core.measures import interval
from agent.interfaces.exits import HEALED, USAGE
from evaluation.claims import THRESHOLDS
from evaluation.healing import HEALED as PASSING
from evaluation.lines import count
from evaluation.run_benchmark import provenance


class BadResults(Exception):
    """Results cannot be read or compared; the message says which."""


@dataclass(frozen=True)
class SweepRow:
    """A measured row whose truth is known."""

    task: str
    sample: int
    right: bool
    shown: bool
    """Whether a patch was shown."""
    confidence: float | None
    seconds: float

    @classmethod
    def of(cls, line: Mapping[str, Any]) -> SweepRow | None:
        """Reads a line of a measuring command; `None` if its truth is unknown."""
        if "rank1_held_out" in line:
            right, shown = line["rank1_held_out"], line["outcome"] in PASSING
        elif "passes" in line:
            right, shown = line["passes"], line["shown"]
        else:  # a claim is neither right nor wrong if no patch was shown
            right, shown = bool(line["right"]), line.get("healed", line["right"] is not None)
        task, _, number = line["id"].rpartition("#") if _SAMPLE.search(line["id"]) else (
            line["id"], "", "1"
        )
        return None if right is None else cls(
            task, int(number), right, shown, line.get("confidence"), line["seconds"]
        )


_SAMPLE = re.compile(r"#\d+$")
Results = Mapping[str, Sequence[SweepRow]]
"""The rows of each setting; the first is the baseline."""


def read_lines(folder: Path) -> list[dict[str, Any]]:
    """Reads the lines of a measuring command. Raises `BadResults`."""
    for path in folder / "results.jsonl", folder / "claims.jsonl":
        if path.exists():
            return [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    raise BadResults(f"{folder} has no results: give the --out of a measuring command")


class PairedComparison(NamedTuple):
    """Two settings on the same tasks."""

    tasks: int
    only_first: int
    """Tasks that only the first setting gets right."""
    only_second: int
    difference: float
    """The share right of the second setting, less that of the first."""
    low: float
    high: float
    p: float
    """McNemar's exact test, two-sided."""


def compare(first: Mapping[str, bool], second: Mapping[str, bool]) -> PairedComparison:
    """Compares which of their common tasks two settings get right.

    The interval is method 10 of Newcombe, Statistics in Medicine 17 (1998), 2635-2650.

    Raises:
        BadResults: They have no task in common.
    """
    from scipy.stats import binomtest

    pairs = [(first[task], second[task]) for task in first if task in second]
    if not pairs:
        raise BadResults("the settings have no task in common: measure the same suite with both")
    number = len(pairs)
    both, one, two = (pairs.count(kind) for kind in ((True, True), (True, False), (False, True)))
    neither = number - both - one - two
    rates = (both + one) / number, (both + two) / number
    (low1, high1), (low2, high2) = interval(both + one, number), interval(both + two, number)
    excess: float = both * neither - one * two
    excess = max(excess - number / 2, 0.0) if excess > 0 else excess
    margins = (both + one) * (two + neither) * (both + two) * (one + neither)
    phi = excess / math.sqrt(margins) if margins else 0.0

    def half(left: float, right: float) -> float:
        return math.sqrt(max(0.0, left * left - 2 * phi * left * right + right * right))

    difference = rates[1] - rates[0]
    return PairedComparison(
        number, one, two, difference,
        difference - half(rates[1] - low2, high1 - rates[0]),
        difference + half(high2 - rates[1], rates[0] - low1),
        float(binomtest(one, one + two).pvalue) if one + two else 1.0,
    )


def pass_at_k(samples: int, right: int, k: int) -> float:
    """The unbiased estimate for one task; see Chen et al., arXiv 2107.03374 (2021)."""
    return 1.0 - math.comb(samples - right, k) / math.comb(samples, k)


def mean_pass_at_k(rows: Sequence[SweepRow], k: int) -> float | None:
    """The mean over the tasks with k samples or more; `None` if there is no such task."""
    tasks: dict[str, list[bool]] = defaultdict(list)
    for row in rows:
        tasks[row.task].append(row.right)
    each = [pass_at_k(len(one), sum(one), k) for one in tasks.values() if len(one) >= k]
    return statistics.fmean(each) if each else None


def precision_recall(rows: Sequence[SweepRow]) -> list[tuple[float, int, int]]:
    """For each confidence, from the highest down, the patches from it on, and the right ones."""
    shown = [row for row in rows if row.shown]
    known = sorted((-row.confidence, row.right) for row in shown if row.confidence is not None)
    ends = {least: number for number, (least, _) in enumerate(known, 1)}
    return [
        (-least, number, sum(right for _, right in known[:number]))
        for least, number in ends.items()
    ]


def markdown(results: Results, ks: Sequence[int]) -> Iterator[str]:
    """Yields the lines of the report."""
    yield from _header("setting", "rows", "right", "rate (95 %)", "shown", "precision (95 %)",
                       "median s")
    for name, rows in results.items():
        right, shown = sum(row.right for row in rows), [row.right for row in rows if row.shown]
        median = statistics.median(row.seconds for row in rows)
        yield (
            f"| {name} | {len(rows)} | {right} | {_share(right, len(rows))} | {len(shown)} | "
            f"{_share(sum(shown), len(shown))} | {median:.1f} |"
        )
    # Several samples of a task are not independent, so the first is compared.
    first, *others = (
        {row.task: row.right for row in rows if row.sample == 1} for rows in results.values()
    )
    baseline, *names = results
    found = [compare(first, other) for other in others]
    if found:
        yield from _header(f"against {baseline}", "tasks", "difference in points (95 %)",
                           f"only {baseline} right", "only this right", "McNemar, exact p")
    for name, one in zip(names, found, strict=True):
        difference, low, high = (100 * value for value in (one.difference, one.low, one.high))
        yield (
            f"| {name} | {one.tasks} | {difference:+.1f} ({low:+.1f} to {high:+.1f}) | "
            f"{one.only_first} | {one.only_second} | {one.p:.3g} |"
        )
    if any(row.sample > 1 for rows in results.values() for row in rows):
        yield from _header("setting", *(f"pass@{k}" for k in ks))
        for name, rows in results.items():
            means = [mean_pass_at_k(rows, k) for k in ks]
            cells = ("-" if mean is None else f"{mean:.1%}" for mean in means)
            yield f"| {name} | {' | '.join(cells)} |"
    for name, rows in results.items():
        points = precision_recall(rows)
        if points:
            yield from _header(f"{name}: confidence from", "patches", "right",
                               "precision (95 %)", "recall (of all rows)")
        for least in THRESHOLDS:
            if within := [point for point in points if point[0] >= least]:
                _, patches, right = within[-1]
                yield (f"| {least:g} | {patches} | {right} | {_share(right, patches)} | "
                       f"{right / len(rows):.0%} |")


def _header(*names: str) -> Iterator[str]:
    yield from ("", f"| {' | '.join(names)} |", "|---" * len(names) + "|")


def _share(part: int, whole: int) -> str:
    low, high = interval(part, whole)
    return f"{part / whole:.1%} ({low:.1%} to {high:.1%})" if whole else "-"


def _figures(rows: Sequence[SweepRow]) -> dict[str, object]:
    right = sum(row.right for row in rows)
    return {
        "rows": len(rows), "with_truth": len(rows), "plausible": sum(row.shown for row in rows),
        "correct": right, "any": right,
        "seconds_median": statistics.median(row.seconds for row in rows),
    }


def plot(results: Results, folder: Path) -> None:
    """Draws the rates with their intervals, and precision and recall over the confidence."""
    from matplotlib.figure import Figure

    rates = Figure(figsize=(6, 1.2 + 0.4 * len(results)), layout="constrained")
    curves = Figure(figsize=(6, 4), layout="constrained")
    rate_axes, curve_axes = rates.subplots(), curves.subplots()
    for place, (name, rows) in enumerate(results.items()):
        right = sum(row.right for row in rows)
        rate, (low, high) = right / len(rows), interval(right, len(rows))
        rate_axes.errorbar([rate], [place], xerr=[[rate - low], [high - rate]], fmt="o", capsize=3)
        points = [(right / len(rows), right / all_) for _, all_, right in precision_recall(rows)]
        curve_axes.plot(*zip(*points, strict=True) if points else ([], []), ".-", label=name)
    rate_axes.set(yticks=range(len(results)), yticklabels=[*results], xlim=(0, 1),
                  xlabel="share right, with 95 % interval (Wilson)")
    rate_axes.invert_yaxis()
    curve_axes.set(xlim=(0, 1), ylim=(0, 1.02), xlabel="recall, of all rows",
                   ylabel="precision, from a confidence on")
    curve_axes.legend()
    rates.savefig(folder / "rates.png", dpi=100)
    curves.savefig(folder / "precision-recall.png", dpi=100)


def write_rows(lines: Sequence[Mapping[str, Any]], folder: Path) -> None:
    """Writes lines as JSONL and as Parquet, in which nested values are JSON texts."""
    import pyarrow
    from pyarrow import parquet

    text = "".join(json.dumps(line) + "\n" for line in lines)
    (folder / "rows.jsonl").write_text(text, "utf-8")
    flat = [
        {name: json.dumps(value) if isinstance(value, dict | list) else value
         for name, value in line.items()} for line in lines
    ]
    names = dict.fromkeys(name for line in flat for name in line)
    columns = {name: [line.get(name) for line in flat] for name in names}
    parquet.write_table(pyarrow.table(columns), folder / "rows.parquet")


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m evaluation.sweep", description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("settings", nargs="+", metavar="NAME=DIR", help="results of a setting")
    parser.add_argument("--out", type=Path, required=True, metavar="DIR")
    parser.add_argument("--k", type=count, nargs="+", default=[1, 5, 10], help="for pass@k")
    args = parser.parse_args(arguments)
    try:
        lines = {
            name: read_lines(Path(folder))
            for name, _, folder in (one.partition("=") for one in args.settings)
        }
        results = {
            name: [row for line in of_name if (row := SweepRow.of(line))]
            for name, of_name in lines.items()
        }
        if empty := [name for name, rows in results.items() if not rows]:
            raise BadResults(f"{empty[0]} has no row whose truth is known")
        report = "\n".join([*markdown(results, args.k)][1:]) + "\n"
        args.out.mkdir(parents=True, exist_ok=True)
        plot(results, args.out)
        write_rows(
            [{"setting": name, **line} for name, rows in lines.items() for line in rows], args.out
        )
        summary = {**provenance(), "figures": {name: _figures(results[name]) for name in results}}
        (args.out / "report.md").write_text(report, "utf-8")
        (args.out / "summary.json").write_text(json.dumps(summary, indent=2) + "\n", "utf-8")
    except ModuleNotFoundError as error:
        print(f"{error.name} is missing: pip install -e '.[statistics]'", file=sys.stderr)
        return USAGE
    except (BadResults, OSError, ValueError, KeyError, TypeError) as error:
        print(f"The results cannot be compared: {error}", file=sys.stderr)
        return USAGE
    print(report, end="")
    return HEALED


if __name__ == "__main__":
    raise SystemExit(main())
