"""Which modules a program can import, and what to do about a missing one.

Only `installed_modules` reads the disk; everything else is pure.
"""

from __future__ import annotations

import os
import sys
import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from agent.core.domain import Task

OURS = (sys.version_info[0], sys.version_info[1])


@dataclass(frozen=True)
class _ModuleTable:
    well_known: frozenset[str]
    renamed_since_2: frozenset[str]
    removed: dict[str, str]
    """Modules removed from the standard library, and the first version without them."""
    pip: dict[str, str]


@cache
def _module_table() -> _ModuleTable:
    table = tomllib.loads(Path(__file__).with_name("modules.toml").read_text("utf-8"))
    removed = {name: since for since, names in table["removed"].items() for name in names}
    return _ModuleTable(
        frozenset(table["well_known"]) | table["pip"].keys(),
        frozenset(table["renamed_since_2"]), removed, table["pip"],
    )


@cache
def standard_modules(python_version: tuple[int, int] = OURS) -> frozenset[str]:
    """Top-level names of the standard library in a Python version."""
    removed = _module_table().removed.items()
    missing = {
        name for name, since in removed
        if python_version >= tuple(int(part) for part in since.split("."))
    }
    return (
        sys.stdlib_module_names | {"__main__", "__future__"} | {name for name, _ in removed}
    ) - missing


def explain_missing_package(name: str, task: Task) -> str:
    """Explains that a module which was not found is a missing package, and what to do.

    Empty for a misspelt module or one of the program itself, since these are bugs to repair.
    """
    known = standard_modules() | {one.partition(".")[0] for one in modules_of(task)}
    table = _module_table()
    is_package = name in table.well_known or name in table.removed
    if name in known or is_of_python_2(name) or (not is_package and nearest_module(name, known)):
        return ""
    nearest = name if is_package else nearest_module(name, table.well_known)
    advice = _advice(nearest or name)
    if is_package:
        return f"the package {name} is not installed here. {advice}"
    if nearest is not None:
        return (
            f"there is no module {name}: did you mean {nearest}? The package {nearest} is not "
            f"installed here. {advice}"
        )
    return (
        f"there is no module {name} here. If {name}.py is your own file, submit it with the "
        f"program (in a terminal: --with {name}.py). If it is a package, {advice[0].lower()}"
        f"{advice[1:]}"
    )


def modules_in(paths: Iterable[str]) -> frozenset[str]:
    """Dotted names by which the files at these paths can be imported from any folder."""
    found: set[str] = set()
    for path in paths:
        if path.endswith(".py"):
            parts = path.removesuffix(".py").removesuffix("/__init__").split("/")
            found |= {".".join(parts[start:]) for start in range(len(parts))}
    return frozenset(found)


def modules_of(task: Task) -> frozenset[str]:
    """Names of modules outside the standard library that a program of the task can import."""
    files = (*task.support, *(task.solution.files if task.solution else ()))
    return modules_in(file.path for file in files) | installed_modules(task.site_dirs)


def _advice(name: str) -> str:
    """A sentence that says what to do about a missing module."""
    known = _module_table()
    if name in known.removed:
        return (
            f"It was removed from the standard library in Python {known.removed[name]}. Use an "
            "older Python or its replacement."
        )
    nearest = None if name in known.well_known else nearest_module(name, known.well_known)
    if nearest is not None:
        return f"The name may be misspelt: did you mean {nearest}?"
    pip = known.pip.get(name, name)
    return f"Install it (pip install {pip}), or choose an interpreter that has it: --python PATH."


def well_known_modules() -> frozenset[str]:
    return _module_table().well_known


def is_of_python_2(name: str) -> bool:
    """Whether a module of Python 2 was renamed in Python 3."""
    return name in _module_table().renamed_since_2


def nearest_module(name: str, known: Iterable[str]) -> str | None:
    """The known module of which the name is most likely a misspelling."""
    allowed = 1 if len(name) <= 5 else 2
    if len(name) < 3:
        return None
    candidates = sorted(
        (distance(name.lower(), other.lower(), allowed), other)
        for other in known
        if not other.startswith("_") and abs(len(other) - len(name)) <= allowed and len(other) >= 3
    )
    if candidates and candidates[0][0] <= allowed:
        return candidates[0][1]
    return None


def distance(first: str, second: str, limit: int) -> int:
    """The Damerau-Levenshtein distance of two words, or `enough + 1` if it exceeds `limit`."""
    before: list[int] = []
    row = list(range(len(second) + 1))
    for i, a in enumerate(first, start=1):
        older, before, row = before, row, [i]
        for j, b in enumerate(second, start=1):
            cost = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (a != b))
            if i > 1 and j > 1 and a == second[j - 2] and first[i - 2] == b:
                cost = min(cost, older[j - 2] + 1)
            row.append(cost)
        if min(row) > limit:
            return limit + 1
    return min(row[-1], limit + 1)


def installed_modules(package_folders: Sequence[str]) -> frozenset[str]:
    """Top-level modules in these folders; editable installs are not visible in the sandbox."""
    found: set[str] = set()
    for site in package_folders:
        try:
            with os.scandir(site) as entries:
                found |= {
                    name for entry in entries
                    if (name := _module_name(entry.name, entry.is_dir())) is not None
                }
        except OSError:
            continue  # a missing folder has no modules
    return frozenset(found)


def _module_name(name: str, is_folder: bool) -> str | None:
    if is_folder:
        return name if name.isidentifier() and name != "__pycache__" else None
    stem, _, suffix = name.partition(".")
    importable = suffix == "py" or suffix.endswith(("so", "pyd"))
    return stem if importable and stem.isidentifier() else None
