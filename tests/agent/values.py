"""Values as many tests make them: a program of one file, and what a test says of it."""

from __future__ import annotations

from agent.core.domain import File, Solution, Verdict


def program(text: str, entry: str = "shop.py") -> Solution:
    return Solution(files=(File(path=entry, text=text),), entry=entry)


def verdict(status: str = "failed", name: str = "t", **fields: object) -> Verdict:
    known = {"name": name, "test": name, "origin": "user", "integrity": "outside"}
    return Verdict.model_validate({**known, "status": status, **fields})
