"""Tests that ran another file than the one that is judged: they show nothing of it.

An installed package, a copy under `build/`, a package's `__init__`: what `import calc` loads is
decided by Python, and the plain run tells which file that was.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence

from agent.core.domain import EXCLUDED
from agent.verify.plain.plain_run import PlainRun
from agent.verify.subject import Subject


def astray(subject: Subject, run: PlainRun, code: str, *, own: bool = False) -> str:
    """What a file of tests ran in place of the program, in words; empty where it ran the program,
    or may have tried to. The program's `own` tests may also use nothing of it."""
    entry = subject.solution.entry
    own_files = {file.path for file in subject.solution.files}
    if run.problem or not run.rows or not own_files.isdisjoint(run.loaded.values()):
        return ""
    stem = subject.name.rpartition(".")[2]
    other = _namesake(stem, run.loaded)
    if not other:
        if _may_have_tried([code, *subject.test_support.values()], stem, run):
            return ""
        beside = {f.path for f in subject.task.support if not f.path.endswith("conftest.py")}
        other = next((path for path in run.loaded.values() if path in beside), "")
    if not other:
        if own:
            return ""
        return (
            f"Your tests never import {entry}: they show nothing of it. Write in them: "
            f"from {stem} import …"
        )
    return (
        f"Your tests import {_shown(other)}, not {entry}: they show nothing of it. Heal that one, "
        "or lay this one in its place."
    )


def _may_have_tried(texts: Sequence[str], stem: str, run: PlainRun) -> bool:
    """Whether importing the program may be what failed, or it may have been read as a file."""
    named = any(re.search(rf"\b({re.escape(stem)}|solution)\b", text) for text in texts)
    as_file = any(f"{stem}.py" in text for text in texts)
    fails = any(row.get("status") not in {"passed", *EXCLUDED} for row in run.rows.values())
    return as_file or (named and fails)


def _namesake(stem: str, loaded: Mapping[str, str]) -> str:
    """The file of a module or package that has the program's name."""
    for name in sorted(loaded, key=len):
        path = loaded[name]
        if name != path and name.rpartition(".")[2] == stem:
            return path
    return ""


def _shown(path: str) -> str:
    """A path in a folder of packages without that folder's own path."""
    for folder in ("site-packages", "dist-packages"):
        if f"{os.sep}{folder}{os.sep}" in path:
            return f"{path.partition(f'{folder}{os.sep}')[2]} (installed in {folder})"
    return path
