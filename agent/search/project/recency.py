"""Finds recently changed lines by git, and ranks suspects with such lines higher."""

from __future__ import annotations

import ast
import difflib
import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from agent.core.trees import nodes_or_empty
from agent.search.project.suspects import Suspect, first_line
from agent.target.errors import BadInput
from agent.target.repository.git import GitError, git

UNCHANGED = 0.7
"""A factor of the suspicion of an unchanged function if another suspect changed."""
MAX_CHANGED = 200
"""If more files changed, changes are ignored."""


def changed_lines(
    root: Path, files: Mapping[str, str], paths: Iterable[str], since: str = ""
) -> dict[str, tuple[int, ...]]:
    """The lines of each file in `paths` that differ from a commit, by default the last one.

    Empty if the project is not under version control.

    Raises:
        BadInput: `since` is not a commit.
    """
    try:
        commit = _line_of(root, "rev-parse", "--verify", "--end-of-options",
                          f"{since or 'HEAD'}^{{commit}}")
        prefix = _line_of(root, "rev-parse", "--show-prefix")
        listed = git(root, "ls-tree", "-r", "-z", "--full-tree", commit)
    except GitError as error:
        if since:
            raise BadInput(f"--since {since}: {error}") from error
        return {}
    blobs = {}
    for row in listed.decode("utf-8", "surrogateescape").split("\0"):
        details, _, path = row.partition("\t")
        if path.startswith(prefix) and details.split(" ")[1:2] == ["blob"]:
            blobs[path.removeprefix(prefix)] = details.split(" ")[2]
    changed = [path for path in paths if _object_id(files[path], commit) != blobs.get(path)]
    if len(changed) > MAX_CHANGED:
        return {}
    ignored = _ignored(root, [path for path in changed if path not in blobs])
    found = {
        path: _differing_lines(_blob(root, blobs[path]) if path in blobs else "", files[path])
        for path in changed if path not in ignored
    }
    return {path: lines for path, lines in found.items() if lines}


def _ignored(root: Path, new: Sequence[str]) -> set[str]:
    """The untracked paths that git ignores, which are generated."""
    if not new:
        return set()
    try:
        listed = git(root, "ls-files", "-z", "--others", "--ignored", "--exclude-standard", "--",
                   *(f":(literal){path}" for path in new))
    except GitError:
        return set()  # an unreadable ignore file
    return {*listed.decode("utf-8", "surrogateescape").split("\0")}


def changed_first(
    suspects: Sequence[Suspect], files: Mapping[str, str], changed: Mapping[str, Sequence[int]]
) -> list[Suspect]:
    """Ranks suspects with a lower suspicion for functions without `changed` lines.

    If no suspect has changed lines, the suspicions stay.
    """
    touched_in = {
        one.file: _touched(one, files[one.file], changed.get(one.file, ())) for one in suspects
    }
    if not any(touched_in.values()):
        return [*suspects]
    found = []
    for one in suspects:
        touched = touched_in[one.file]
        functions = {
            first: suspicion * (1.0 if first in touched else UNCHANGED)
            for first, suspicion in one.functions.items()
        }
        module_suspicion = one.suspicion * (1.0 if 0 in touched else UNCHANGED)
        found.append(replace(
            one, suspicion=max([module_suspicion, *functions.values()]), functions=functions,
        ))
    return sorted(found, key=lambda one: (-one.suspicion, one.file))


def _touched(one: Suspect, text: str, lines: Sequence[int]) -> set[int]:
    """The first lines of its functions that contain the lines; 0 for lines outside of functions."""
    if not lines:
        return set()
    spans = {
        first_line(node): node.end_lineno for node in nodes_or_empty(text)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    }
    around = {
        line: [first for first, last in spans.items() if first <= line <= (last or first)]
        for line in lines
    }
    inside = {first for firsts in around.values() for first in firsts if first in one.functions}
    return inside | ({0} if not all(around.values()) else set())


def _line_of(root: Path, *arguments: str) -> str:
    return git(root, *arguments).decode("utf-8", "surrogateescape").removesuffix("\n")


def _object_id(text: str, commit: str) -> str:
    content = text.encode("utf-8", "surrogateescape")
    kind = hashlib.sha1 if len(commit) == 40 else hashlib.sha256
    return kind(b"blob %d\0" % len(content) + content).hexdigest()


def _blob(root: Path, object_id: str) -> str:
    try:
        return git(root, "cat-file", "blob", object_id).decode("utf-8", "surrogateescape")
    except GitError:
        return ""  # missing in a partial clone


def _differing_lines(before: str, after: str) -> tuple[int, ...]:
    """The new or changed lines of `after`, and the lines next to deleted ones."""
    old, new = before.splitlines(), after.splitlines()
    found: set[int] = set()
    matcher = difflib.SequenceMatcher(None, old, new, autojunk=False)
    for kind, _, _, first, last in matcher.get_opcodes():
        if kind == "delete":
            found |= {first, first + 1}
        elif kind != "equal":
            found |= {*range(first + 1, last + 1)}
    return tuple(sorted(line for line in found if 0 < line <= len(new)))
