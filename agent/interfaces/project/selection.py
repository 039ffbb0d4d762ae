"""Decides whether a PATH is a project, and which of its tests are selected by ids, files, folders
and `--lf`."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from agent.search.project.recency import changed_lines
from agent.target.errors import BadInput
from agent.target.repository.layout import ROOT_MARKS, TEST_FILES, ProjectLayout, find_layout
from agent.target.repository.tree import (
    ProjectTree,
    distinguishing_patterns,
    is_collected,
    is_test_code,
    is_unittest,
)

if TYPE_CHECKING:
    from agent.interfaces.request import HealRequest

UNITTEST = ("-o", "python_files=test*.py", "-o", "consider_namespace_packages=true")
"""Options of pytest that collect and import tests as unittest does."""
RECENT_S, RECENT_SHARE = 60.0, 0.2
"""Test files written within so many seconds of the newest one count as recent, if they are at most
this share of all test files."""
LAST_FAILED = ".pytest_cache/v/cache/lastfailed"


def names_project(path: str, *, has_tests: bool = False) -> bool:
    """Whether a PATH names a project or its tests, and not a single program."""
    file = Path(path)
    if has_tests and file.is_file():
        return False
    return "::" in path or file.is_dir() or (file.is_file() and _is_test_file(file))


def _is_test_file(file: Path) -> bool:
    if file.suffix != ".py" or is_collected(file.name, TEST_FILES):
        return file.suffix == ".py"
    try:
        layout = find_layout(file)
        distinguishing = distinguishing_patterns(layout.test_files)
    except BadInput:
        return False  # the project's settings cannot be read
    return is_collected(to_node_id(str(file), layout), distinguishing)


def project_around(folder: Path) -> Path | None:
    """Returns the root of the project that contains a folder; `None` if there is none."""
    top = find_layout(folder).root
    return top if any((top / mark).exists() for mark in ROOT_MARKS) else None


def to_node_id(typed: str, layout: ProjectLayout) -> str:
    """Returns a typed path or test id as a node id relative to the project root."""
    path, separator, name = typed.partition("::")
    file = Path(os.path.abspath(path))
    inside = file.relative_to(layout.root) if file.is_relative_to(layout.root) else Path(path)
    return f"{'' if inside == Path('.') else inside.as_posix()}{separator}{name}"


def chosen(
    failing: Sequence[str], collected: Sequence[str], request: HealRequest, layout: ProjectLayout
) -> list[str]:
    """Returns the failing tests that were selected. Raises `BadInput` if a name matches none."""
    known = {*collected}
    named = {to_node_id(one, layout) for one in request.nodes}
    unmatched_names = named - known
    if request.failed_outside:  # the names of parameters may differ between runs
        unmatched_names = {one.partition("[")[0] for one in unmatched_names}
    else:
        for one in sorted(unmatched_names):
            if not any(is_below(node, one) for node in collected):
                raise BadInput(
                    f"pytest collects no test {one if '::' in one else f'in {one}'}. Use pytest "
                    f"test ids, or {layout.root} for all tests"
                )
    found = [
        one for one in failing
        if not named or one in named or any(is_below(one, name) for name in unmatched_names)
    ]
    if request.last_failed:
        failed = last_failed(layout)
        found = [one for one in found if any(is_below(one, name) for name in failed)]
    return found


def named_for_unittest(tree: ProjectTree) -> bool:
    """Whether only unittest finds tests in a project, and pytest's default settings do not."""
    layout = tree.layout
    return layout.test_files == TEST_FILES and not any(
        is_collected(path, TEST_FILES) for path in tree.files
    ) and any(is_unittest(path, text) for path, text in tree.files.items())


def django_settings(files: Iterable[str]) -> str:
    """Returns the dotted name of the first settings module among these files; empty without one."""
    found = sorted((path for path in files if path.endswith("settings.py")), key=lambda path: (
        not os.path.basename(path).startswith("test"), path
    ))
    return found[0].removesuffix(".py").replace("/", ".") if found else ""


def needs_no_pytest(tree: ProjectTree) -> bool:
    """Whether all tests of a project are unittest tests, so that it needs no pytest of its own."""
    cases = {path for path, text in tree.files.items() if is_unittest(path, text)}
    collected = {path for path in tree.files if is_collected(path, (*TEST_FILES, "conftest.py"))}
    return bool(cases) and collected <= cases


def command_without_pytest(files: Mapping[str, str]) -> str:
    """Returns the command that probably runs a project's tests without pytest; empty if none was
    recognized."""
    for name, words in (("manage.py", " test"), ("runtests.py", ""), ("tests/runtests.py", "")):
        if name in files:
            return f"python {name}{words}"
    settings = django_settings(files)
    if settings and any("from django.test import" in text for text in files.values()):
        return f"python -m django test --settings={settings}"
    cases = sorted(path for path, text in files.items() if is_unittest(path, text))
    folder = os.path.dirname(cases[0]) if cases else ""
    inside = f" discover -s {folder}" if folder and f"{folder}/__init__.py" not in files else ""
    return f"python -m unittest{inside}" if cases else ""


def is_below(node: str, name: str) -> bool:
    """Whether a test has this name, or is in the file, folder or class of this name."""
    return not name or node == name or node.startswith((f"{name}::", f"{name}[", f"{name}/"))


def likely_failing_files(
    layout: ProjectLayout, files: Mapping[str, str], nodes: Sequence[str] = ()
) -> list[str]:
    """Returns the test files that probably fail: those of `nodes`, those that failed in the last
    run of pytest, those changed since the last commit (if none, since the commit before), and, if
    they are few, those written within a minute of the newest."""
    named = [to_node_id(one, layout).partition("::")[0] for one in nodes]
    found = [path for path in files if any(is_below(path, one) for one in named if one)]
    with suppress(BadInput):  # there is no cache
        found += sorted({node.partition("::")[0] for node in last_failed(layout)} & files.keys())
    tests = [path for path, text in files.items() if is_test_code(path, text)]
    changed = changed_lines(layout.root, files, tests)
    if not changed:
        with suppress(BadInput):  # there is one commit only
            changed = changed_lines(layout.root, files, tests, "HEAD^")
    written = {one: at for one in tests if (at := _written_at(layout.root / one))}
    recent = sorted(one for one, at in written.items() if at > max(written.values()) - RECENT_S)
    few = recent if len(recent) <= RECENT_SHARE * len(written) else []
    return [*dict.fromkeys((*found, *sorted(changed), *few))]


def _written_at(path: Path) -> float:
    """The time when a file was last changed; 0 if it cannot be read."""
    with suppress(OSError):
        return path.stat().st_mtime
    return 0.0


def last_failed(layout: ProjectLayout) -> frozenset[str]:
    """Returns the tests and whole files that failed in pytest's last run, from its cache."""
    try:
        return frozenset(json.loads((layout.root / LAST_FAILED).read_text("utf-8")))
    except FileNotFoundError as error:
        raise BadInput(
            f"--lf: there is no {LAST_FAILED} in {layout.root}. Run pytest there first, or leave "
            "the option out"
        ) from error
    except (OSError, ValueError) as error:
        raise BadInput(f"--lf: {LAST_FAILED} cannot be read: {error}. Run pytest again") from error
