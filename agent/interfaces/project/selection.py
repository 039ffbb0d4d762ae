"""Whether a PATH means a project, and which of its tests: ids, files, folders, `-k`, `--lf`."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from agent.target.errors import BadInput
from agent.target.repository.layout import ROOT_MARKS, TEST_FILES, ProjectLayout, find_layout
from agent.target.repository.tree import (
    ProjectTree,
    distinguishing_patterns,
    is_collected,
    is_unittest,
)

if TYPE_CHECKING:
    from agent.interfaces.request import HealRequest

UNITTEST = ("-o", "python_files=test*.py")
LAST_FAILED = ".pytest_cache/v/cache/lastfailed"


def is_of_project(path: str, *, has_tests: bool = False) -> bool:
    """Whether a PATH names a project or its tests, and no program."""
    place = Path(path)
    if has_tests and place.is_file():
        return False
    return "::" in path or place.is_dir() or (place.is_file() and _is_test_file(place))


def _is_test_file(place: Path) -> bool:
    if place.suffix != ".py" or is_collected(place.name, TEST_FILES):
        return place.suffix == ".py"
    try:
        layout = find_layout(place)
        distinguishing = distinguishing_patterns(layout.test_files)
    except BadInput:
        return False  # settings that cannot be read say nothing of a file
    return is_collected(node_at(str(place), layout), distinguishing)


def project_around(folder: Path) -> Path | None:
    """The top of the project that a folder lies in; `None` where it lies in none."""
    top = find_layout(folder).root
    return top if any((top / mark).exists() for mark in ROOT_MARKS) else None


def node_at(typed: str, layout: ProjectLayout) -> str:
    """A node id from the project's root."""
    path, mark, name = typed.partition("::")
    place = Path(os.path.abspath(path))
    inside = place.relative_to(layout.root) if place.is_relative_to(layout.root) else Path(path)
    return f"{'' if inside == Path('.') else inside.as_posix()}{mark}{name}"


def chosen(
    failing: Sequence[str], collected: Sequence[str], request: HealRequest, layout: ProjectLayout
) -> list[str]:
    """The failing tests that were asked for. Raises: BadInput: a name of no test."""
    known = {*collected}
    named = {node_at(one, layout) for one in request.nodes}
    wider = named - known
    if request.failed_outside:  # parameters may be called otherwise in each run
        wider = {one.partition("[")[0] for one in wider}
    else:
        for one in sorted(wider):
            if not any(is_below(node, one) for node in collected):
                raise BadInput(
                    f"pytest collects no test {one if '::' in one else f'in {one}'}: name tests as "
                    f"it does, or {layout.root} for all of them"
                )
    found = [
        one for one in failing
        if not named or one in named or any(is_below(one, name) for name in wider)
    ]
    if request.last_failed:
        failed = last_failed(layout)
        found = [one for one in found if any(is_below(one, name) for name in failed)]
    return found


def named_for_unittest(tree: ProjectTree) -> bool:
    """Whether unittest finds tests in a project in which pytest by itself finds none."""
    layout = tree.layout
    return layout.test_files == TEST_FILES and not any(
        is_collected(path, TEST_FILES) for path in tree.files
    ) and any(is_unittest(path, text) for path, text in tree.files.items())


def is_below(node: str, name: str) -> bool:
    """Whether a test is the one of this name, or lies in the file, folder or class of it."""
    return not name or node == name or node.startswith((f"{name}::", f"{name}[", f"{name}/"))


def last_failed(layout: ProjectLayout) -> frozenset[str]:
    """Tests that failed in pytest's last run, and files that failed as a whole, from its cache."""
    try:
        said = json.loads((layout.root / LAST_FAILED).read_text("utf-8"))
    except FileNotFoundError as error:
        raise BadInput(
            f"--lf: there is no {LAST_FAILED} in {layout.root}: run pytest there first, or leave "
            "the option out"
        ) from error
    except (OSError, ValueError) as error:
        raise BadInput(f"--lf: {LAST_FAILED} cannot be read: {error}") from error
    return frozenset(said)
