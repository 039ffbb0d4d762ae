"""`docs/promises.md` is whole: each row names tests that there are, or says what is not there."""

from __future__ import annotations

import ast
import functools
import re
from pathlib import Path

ROOT = Path(__file__).parent.parent
TEXT = (ROOT / "docs/promises.md").read_text("utf-8")
HEAD = "| what a user can do | how | shown by |"
ROWS = [line for line in TEXT.splitlines() if line.startswith("| ") and line != HEAD]


@functools.cache
def named_in(path: str) -> set[str]:
    """The test functions of a file, read and not imported."""
    return {
        one.name for one in ast.parse((ROOT / path).read_text("utf-8")).body
        if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef) and one.name.startswith("test_")
    }


def test_each_row_names_tests_that_there_are_or_says_what_is_not() -> None:
    assert (TEXT.count(HEAD), len(ROWS) > 85) == (6, True)
    for row in ROWS:
        _what, _how, shown = row.removeprefix("| ").removesuffix(" |").split(" | ")
        if shown.startswith("not: "):
            continue
        named = re.findall(r"`(tests/[\w/]+\.py)::(test_\w+)`", shown)
        assert shown == ", ".join(f"`{path}::{name}`" for path, name in named) != "", row
        assert not [name for path, name in named if name not in named_in(path)], row
