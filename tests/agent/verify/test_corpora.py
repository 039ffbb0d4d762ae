"""What strangers wrote: honest files come out as under pytest, and forgers are not believed.

Each line of a corpus is a program with its tests (`evaluation.verdicts`); an honest one tells how
its tests come out under plain pytest (`outcomes`), a forged one whether plain pytest is deceived
(`plain`), and whether what it does is a sign that the judge promises to see (`listed`). `make test`
runs a few rows of each, `make test-all` all of them.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from evaluation.verdicts import BENCH, Comparison, VerdictCase, judged
from sandbox.sandbox import Sandbox

pytestmark = pytest.mark.slow
HONEST = ("honest.jsonl", "honest_own.jsonl")
FORGED = ("forged.jsonl", "forged_own.jsonl")
FEW = 10
ROOT = Path(__file__).parents[3]
NAMED = frozenset(re.findall(
    r"`([a-z0-9]+-[\w-]+)`", (ROOT / "docs" / "threat-model.md").read_text("utf-8")
))
"""Forgeries that are told to pass, one by one."""

Row = dict[str, Any]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    for name, rows in (("honest", _rows(HONEST)), ("forged", _promised())):
        if name in metafunc.fixturenames:
            whole = metafunc.config.getoption("--whole")
            chosen = rows if whole else sorted(rows, key=_by_chance)[:FEW]
            metafunc.parametrize(name, chosen, ids=[row["id"] for row in chosen])


def _promised() -> list[Row]:
    return [row for row in _rows(FORGED) if row["listed"] or row["plain"] != "passed"]


def _rows(files: Iterable[str]) -> list[Row]:
    return [
        json.loads(line) for file in files
        for line in (BENCH / file).read_text("utf-8").splitlines()
    ]


def _by_chance(row: Row) -> bytes:
    return hashlib.sha256(row["id"].encode()).digest()


async def _seen(row: Row, plain: dict[str, str], sandbox: Sandbox) -> Comparison:
    case = VerdictCase(
        row["id"], row["kind"], row["program"], row["tests"], bool(row["snippet"]),
        tuple((row["support"] or {}).items()), row["stdin"] or "",
    )
    report, refused = await judged(case, sandbox)
    return Comparison(case, plain, report.verdicts if report is not None else (), refused)


async def test_an_honest_file_comes_out_as_under_pytest(honest: Row, jail: Sandbox) -> None:
    seen = await _seen(honest, honest["outcomes"], jail)

    assert seen.differing == []
    assert [(verdict.name, verdict.disbelieved) for verdict in seen.unbelieved] == []


async def test_a_forger_is_not_believed(forged: Row, jail: Sandbox) -> None:
    seen = await _seen(forged, {"": forged["plain"]}, jail)

    assert seen.believed == ""


@pytest.mark.nightly
async def test_each_believed_forgery_is_in_the_threat_model(jail: Sandbox) -> None:
    others = [row for row in _rows(FORGED) if row not in _promised()]

    seen = [await _seen(row, {"": row["plain"]}, jail) for row in others]

    assert {one.case.id for one in seen if one.believed} <= NAMED


def test_what_the_threat_model_names_is_a_forgery_of_the_corpora() -> None:
    forged = {row["id"] for row in _rows(FORGED)}

    assert {name for name in NAMED if name[0] in "rnyo" and name[1:2] in "0123456789-"} <= forged
