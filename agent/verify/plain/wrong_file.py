"""Detects tests that ran another file than the judged one, and so show nothing about it.

`import calc` may load an installed package, a copy under `build/`, or a package's `__init__`; the
plain run reports which file was loaded.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence

from agent.core.domain import NEUTRAL_STATUSES
from agent.verify.plain.plain_run import PlainRun
from agent.verify.subject import Subject


def wrong_file(subject: Subject, run: PlainRun, code: str, *, is_entry: bool = False) -> str:
    """A message on what a test file ran in place of the program; empty where it ran the program,
    or may have tried to. Tests in the entry file itself (`is_entry`) need not use it."""
    entry = subject.solution.entry
    program_files = {file.path for file in subject.solution.files}
    if run.problem or not run.rows or not program_files.isdisjoint(run.loaded.values()):
        return ""
    stem = subject.name.rpartition(".")[2]
    other = _namesake(stem, run.loaded)
    if not other:
        if _may_have_imported([code, *subject.test_support.values()], stem, run):
            return ""
        support = {f.path for f in subject.task.support if not f.path.endswith("conftest.py")}
        other = next((path for path in run.loaded.values() if path in support), "")
    if not other:
        if is_entry:
            return ""
        return (
            f"Your tests never import {entry}, so they do not test it. Add to them: "
            f"from {stem} import …"
        )
    return (
        f"Your tests import {_shown(other)}, not {entry}, so they do not test it. Heal that file, "
        "or move this one to its place."
    )


def _may_have_imported(texts: Sequence[str], stem: str, run: PlainRun) -> bool:
    """Whether the import of the program may have failed, or the tests may read it as a file."""
    named = any(re.search(rf"\b({re.escape(stem)}|solution)\b", text) for text in texts)
    as_file = any(f"{stem}.py" in text for text in texts)
    fails = any(row.get("status") not in {"passed", *NEUTRAL_STATUSES} for row in run.rows.values())
    return as_file or (named and fails)


def _namesake(stem: str, loaded: Mapping[str, str]) -> str:
    """The file of another module or package with the program's name."""
    for name in sorted(loaded, key=len):
        path = loaded[name]
        if name != path and name.rpartition(".")[2] == stem:
            return path
    return ""


def _shown(path: str) -> str:
    """A path, relative to its folder of packages where it is in one."""
    for folder in ("site-packages", "dist-packages"):
        if f"{os.sep}{folder}{os.sep}" in path:
            return f"{path.partition(f'{folder}{os.sep}')[2]} (installed in {folder})"
    return path
