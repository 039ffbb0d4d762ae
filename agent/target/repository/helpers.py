"""Finds loose modules of a project that only its tests import, which are test code."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from pathlib import PurePosixPath

from agent.core.trees import nodes_or_empty
from agent.target.parsing import imports, is_import
from agent.target.repository.layout import ProjectLayout

_PACKAGING_FILES = ("pyproject.toml", "setup.cfg", "setup.py")


def test_only_modules(
    files: Mapping[str, str], shipped: Collection[str], layout: ProjectLayout
) -> frozenset[str]:
    """The modules at the root that only tests import, in a project with a package or `src` folder.

    `shipped` are the files that may be shipped. A module named in the packaging files is shipped.
    """
    packaging = "\n".join(files.get(name, "") for name in _PACKAGING_FILES)
    loose = {
        path for path in shipped
        if "/" not in path and not re.search(rf"\b{re.escape(path[:-3])}\b", packaging)
    }
    if not loose or not any("/" in path and _is_packaged(path, files, layout) for path in shipped):
        return frozenset()
    importers: dict[str, set[str]] = {path: set() for path in loose}
    for path, text in files.items():
        if path.endswith(".py"):
            for named in _named(text):
                if f"{named}.py" in importers and path != f"{named}.py":
                    importers[f"{named}.py"].add(path)
    found: set[str] = set()
    while True:
        more = {
            path for path, users in importers.items()
            if users and not (users & {*shipped}) - found
        } - found
        if not more:
            return frozenset(found)
        found |= more


def _is_packaged(path: str, files: Mapping[str, str], layout: ProjectLayout) -> bool:
    top = PurePosixPath(path).parts[0]
    return f"{top}/__init__.py" in files or top in layout.import_roots


def _named(text: str) -> Iterator[str]:
    """The top-level names of the modules that a text imports."""
    for one in imports(*filter(is_import, nodes_or_empty(text))):
        yield (one.module or one.name).partition(".")[0]
