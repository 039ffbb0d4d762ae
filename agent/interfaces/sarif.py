"""Writes a result as SARIF 2.1.0: what failed and the repair, each at its lines.

Source of the format: https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html.
"""

from __future__ import annotations

import ast
import difflib
import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from agent.core.trees import parse_or_empty
from agent.interfaces import installed_version
from agent.interfaces.preparation import Preparation
from agent.interfaces.terminal.display import competing_words
from agent.report.result import ACCEPTED, Result
from agent.report.words import confidence_words, headline

Rule = Literal["failing-test", "repair"]
RULES: dict[Rule, tuple[str, str]] = {
    "failing-test": ("error", "A test that fails."),
    "repair": ("note", "A patch with which the tests pass."),
}
"""Level and description."""
SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"


@dataclass(frozen=True)
class ReplacedLines:
    """An edit that replaces the lines `first` to `last` of a file, which are `before`, by `text`.

    Lines count from 1. At least one line is replaced; `text` ends with a line break.
    """

    path: str
    first: int
    last: int
    before: str
    text: str


@dataclass(frozen=True)
class Annotation:
    """A message at a line of a file, whose path is relative to the project root."""

    rule: Rule
    path: str
    line: int
    message: str
    replacements: tuple[ReplacedLines, ...] = ()


def replacements(path: str, before: str, after: str) -> Iterator[ReplacedLines]:
    """Yields the changes of a text. SARIF can only replace lines, so an insertion replaces the
    line above it (at the start, the line below) by that line and the new text."""
    old, new = before.splitlines(keepends=True), after.splitlines(keepends=True)
    blocks = difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
    for kind, start, end, left, right in blocks:
        if kind != "equal":
            above, below = (start == end and start > 0), (start == end == 0 and bool(old))
            yield ReplacedLines(
                path, start - above + 1, end + below, "".join(old[start - above : end + below]),
                "".join(new[left - above : right + below]),
            )


def findings(result: Result, prepared: Preparation) -> list[Annotation]:
    """Returns an annotation for each failing test whose line is known, and for each edit of the
    repair, if there is one."""
    before = files_before(prepared)
    found = [*_failing(result, prepared, before)]
    if result.outcome in ACCEPTED and result.diff:
        changes = tuple(
            one for path, text in sorted(result.files) if text != before.get(path, text)
            for one in replacements(path, before[path], text)
        )
        likely = confidence_words(result)
        title = f"{headline(result)[0]}{f' ({likely})' if likely else ''}: {result.edit}"
        words = "\n".join((title, *competing_words(result)))
        found += [Annotation("repair", one.path, one.first, words, changes) for one in changes]
    return found


def files_before(prepared: Preparation) -> Mapping[str, str]:
    """The files before the repair, path to text."""
    if prepared.inspected is not None:
        return prepared.inspected.tree.files
    task = prepared.task
    solution = task.solution if task is not None else None
    return {one.path: one.text for one in solution.files} if solution is not None else {}


def folder_of(prepared: Preparation) -> Path | None:
    """The folder that the paths of the files are relative to; `None` without files on disk."""
    if prepared.inspected is not None:
        return prepared.inspected.tree.layout.root
    source = prepared.submitted.source if prepared.submitted is not None else None
    return source.path.absolute().parent if source is not None and source.path else None


def _failing(
    result: Result, prepared: Preparation, before: Mapping[str, str]
) -> Iterator[Annotation]:
    if prepared.inspected is not None:
        for node in prepared.inspected.run.failing:
            row = prepared.inspected.run.outcomes[node]
            path = str(row.get("file") or node.partition("::")[0])
            if path in before:
                shown = row.get("line") if row.get("file") else None
                name = node.partition("[")[0].rpartition("::")[2]
                line = shown if isinstance(shown, int) else line_of(before[path], name) or 1
                yield Annotation("failing-test", path, line, f"{node}: {row.get('message') or ''}")
        return
    report = next((one.report for one in result.tested_programs), result.report)
    for verdict in report.failing if report is not None else ():
        for path, text in before.items():
            if line := line_of(text, verdict.name):
                yield Annotation("failing-test", path, line, f"{verdict.name}: {verdict.message}")
                break


def line_of(text: str, name: str) -> int:
    """The line of the function with this name, or of the assert with this text; 0 if not found."""
    for node in ast.walk(parse_or_empty(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name == name:
            return node.lineno
        if isinstance(node, ast.Assert) and ast.get_source_segment(text, node) == name:
            return node.lineno
    return 0


def sarif(result: Result, prepared: Preparation) -> dict[str, Any]:
    """Returns the SARIF document. Paths are relative to the repository that contains the files."""
    folder = folder_of(prepared) or Path.cwd()
    top = next((one for one in (folder, *folder.parents) if (one / ".git").exists()), folder)
    prefix = folder.relative_to(top).as_posix()

    def artifact(path: str) -> dict[str, str]:
        return {"uri": path if prefix == "." else f"{prefix}/{path}", "uriBaseId": "%SRCROOT%"}

    def replaced(one: ReplacedLines) -> dict[str, Any]:
        return {
            "deletedRegion": {
                "startLine": one.first, "startColumn": 1, "endLine": one.last + 1, "endColumn": 1,
                "snippet": {"text": one.before},
            },
            "insertedContent": {"text": one.text},
        }

    def row(finding: Annotation) -> dict[str, Any]:
        paths = dict.fromkeys(one.path for one in finding.replacements)
        fixes = [{
            "description": {"text": finding.message},
            "artifactChanges": [{
                "artifactLocation": artifact(path),
                "replacements": [replaced(one) for one in finding.replacements if one.path == path],
            } for path in paths],
        }] if paths else []
        print_ = hashlib.sha256(f"{finding.rule}{finding.path}{finding.message}".encode())
        return {
            "ruleId": finding.rule, "level": RULES[finding.rule][0],
            "message": {"text": finding.message},
            "locations": [{"physicalLocation": {
                "artifactLocation": artifact(finding.path), "region": {"startLine": finding.line},
            }}],
            "partialFingerprints": {"message/v1": print_.hexdigest()},
            **({"fixes": fixes} if fixes else {}),
        }

    return {
        "$schema": SCHEMA, "version": "2.1.0",
        "runs": [{
            "tool": {"driver": {
                "name": "heal", "version": installed_version() or "0",
                "rules": [{"id": rule, "shortDescription": {"text": words}}
                          for rule, (_, words) in RULES.items()],
            }},
            "results": [row(one) for one in findings(result, prepared)],
            "properties": {
                "outcome": result.outcome, "confidence": result.confidence, "proof": result.proof,
            },
        }],
    }
