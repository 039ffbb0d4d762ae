"""What identifies a failure: its `signature` exactly, and `alike` across programs."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from functools import lru_cache
from pathlib import PurePosixPath

from agent.core.domain import Project, Report, Solution, TestCase, Value, address, passing
from agent.core.trees import readable_nodes, tree_of
from agent.target.failures.causes import failures_of
from agent.target.task import PASTED

LONGEST_MESSAGE = 300

_VARIABLE = re.compile(r"0x[0-9a-f]+|\d+")
_QUOTED = re.compile(r"'[^']*'|\"[^\"]*\"|`[^`]*`")
_ADDRESS = re.compile(r"0x[0-9a-fA-F]+")
_NUMBER = re.compile(r"(?<![\w<])-?\d[\d_.]*(?:e[+-]?\d+)?")
_IMPORT = re.compile(r"^[ \t]*(?:from|import)[ \t].*$", re.MULTILINE)
_PATH = re.compile(r"(?:[A-Za-z]:)?[\\/](?:[\w.-]+[\\/])+[\w.-]+")

WRONG_RESULT = "wrong result"
TIMEOUT = "timeout"
_PASTED = PurePosixPath(PASTED).stem


class FailureKey(Value):
    """How a program fails, in words that another program's failure can share."""

    signature: str
    exception: str
    """The exception's own name, or `wrong result`, or `timeout`."""
    message: str = ""
    """Numbers, addresses, paths and quoted names are placeholders."""
    place: str = ""
    """The kind of the statement that raised: `Return`, `For`."""
    shape: str = ""
    """How the failing tests failed: `error`, `error, failed`."""
    passed: str = ""

    @property
    def words(self) -> str:
        """The exception and its message; empty where the memory did not keep them yet."""
        return f"{self.exception}: {self.message}" if self.message else self.exception

    @property
    def alike(self) -> str:
        """The same for failures that look the same in different programs."""
        return address("\1".join((self.exception, self.message, self.place, self.shape)))


def failure_of(
    solution: Solution, tests: Sequence[TestCase], report: Report, project: Project | None = None
) -> FailureKey:
    """The failure that a report shows; of several, the first that raised stands for all."""
    seen = failures_of(report)
    chief = next((one for one in seen if one.exception), seen[0] if seen else None)
    exception = chief.name if chief is not None and chief.exception else WRONG_RESULT
    trusted = report.trusted
    return FailureKey(
        signature=signature(solution, tests, report) if project is None
        else project_signature(project, report),
        exception=exception,
        message=normalised(nameless_message(chief.message, solution.entry))
        if chief and exception not in (WRONG_RESULT, TIMEOUT) else "",
        place=_kind_at(solution.text, chief.line) if chief is not None else "",
        shape=", ".join(sorted({verdict.status for verdict in report.failing})),
        passed=passing(sum(verdict.passed for verdict in trusted), len(trusted)),
    )


def signature(solution: Solution, tests: Sequence[TestCase], report: Report) -> str:
    """Identifies a failure: program (without comments, layout and file name), tests, and messages
    without numbers."""
    entry = solution.entry
    parts = [
        f"{PASTED if file.path == entry else file.path}\0{skeleton(file.text)}"
        for file in solution.files
    ]
    parts += sorted(nameless_test(test.code, entry) for test in tests)
    for verdict in report.failing:
        name, message = (nameless_message(one, entry) for one in (verdict.name, verdict.message))
        parts.append(f"{name}\0{verdict.status}\0{_VARIABLE.sub('#', message)}")
    if report.ending is not None:
        exception = nameless_message(report.ending.exception, entry)
        parts.append(f"{report.ending.kind}\0{exception}")
    return address("\1".join(parts))


def project_key(project: Project) -> str:
    """What a project is known by in the memory: where it lies."""
    return address(project.root)


def project_signature(project: Project, report: Report) -> str:
    """Identifies a project's failure: which tests fail, and how; files are left out, as they change
    daily."""
    failing = sorted(
        f"{one.name}\0{one.status}\0{normalised(one.message)}" for one in report.failing
    )
    return address("\1".join([project_key(project), *failing]))


@lru_cache(maxsize=8)
def skeleton(text: str) -> str:
    """A program without comments and layout; the text itself where it does not parse."""
    try:
        return ast.dump(tree_of(text))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return text


def nameless_test(code: str, entry: str) -> str:
    """A test's code in which the program's file is called as a pasted one is."""
    name = PurePosixPath(entry).stem
    word = re.compile(rf"(?<![\w.]){re.escape(name)}(?!\w)")
    if not any(word.search(line) for line in _IMPORT.findall(code)):
        return code
    renamed = _IMPORT.sub(lambda line: word.sub(_PASTED, line[0]), code)
    return _qualifying(name).sub(_PASTED, renamed)


def nameless_message(message: str, entry: str) -> str:
    """A message: the file with or without its folder, the module, and names qualified by it."""
    name = PurePosixPath(entry).stem
    message = re.sub(rf"(?:[\w.-]*[/\\])+(?={re.escape(name)}\.py\b)", "", message)
    quoted = rf"(\b(?:module|from|named) ['\"]){re.escape(name)}(?=['\"])"
    return _qualifying(name).sub(_PASTED, re.sub(quoted, rf"\g<1>{_PASTED}", message))


def _qualifying(name: str) -> re.Pattern[str]:
    return re.compile(rf"(?<![\w.]){re.escape(name)}(?=\.\w)")


def normalised(message: str) -> str:
    """A message without what differs between two failures of one kind."""
    line = " ".join(message.split())[: 2 * LONGEST_MESSAGE]
    line = _QUOTED.sub("'…'", line)
    line = _ADDRESS.sub("@", line)
    line = _PATH.sub("/…", line)
    return _NUMBER.sub("#", line)[:LONGEST_MESSAGE]


def _kind_at(text: str, line: int | None) -> str:
    if line is None:
        return ""
    nodes = readable_nodes(text)
    found: ast.stmt | None = None
    for node in nodes:  # breadth first: a later one is no less deep
        if isinstance(node, ast.stmt) and node.lineno <= line <= (node.end_lineno or 0):
            found = node
    return type(found).__name__ if found is not None else ""
