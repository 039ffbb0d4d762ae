"""Texts of a run for the variables of prompts: tests, failures, suspicious lines and lessons; for
several files, the suspicious files and the code that their tests use."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator, Sequence

from agent.core.domain import (
    Diagnosis,
    Report,
    Script,
    Solution,
    SuspectFile,
    SuspiciousLine,
    Task,
    TestCase,
    Verdict,
)
from agent.core.events import LogEntry, Searched
from agent.core.trees import nodes_or_empty, tree_of
from llm.asking.answers import FILE

LONGEST_WHOLE = 12_000
"""The maximum characters of a file that is shown whole; a longer file is shown in part: its first
lines and its suspicious functions."""
MAX_SHOWN = 40_000
MAX_NAMED = 40
LONGEST_TESTS = 6_000
"""The maximum characters of a test file that is shown whole; of a longer one only the code that its
failing tests use is shown."""
_TOP = 60
"""Lines of a long file that are shown before its first function."""

LineFormat = Callable[[int, str], str]


OUTPUT = "# output: all that the program prints"
"""The header of tests that read the program's output."""


def suspects(suspicious_lines: Sequence[SuspiciousLine]) -> str:
    """The suspicious lines with their variable values."""
    lines = []
    for one in suspicious_lines:
        lines.append(f"line {one.line} ({one.suspicion:.2f}): {one.text}")
        lines += [f"    {name} = {value}" for name, value in one.values]
    return "\n".join(lines)


def numbered(code: str) -> str:
    """A program with line numbers, counted like the suspicious lines."""
    lines = code.removesuffix("\n").split("\n")
    width = len(str(len(lines)))
    return "\n".join(f"{number:>{width}} | {line}" for number, line in enumerate(lines, 1))


def tests(cases: Iterable[TestCase]) -> str:
    """The code of tests; a file of several tests is shown once."""
    cases = [*cases]
    uses_output = any(isinstance(one, Script) and one.uses_output for one in cases)
    texts = [OUTPUT] if uses_output else []
    return "\n\n".join(dict.fromkeys(texts + [case.code for case in cases]))


def failures(report: Report) -> str:
    """The failures of trusted tests, and the crash of the program's own run."""
    lines = [_failure(verdict) for verdict in report.failing]
    ending = report.ending
    if ending is not None and ending.crashed:
        place = f" at line {ending.line}" if ending.line else ""
        kind = ending.exception or ending.kind
        lines.append(f"the program by itself: {kind}{place}{ending.message_suffix}")
        if ending.traceback:
            lines.append(ending.traceback.rstrip())
    return "\n".join(lines)


def first_failure_line(report: Report) -> str:
    """The first failure or the last line of the crash, for a small model."""
    ending = report.ending
    if not report.failing and ending is not None and ending.traceback:
        return ending.traceback.rstrip().splitlines()[-1]
    return failures(report).split("\n")[0]


def _failure(verdict: Verdict) -> str:
    if verdict.call and verdict.expected and verdict.got:
        differs = f"{verdict.call} gives {verdict.got} where {verdict.expected} is expected"
        return f"{verdict.name}: {differs}"
    return f"{verdict.name}: {verdict.message}"


def diagnosis(found: Diagnosis) -> str:
    """The cause with its evidence."""
    return "\n".join([f"{found.category}: {found.cause}", *found.evidence])


def lessons(known: Sequence[str]) -> str:
    return "\n".join(f"- {lesson}" for lesson in known)


def is_one_file(task: Task, solution: Solution) -> bool:
    """Whether a program is a single file; otherwise models edit files by path."""
    return len(solution.files) == 1 and task.project is None


def repair_question(
    task: Task, solution: Solution, report: Report, cases: Sequence[TestCase], *,
    found: str = "", suspicious_lines: Sequence[SuspiciousLine] = (),
    suspected: Sequence[SuspectFile] = (), values: Sequence[str] = (),
    known: Sequence[str] = (), attempts: Sequence[str] = (),
) -> dict[str, str]:
    """The variables of the generator's repair templates for one file, or of `edit_files`.

    Args:
        cases: The tests; only failing ones are shown.
        found: The diagnosis.
        suspicious_lines: The suspicious lines of a program that is no project.
        suspected: The suspicious files, the most suspicious first.
        values: Variable values in the most suspicious file.
        known: Lessons.
        attempts: The patches of earlier repairs, the newest last.
    """
    failing = failing_cases(cases, report)
    in_project = task.project is not None
    variables = {
        "task": task.text, "tests": tests_of(task, failing),
        "failures": failures(report), "diagnosis": found,
        "suspects": named_suspects(suspected, values) if in_project else suspects(suspicious_lines),
        "lessons": lessons(known), "attempts": "\n\n".join(attempts),
    }
    if is_one_file(task, solution):
        return variables | {"code": solution.text}
    return variables | {"files": shown_files(solution, suspected)}


def suspects_of(log: Sequence[LogEntry], solution: Solution) -> tuple[SuspectFile, ...]:
    """The suspicious files of the newest search, or else all files with the entry first."""
    found = [
        one.event.suspects for one in log if isinstance(one.event, Searched) and one.event.suspects
    ]
    paths = sorted((file.path for file in solution.files), key=lambda path: path != solution.entry)
    return found[-1] if found else tuple(SuspectFile(file=path, suspicion=0.0) for path in paths)


def failing_cases(cases: Sequence[TestCase], report: Report) -> Sequence[TestCase]:
    """The failing tests, or else all tests."""
    failing = {verdict.test for verdict in report.failing}
    return [test for test in cases if test.name in failing] or cases


def shown_files(
    solution: Solution, suspected: Sequence[SuspectFile], *, numbers: bool = False
) -> str:
    """The texts of the suspicious files with their paths, and the names of other editable files."""
    line_format = _numbered if numbers else _bare
    parts: list[str] = []
    chars_left = MAX_SHOWN
    for one in suspected:
        text = "\n".join(_excerpt(solution.with_entry(one.file).text, one, line_format))
        if parts and len(text) > chars_left:
            break
        chars_left -= len(text)
        parts.append(f"{FILE}{one.file}\n{text}")
    shown = {one.file for one in suspected[: len(parts)]}
    others = [file.path for file in solution.files if file.path not in shown]
    if others:
        more = f" and {len(others) - MAX_NAMED} more" if len(others) > MAX_NAMED else ""
        parts.append(f"Not shown, and may be edited too: {', '.join(others[:MAX_NAMED])}{more}")
    return "\n\n".join(parts)


def _numbered(number: int, line: str) -> str:
    return f"{number:>5} | {line}"


def _bare(number: int, line: str) -> str:
    return line


def _excerpt(text: str, suspect: SuspectFile, line_format: LineFormat) -> Iterator[str]:
    lines = text.removesuffix("\n").split("\n")
    is_whole = len(text) <= LONGEST_WHOLE
    shown = range(1, len(lines) + 1) if is_whole else _shown_lines(text, lines, suspect)
    done = 0
    for number in shown:
        if number > done + 1:
            yield f"[lines {done + 1} to {number - 1} are not shown]"
        yield line_format(number, lines[number - 1])
        done = number
    if done < len(lines):
        yield f"[lines {done + 1} to {len(lines)} are not shown]"


def _shown_lines(text: str, lines: Sequence[str], suspect: SuspectFile) -> list[int]:
    functions = [
        one for one in nodes_or_empty(text)
        if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef)
    ]
    first = min((one.lineno for one in functions), default=len(lines) + 1)
    shown = {*range(1, min(first, _TOP + 1, len(lines) + 1))}
    for suspected in suspect.functions:
        node = next((one for one in functions if suspected.line <= one.lineno
                     and one.name == suspected.name), None)
        if node is not None:
            wanted = {*range(suspected.line, (node.end_lineno or node.lineno) + 1)} - shown
            if sum(len(lines[one - 1]) for one in shown | wanted) > LONGEST_WHOLE:
                break
            shown |= wanted
    return sorted(shown)


def named_suspects(suspected: Sequence[SuspectFile], values: Sequence[str] = ()) -> str:
    """The suspicious functions with their files, and the variable values there."""
    return "\n".join([
        *(
            f"{one.file}, line {function.line} ({function.suspicion:.2f}): {function.name}"
            for one in suspected for function in one.functions
        ),
        *values,
    ])


def tests_of(task: Task, cases: Iterable[TestCase]) -> str:
    """The code of tests, or for a project the files that contain them."""
    return tests(cases) if task.project is None else texts_of_tests(cases)


def texts_of_tests(cases: Iterable[TestCase]) -> str:
    """The files of these tests with their paths; of a long file only what the tests need."""
    nodes: dict[tuple[str, str], set[str]] = {}
    for one in cases:
        if isinstance(one, Script) and one.code:
            node = one.node.removeprefix(f"{one.file}::").partition("[")[0].partition("::")[0]
            nodes.setdefault((one.file, one.code), set()).add(node)
    return "\n\n".join(
        f"{FILE}{path}\n{code if len(code) <= LONGEST_TESTS else _needed(code, names)}"
        for (path, code), names in nodes.items()
    )


def _needed(code: str, names: Iterable[str]) -> str:
    """A test file without the functions and classes that the named ones do not use."""
    try:
        body = tree_of(code).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return code
    lines = code.split("\n")
    words = {*names}
    needed: dict[int, ast.stmt] = {}
    growing = True
    while growing:
        fresh = {
            place: one for place, one in enumerate(body)
            if place not in needed and getattr(one, "name", None) in {None, *words}
        }
        needed |= fresh
        # A fixture is named by an argument.
        words |= {
            used.id if isinstance(used, ast.Name) else used.arg
            for one in fresh.values() for used in ast.walk(one)
            if isinstance(used, ast.Name | ast.arg)
        }
        growing = bool(fresh)
    shown = []
    for _, one in sorted(needed.items()):
        first = min([one.lineno, *(d.lineno for d in getattr(one, "decorator_list", []))])
        shown.append("\n".join(lines[first - 1 : one.end_lineno]))
    return "\n".join(shown)
