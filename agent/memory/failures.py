"""Keys of failures: `signature` identifies one exactly, `alike` groups similar ones of different
programs."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from functools import lru_cache
from pathlib import PurePosixPath

from agent.core.domain import Project, Report, Solution, TestCase, Value, digest, passed_words
from agent.core.trees import nodes_or_empty, tree_of
from agent.target.failures.causes import failures_of
from agent.target.task import PASTED_FILENAME

LONGEST_MESSAGE = 300

_VARIABLE = re.compile(r"0x[0-9a-f]+|\d+")
_QUOTED = re.compile(r"'[^']*'|\"[^\"]*\"|`[^`]*`")
_ADDRESS = re.compile(r"0x[0-9a-fA-F]+")
_NUMBER = re.compile(r"(?<![\w<])-?\d[\d_.]*(?:e[+-]?\d+)?")
_IMPORT = re.compile(r"^[ \t]*(?:from|import)[ \t].*$", re.MULTILINE)
_PATH = re.compile(r"(?:[A-Za-z]:)?[\\/](?:[\w.-]+[\\/])+[\w.-]+")

WRONG_RESULT = "wrong result"
TIMEOUT = "timeout"
_PASTED_STEM = PurePosixPath(PASTED_FILENAME).stem


class FailureKey(Value):
    """A failure's exact `signature`, and the fields that similar ones share."""

    signature: str
    exception: str
    """The exception's name, `wrong result` or `timeout`."""
    message: str = ""
    """The message with placeholders for numbers, addresses, paths and quoted names."""
    place: str = ""
    """The kind of the raising statement, such as `Return` or `For`."""
    shape: str = ""
    """The statuses of the failing tests, each once: `error, failed`."""
    passed: str = ""  # how many trusted tests passed, as `1 of 2 tests pass`

    @property
    def words(self) -> str:
        """The exception and its message; empty if they were not stored."""
        return f"{self.exception}: {self.message}" if self.message else self.exception

    @property
    def alike(self) -> str:
        """A key that similar failures of different programs share."""
        return digest("\1".join((self.exception, self.message, self.place, self.shape)))


def failure_of(
    solution: Solution, tests: Sequence[TestCase], report: Report, project: Project | None = None
) -> FailureKey:
    """The key of the first failure that raised an exception, else of the first."""
    failures = failures_of(report)
    first = next((one for one in failures if one.exception), failures[0] if failures else None)
    exception = first.name if first is not None and first.exception else WRONG_RESULT
    trusted = report.trusted
    return FailureKey(
        signature=signature(solution, tests, report) if project is None
        else project_signature(project, report),
        exception=exception,
        message=normalised(nameless_message(first.message, solution.entry))
        if first and exception not in (WRONG_RESULT, TIMEOUT) else "",
        place=_kind_at(solution.text, first.line) if first is not None else "",
        shape=", ".join(sorted({verdict.status for verdict in report.failing})),
        passed=passed_words(sum(verdict.passed for verdict in trusted), len(trusted)),
    )


def signature(solution: Solution, tests: Sequence[TestCase], report: Report) -> str:
    """Identifies a failure by the program (without comments, layout and file name), the tests, and
    the messages without numbers."""
    entry = solution.entry
    parts = [
        f"{PASTED_FILENAME if file.path == entry else file.path}\0{skeleton(file.text)}"
        for file in solution.files
    ]
    parts += sorted(nameless_test(test.code, entry) for test in tests)
    for verdict in report.failing:
        name, message = (nameless_message(one, entry) for one in (verdict.name, verdict.message))
        parts.append(f"{name}\0{verdict.status}\0{_VARIABLE.sub('#', message)}")
    if report.ending is not None:
        exception = nameless_message(report.ending.exception, entry)
        parts.append(f"{report.ending.kind}\0{exception}")
    return digest("\1".join(parts))


def project_key(project: Project) -> str:
    """The memory's key of a project: its path."""
    return digest(project.root)


def project_signature(project: Project, report: Report) -> str:
    """Identifies a project's failure by the failing tests and messages, not by its files, which
    change daily."""
    failing = sorted(
        f"{one.name}\0{one.status}\0{normalised(one.message)}" for one in report.failing
    )
    return digest("\1".join([project_key(project), *failing]))


@lru_cache(maxsize=8)
def skeleton(text: str) -> str:
    """A program without comments and layout; the text itself if it does not parse."""
    try:
        return ast.dump(tree_of(text))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return text


def nameless_test(code: str, entry: str) -> str:
    """A test's code with the program's module renamed to that of pasted programs."""
    name = PurePosixPath(entry).stem
    word = re.compile(rf"(?<![\w.]){re.escape(name)}(?!\w)")
    if not any(word.search(line) for line in _IMPORT.findall(code)):
        return code
    renamed = _IMPORT.sub(lambda line: word.sub(_PASTED_STEM, line[0]), code)
    return _qualifying(name).sub(_PASTED_STEM, renamed)


def nameless_message(message: str, entry: str) -> str:
    """A message with the module renamed like in `nameless_test`, and without the file's folder."""
    name = PurePosixPath(entry).stem
    message = re.sub(rf"(?:[\w.-]*[/\\])+(?={re.escape(name)}\.py\b)", "", message)
    quoted = rf"(\b(?:module|from|named) ['\"]){re.escape(name)}(?=['\"])"
    return _qualifying(name).sub(_PASTED_STEM, re.sub(quoted, rf"\g<1>{_PASTED_STEM}", message))


def _qualifying(name: str) -> re.Pattern[str]:
    return re.compile(rf"(?<![\w.]){re.escape(name)}(?=\.\w)")


def normalised(message: str) -> str:
    """A message with placeholders for values that differ between similar failures."""
    line = " ".join(message.split())[: 2 * LONGEST_MESSAGE]
    line = _QUOTED.sub("'…'", line)
    line = _ADDRESS.sub("@", line)
    line = _PATH.sub("/…", line)
    return _NUMBER.sub("#", line)[:LONGEST_MESSAGE]


def _kind_at(text: str, line: int | None) -> str:
    if line is None:
        return ""
    nodes = nodes_or_empty(text)
    found: ast.stmt | None = None
    for node in nodes:  # breadth first: the last match is the innermost
        if isinstance(node, ast.stmt) and node.lineno <= line <= (node.end_lineno or 0):
            found = node
    return type(found).__name__ if found is not None else ""
