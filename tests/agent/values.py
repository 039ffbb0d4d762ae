"""Values as many tests make them: programs of one file, what tests say of them, tables of data."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

from agent.core.domain import File, Solution, Verdict
from agent.search.edits import Edit, edits_by_cost
from agent.search.program import Program


def program(text: str, entry: str = "shop.py") -> Solution:
    return Solution(files=(File(path=entry, text=text),), entry=entry)


def verdict(status: str = "failed", name: str = "t", **fields: object) -> Verdict:
    known = {"name": name, "test": name, "origin": "user", "integrity": "isolated"}
    return Verdict.model_validate({**known, "status": status, **fields})


def table(test: str, name: str) -> dict[str, Any]:
    """What stands in a file of TOML beside a test."""
    return tomllib.loads(Path(test).with_name(name).read_text("utf-8"))


def single_edits(program: Program, suspicion: dict[int, float], **how: Any) -> list[Edit]:
    """All of `edits_by_cost`, each once, the cheapest first."""
    found: dict[tuple[int, int, str], Edit] = {}
    for edit in sorted(edits_by_cost(program, suspicion, **how), key=lambda one: one.cost):
        found.setdefault(edit.place, edit)
    return list(found.values())
