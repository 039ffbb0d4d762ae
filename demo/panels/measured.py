"""Reads the results of benchmarks from the data folder of this machine."""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

FOLDER = "benchmarks"
MAX_SHOWN = 20
LARGEST_BYTES = 1_000_000
Share = tuple[int, int]
"""A count and its total."""


@dataclass(frozen=True)
class BenchmarkTable:
    """The results of one benchmark: their provenance, and a row for each group."""

    name: str
    provenance: tuple[tuple[str, str], ...]
    rows: tuple[tuple[str, tuple[Share, Share, Share], float], ...]
    """Name; shares that pass their tests, are right at first, or right at all; median seconds."""
    plots: tuple[tuple[str, str], ...] = ()
    """Name and PNG, in base64, of the plots of `evaluation.sweep`."""


def measured(data: Path) -> tuple[BenchmarkTable, ...]:
    """Returns the results of all benchmarks, newest first."""
    found = sorted(
        data.glob(f"{FOLDER}/*/summary.json"), key=lambda path: path.stat().st_mtime, reverse=True
    )
    return tuple(_read(path) for path in found[:MAX_SHOWN])


def command(data: Path | None) -> str:
    """Returns the command that runs a benchmark for this page. Without `data`, it does not show the
    data folder."""
    return (
        "python -m evaluation.run_benchmark --suite evaluation/bench/seen.jsonl "
        f"--provider mock --out {data or 'HEAL_DATA_DIR'}/{FOLDER}/seen"
    )


def _read(path: Path) -> BenchmarkTable:
    when = datetime.fromtimestamp(path.stat().st_mtime, UTC)
    facts = [("results", f"{FOLDER}/{path.parent.name}/{path.name}")]
    try:
        if path.stat().st_size > LARGEST_BYTES:
            raise ValueError("it is too large")
        found = json.loads(path.read_text(encoding="utf-8"))
        rows = tuple(_rows(found["figures"]))
        when = datetime.fromisoformat(found.get("measured") or when.isoformat())
        facts += [
            (name.replace("_", " "), str(found[name]))
            for name in ("version", "cores", "suite", "provider", "budget_s", "max_candidates",
                         "hold_out", "workers")
            if found.get(name) is not None
        ]
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        facts, rows = [*facts, ("cannot be read", str(error))], ()
    at = ("measured", f"{when:%d %b %Y, %H:%M} UTC, on this machine")
    return BenchmarkTable(path.parent.name, (at, *facts), rows, tuple(_plots(path.parent)))


def _plots(folder: Path) -> Iterator[tuple[str, str]]:
    for name in ("rates", "precision-recall"):
        path = folder / f"{name}.png"
        if path.is_file() and path.stat().st_size <= LARGEST_BYTES:
            yield name, b64encode(path.read_bytes()).decode("ascii")


def _rows(
    figures: Mapping[str, Mapping[str, Any]]  # JSON; an invalid value raises
) -> Iterator[tuple[str, tuple[Share, Share, Share], float]]:
    for name, one in figures.items():
        shares = (
            (int(one["plausible"]), int(one["rows"])),
            (int(one["correct"]), int(one["with_truth"])),
            (int(one["any"]), int(one["with_truth"])),
        )
        yield name, shares, float(one["seconds_median"])
