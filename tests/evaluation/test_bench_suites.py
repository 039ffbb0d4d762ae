"""The project's own suites: every row is what its fields say."""

from __future__ import annotations

import ast
import gc
import json
import signal
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from evaluation.cases import read_cases

BENCH = Path(__file__).parents[2] / "evaluation" / "bench"
SUITES = [BENCH / "seen.jsonl", BENCH / "unseen.jsonl", BENCH / "blind.jsonl"]
THIN = BENCH / "thin.jsonl"
FIELDS = {
    "id", "kind", "author", "licence", "entry_point", "setup", "buggy", "fixed", "tests",
    "held_out",
}
KINDS = {
    "logic", "crash", "syntax", "spec", "two-edit", "three-edit", "class", "recursion",
    "generator", "string", "date", "parsing",
}
BY_SIGHT = {"logic", "syntax"}
"""Kinds of a suite whose rows were not told apart further."""
LONGEST_S, AGAIN_S = 0.5, 0.05


class TooLong(BaseException):
    """No program's own `except` stops it."""


@contextmanager
def _at_most(seconds: float) -> Iterator[None]:
    def stop(number: int, frame: object) -> None:
        raise TooLong

    before = signal.signal(signal.SIGALRM, stop)
    # What is raised in a callback of the collector, for objects of other tests, is lost: so it
    # does not run meanwhile, and the alarm rings again.
    gc.disable()
    signal.setitimer(signal.ITIMER_REAL, seconds, AGAIN_S)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
        gc.enable()


def failures(row: dict[str, Any], program: str, codes: list[str]) -> list[str]:
    """Those of the tests that a program of ours does not pass, each on the program afresh."""
    failed = []
    for code in codes:
        try:
            with _at_most(LONGEST_S):
                space: dict[str, Any] = {"__name__": "solution"}
                exec(compile(f"{row['setup']}\n{program}", row["id"], "exec"), space)
                exec(compile(code, row["id"], "exec"), space)
        except (Exception, TooLong):
            failed.append(code)
    return failed


def compiles(text: str) -> bool:
    try:
        ast.parse(text)
    except SyntaxError:
        return False
    return True


def problems(row: dict[str, Any], stem: str) -> Iterator[str]:
    if row.keys() != FIELDS:
        yield f"its fields are {sorted(row)}"
        return
    if row["kind"] not in KINDS or row["author"] != stem or row["licence"] != "MIT":
        yield "its kind, author or licence"
    if not row["id"].startswith(f"{stem}/"):
        yield "its id"
    if not 3 <= len(row["tests"]) <= 6 or len(row["held_out"]) < 5:
        yield "the number of its tests"
    if set(row["tests"]) & set(row["held_out"]):
        yield "a test that is held out is shown too"
    if (row["kind"] == "syntax") == compiles(row["buggy"]):
        yield "whether the broken program compiles"
    if not failures(row, row["buggy"], row["tests"]):
        yield "the broken program passes its tests"
    yield from failures(row, row["fixed"], [*row["tests"], *row["held_out"]])


@pytest.mark.parametrize("path", SUITES, ids=lambda path: path.stem)
def test_every_row_is_what_its_fields_say(path: Path) -> None:
    found = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]

    assert len(found) >= 45
    assert {row["kind"] for row in found} == (BY_SIGHT if path.stem == "blind" else KINDS)
    assert not [f"{row['id']}: {said}" for row in found for said in problems(row, path.stem)]
    assert all(case.has_truth for case in read_cases(path))


def test_thin_tests_do_not_pass_the_broken_program_and_the_truth_is_the_right_ones() -> None:
    rows = [json.loads(line) for line in THIN.read_text(encoding="utf-8").splitlines()]

    assert len({row["kind"] for row in rows}) >= 12
    assert [row["id"] for row in rows if not failures(row, row["buggy"], row["tests"])] == []
    assert [
        row["id"] for row in rows
        if failures(row, row["fixed"], [*row["tests"], *row["held_out"]])
    ] == []
    assert all(case.has_truth for case in read_cases(THIN))


def test_no_two_rows_are_about_the_same_program() -> None:
    names = Counter(
        json.loads(line)["entry_point"]
        for path in SUITES for line in path.read_text(encoding="utf-8").splitlines()
    )
    assert not [name for name, count in names.items() if count > 1]
