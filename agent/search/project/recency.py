"""What of a project changed lately, as git knows it: where a fault is looked for first."""

from __future__ import annotations

import ast
import difflib
import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from agent.core.trees import readable_nodes
from agent.search.project.suspects import Suspect
from agent.target.errors import BadInput
from agent.target.repository.git import GitFault, git

UNCHANGED = 0.7
"""The suspicion of a function that did not change, where another suspect did."""
MAX_CHANGED = 200
"""Files; where more are other, recency tells nothing."""


def changed_lines(
    root: Path, files: Mapping[str, str], paths: Iterable[str], since: str = ""
) -> dict[str, tuple[int, ...]]:
    """For each of these files that is not as a commit has it, its lines that are other; by
    default those since the last commit. Where git knows nothing, nothing; raises `BadInput` for a
    commit that was asked for and is none."""
    try:
        commit = _said(root, "rev-parse", "--verify", "--end-of-options",
                       f"{since or 'HEAD'}^{{commit}}")
        prefix = _said(root, "rev-parse", "--show-prefix")
        listed = git(root, "ls-tree", "-r", "-z", "--full-tree", commit)
    except GitFault as error:
        if since:
            raise BadInput(f"--since {since}: {error}") from error
        return {}
    blobs = {}
    for row in listed.decode("utf-8", "surrogateescape").split("\0"):
        about, _, path = row.partition("\t")
        if path.startswith(prefix) and about.split(" ")[1:2] == ["blob"]:
            blobs[path.removeprefix(prefix)] = about.split(" ")[2]
    other = [path for path in paths if _address(files[path], commit) != blobs.get(path)]
    if len(other) > MAX_CHANGED:
        return {}
    other = _without_ignored(root, other, [path for path in other if path not in blobs])
    found = {}
    for path in other:
        before = _blob(root, blobs[path]) if path in blobs else ""
        lines = _other_lines(before, files[path])
        if lines:
            found[path] = lines
    return found


def _without_ignored(root: Path, paths: Sequence[str], new: Sequence[str]) -> list[str]:
    """These paths without those of the new ones that git ignores: they are generated."""
    if not new:
        return [*paths]
    try:
        listed = git(root, "ls-files", "-z", "--others", "--ignored", "--exclude-standard", "--",
                   *(f":(literal){path}" for path in new))
    except GitFault:
        return [*paths]  # an ignore file that cannot be read ignores nothing
    ignored = {*listed.decode("utf-8", "surrogateescape").split("\0")}
    return [path for path in paths if path not in ignored]


def lately(
    suspects: Sequence[Suspect], files: Mapping[str, str], changed: Mapping[str, Sequence[int]]
) -> list[Suspect]:
    """The suspects with those functions ahead of others that hold changed lines; as they are where
    none does, or all."""
    held = {one.file: _touched(one, files[one.file], changed.get(one.file, ())) for one in suspects}
    if not any(held.values()):
        return [*suspects]
    found = []
    for one in suspects:
        touched = held[one.file]
        functions = {
            first: suspicion * (1.0 if first in touched else UNCHANGED)
            for first, suspicion in one.functions.items()
        }
        at_the_top = one.suspicion * (1.0 if 0 in touched else UNCHANGED)
        found.append(replace(
            one, suspicion=max([at_the_top, *functions.values()]), functions=functions,
        ))
    return sorted(found, key=lambda one: (-one.suspicion, one.file))


def _touched(one: Suspect, text: str, lines: Sequence[int]) -> set[int]:
    """First lines of its functions that hold one of these lines; 0 for lines outside of all."""
    if not lines:
        return set()
    nodes = readable_nodes(text)
    spans = {
        min([node.lineno, *(above.lineno for above in node.decorator_list)]): node.end_lineno
        for node in nodes if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    }
    around = {
        line: [first for first, last in spans.items() if first <= line <= (last or first)]
        for line in lines
    }
    inside = {first for firsts in around.values() for first in firsts if first in one.functions}
    return inside | ({0} if not all(around.values()) else set())


def _said(root: Path, *arguments: str) -> str:
    return git(root, *arguments).decode("utf-8", "surrogateescape").removesuffix("\n")


def _address(text: str, commit: str) -> str:
    content = text.encode("utf-8", "surrogateescape")
    kind = hashlib.sha1 if len(commit) == 40 else hashlib.sha256
    return kind(b"blob %d\0" % len(content) + content).hexdigest()


def _blob(root: Path, address: str) -> str:
    try:
        return git(root, "cat-file", "blob", address).decode("utf-8", "surrogateescape")
    except GitFault:
        return ""  # a partial clone that does not have it


def _other_lines(before: str, after: str) -> tuple[int, ...]:
    """Lines of a text that another does not have, and those beside what it has no more."""
    old, new = before.splitlines(), after.splitlines()
    found: set[int] = set()
    for kind, _, _, first, last in difflib.SequenceMatcher(
        None, old, new, autojunk=False
    ).get_opcodes():
        if kind == "delete":
            found |= {first, first + 1}
        elif kind != "equal":
            found |= {*range(first + 1, last + 1)}
    return tuple(sorted(line for line in found if 0 < line <= len(new)))
