"""Statistics of a suite's results, for all rows and for groups of rows."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import TypedDict

from agent.core.domain import PROOF_ORDER
from evaluation.cases import Case
from evaluation.healing import HEALED, CaseRow

PROVEN = PROOF_ORDER[PROOF_ORDER.index("E2") :]


class Figures(TypedDict):
    """Statistics of rows; `correct` counts only rows with a truth."""

    rows: int
    outcomes: dict[str, int]
    with_truth: int
    first_pass: int
    """Rows whose first program passes."""
    plausible: int
    """Rows whose final program passes its tests, as the run reports."""
    correct: int
    """Rows whose final program, the first of the shown ones, is correct."""
    any: int
    """Rows with a correct program among the shown ones."""
    healed_with_truth: int
    by_proof: dict[str, dict[str, int]]
    """For each proof level, the numbers of healed and of correct rows with a truth."""
    overclaimed: list[str]
    """Rows with an incorrect repair at E2 or above."""
    seconds_median: float
    seconds_p90: float
    candidates_median: float
    iterations_mean: float


def figures(lines: Sequence[CaseRow]) -> Figures:
    """Computes the statistics of at least one line."""
    healed = [line for line in lines if line["outcome"] in HEALED]
    known = [line for line in lines if line["rank1_held_out"] is not None]
    healed_known = [line for line in healed if line["rank1_held_out"] is not None]
    seconds = sorted(line["seconds"] for line in lines)
    return Figures(
        rows=len(lines), outcomes=dict(sorted(Counter(line["outcome"] for line in lines).items())),
        with_truth=len(known), first_pass=sum(line["outcome"] == "healthy" for line in lines),
        plausible=len(healed), correct=sum(line["rank1_held_out"] is True for line in known),
        any=sum(line["any_held_out"] is True for line in known),
        healed_with_truth=len(healed_known),
        by_proof={
            level: {
                "healed": len(of_level),
                "correct": sum(line["rank1_held_out"] is True for line in of_level),
            }
            for level in PROOF_ORDER
            if (of_level := [line for line in healed_known if line["proof"] == level])
        },
        overclaimed=[
            line["id"] for line in healed_known
            if line["proof"] in PROVEN and not line["rank1_held_out"]
        ],
        seconds_median=statistics.median(seconds),
        seconds_p90=seconds[min(len(seconds) - 1, len(seconds) * 9 // 10)],
        candidates_median=statistics.median(line["candidates"] for line in lines),
        iterations_mean=round(statistics.fmean(line["iterations"] for line in lines), 2),
    )


def grouped(lines: Sequence[CaseRow], cases: Sequence[Case]) -> dict[str, Figures]:
    """Computes the statistics of all lines, and for each author and kind."""
    found = {"all": figures(lines)}
    for key in ("author", "kind"):
        values = {case.id: str(getattr(case, key)) for case in cases}
        for value in sorted({*values.values()} - {""}):
            of_value = [line for line in lines if values[line["id"]] == value]
            if 0 < len(of_value) < len(lines):
                found[f"{key} {value}"] = figures(of_value)
    return found


def table(found: Mapping[str, Figures]) -> Iterator[str]:
    width = max(len(name) for name in found)
    yield (
        f"{'':{width}}  {'rows':>4}  {'plausible':>12}  {'right, 1st':>12}  {'right, any':>12}"
        f"  {'median s':>8}  {'p90 s':>6}"
    )
    for name, one in found.items():
        yield (
            f"{name:{width}}  {one['rows']:>4}  {_share(one['plausible'], one['rows']):>12}"
            f"  {_share(one['correct'], one['with_truth']):>12}"
            f"  {_share(one['any'], one['with_truth']):>12}"
            f"  {one['seconds_median']:>8.2f}  {one['seconds_p90']:>6.2f}"
        )
    whole = found["all"]
    yield "outcomes: " + ", ".join(f"{name} {n}" for name, n in whole["outcomes"].items())
    passed, first = whole["plausible"], whole["first_pass"]
    yield (
        f"first pass {_share(first, whole['rows'])}, healed {passed - first}, "
        f"final {_share(passed, whole['rows'])}, unresolved {whole['rows'] - passed}; "
        f"{whole['iterations_mean']:g} iterations in the mean"
    )
    for level, counts in whole["by_proof"].items():
        yield f"proof {level}: {_share(counts['correct'], counts['healed'])} right"
    above = [counts for level, counts in whole["by_proof"].items() if level in PROVEN]
    right, healed = (sum(counts[key] for counts in above) for key in ("correct", "healed"))
    yield f"proof E2 or higher: {_share(right, healed)} right"
    if whole["overclaimed"]:
        yield f"  wrong: {', '.join(whole['overclaimed'])}"
    yield (
        f"correct program among the shown ones: {_share(whole['any'], whole['healed_with_truth'])} "
        "of the healed"
    )


def _share(part: int, whole: int) -> str:
    return f"{part}/{whole} {part / whole:4.0%}" if whole else "-"
