"""What a model gets of a run, in words: tests, how they fail, suspects, lessons; of several
files, those that are suspect and what their tests use."""

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
from agent.core.events import Searched, Stamped
from agent.core.trees import readable_nodes, tree_of
from llm.asking.answers import FILE

LONGEST_WHOLE = 12_000
"""Characters of a file that is shown whole; of a longer one its top and its suspect functions."""
MAX_SHOWN = 40_000
MAX_NAMED = 40
LONGEST_TESTS = 6_000
"""Characters of a test file that is shown whole; of a longer one what its failing tests use."""
_TOP = 60
"""Lines of a long file that are shown before its first function."""

Numbered = Callable[[int, str], str]


OUTPUT = "# output: all that the program prints"
"""Before tests that read the program's output."""


def suspects(blamed: Sequence[SuspiciousLine]) -> str:
    """The blamed lines, each with what its variables held."""
    lines = []
    for one in blamed:
        lines.append(f"line {one.line} ({one.suspicion:.2f}): {one.text}")
        lines += [f"    {name} = {value}" for name, value in one.values]
    return "\n".join(lines)


def numbered(code: str) -> str:
    """A program with each line's number before it, counted as the blamed lines are."""
    lines = code.removesuffix("\n").split("\n")
    width = len(str(len(lines)))
    return "\n".join(f"{number:>{width}} | {line}" for number, line in enumerate(lines, 1))


def tests(cases: Iterable[TestCase]) -> str:
    """The code of tests; a file that several of them come from stands there once."""
    cases = [*cases]
    heard = any(isinstance(one, Script) and one.uses_output for one in cases)
    texts = [OUTPUT] if heard else []
    return "\n\n".join(dict.fromkeys(texts + [case.code for case in cases]))


def failures(report: Report) -> str:
    """How the trusted tests fail, and how the program's own run ended where it crashed."""
    lines = [_failure(verdict) for verdict in report.failing]
    ending = report.ending
    if ending is not None and ending.crashed:
        place = f" at line {ending.line}" if ending.line else ""
        kind = ending.exception or ending.kind
        lines.append(f"the program by itself: {kind}{place}{ending.said}")
        if ending.traceback:
            lines.append(ending.traceback.rstrip())
    return "\n".join(lines)


def in_a_line(report: Report) -> str:
    """The first failure, or the last line of the crash: what a small model makes use of."""
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
    """What is thought to be wrong, and what it is thought from."""
    return "\n".join([f"{found.category}: {found.cause}", *found.evidence])


def lessons(known: Sequence[str]) -> str:
    """Lessons, one a line; the memory brings five at most."""
    return "\n".join(f"- {lesson}" for lesson in known)


def is_one_file(task: Task, solution: Solution) -> bool:
    """Whether a program is a file alone; else its models edit files by their paths."""
    return len(solution.files) == 1 and task.project is None


def repair_question(
    task: Task, solution: Solution, report: Report, cases: Sequence[TestCase], *,
    found: str = "", blamed: Sequence[SuspiciousLine] = (), suspected: Sequence[SuspectFile] = (),
    values: Sequence[str] = (), known: Sequence[str] = (), attempts: Sequence[str] = (),
) -> dict[str, str]:
    """The variables of the generator's templates for a repair: of one file, or its `edit_files`.

    Args:
        cases: The tests, of which those that fail are shown.
        found: What is thought to be wrong.
        blamed: The suspicious lines of a program that is no project.
        suspected: The suspect files of a program of several, the likeliest first.
        values: What was seen in the likeliest one.
        known: Lessons.
        attempts: The patches of earlier repairs, the newest last.
    """
    failing = failing_cases(cases, report)
    in_project = task.project is not None
    facts = {
        "task": task.text, "tests": tests_of(task, failing),
        "failures": failures(report), "diagnosis": found,
        "suspects": named_suspects(suspected, values) if in_project else suspects(blamed),
        "lessons": lessons(known), "attempts": "\n\n".join(attempts),
    }
    if is_one_file(task, solution):
        return facts | {"code": solution.text}
    return facts | {"files": shown_files(solution, suspected)}


def suspects_of(log: Sequence[Stamped], solution: Solution) -> tuple[SuspectFile, ...]:
    """The files that the newest search suspects; where it names none, all, the entry first."""
    files = [
        one.event.suspects for one in log if isinstance(one.event, Searched) and one.event.suspects
    ]
    paths = sorted((file.path for file in solution.files), key=lambda path: path != solution.entry)
    return files[-1] if files else tuple(SuspectFile(file=path, suspicion=0.0) for path in paths)


def failing_cases(cases: Sequence[TestCase], report: Report) -> Sequence[TestCase]:
    """Of these tests those that fail; all where none is among them."""
    failing = {verdict.test for verdict in report.failing}
    return [test for test in cases if test.name in failing] or cases


def shown_files(
    solution: Solution, suspected: Sequence[SuspectFile], *, numbers: bool = False
) -> str:
    """The texts of the suspect files, each after a line with its path, and the names of others that
    may be edited."""
    line_of = _numbered if numbers else _bare
    parts: list[str] = []
    room = MAX_SHOWN
    for one in suspected:
        text = "\n".join(_shown(solution.seen_at(one.file).text, one, line_of))
        if parts and len(text) > room:
            break
        room -= len(text)
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


def _shown(text: str, suspect: SuspectFile, line_of: Numbered) -> Iterator[str]:
    lines = text.removesuffix("\n").split("\n")
    kept = range(1, len(lines) + 1) if len(text) <= LONGEST_WHOLE else _kept(text, lines, suspect)
    done = 0
    for number in kept:
        if number > done + 1:
            yield f"[lines {done + 1} to {number - 1} are not shown]"
        yield line_of(number, lines[number - 1])
        done = number
    if done < len(lines):
        yield f"[lines {done + 1} to {len(lines)} are not shown]"


def _kept(text: str, lines: Sequence[str], suspect: SuspectFile) -> list[int]:
    """The numbers of a long file's lines that are shown."""
    functions = [
        one for one in readable_nodes(text)
        if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef)
    ]
    first = min((one.lineno for one in functions), default=len(lines) + 1)
    kept = {*range(1, min(first, _TOP + 1, len(lines) + 1))}
    for suspected in suspect.functions:
        node = next((one for one in functions if suspected.line <= one.lineno
                     and one.name == suspected.name), None)
        if node is not None:
            wanted = {*range(suspected.line, (node.end_lineno or node.lineno) + 1)} - kept
            if sum(len(lines[one - 1]) for one in kept | wanted) > LONGEST_WHOLE:
                break
            kept |= wanted
    return sorted(kept)


def named_suspects(suspected: Sequence[SuspectFile], values: Sequence[str] = ()) -> str:
    """The suspect functions with their files, and what was seen there."""
    return "\n".join([
        *(
            f"{one.file}, line {function.line} ({function.suspicion:.2f}): {function.name}"
            for one in suspected for function in one.functions
        ),
        *values,
    ])


def tests_of(task: Task, cases: Iterable[TestCase]) -> str:
    """Tests as a model is shown them: their code, of a project the files that hold them."""
    return tests(cases) if task.project is None else texts_of_tests(cases)


def texts_of_tests(cases: Iterable[TestCase]) -> str:
    """The files of these tests, each once after a line with its path; of a long one what the tests
    need."""
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
    """A test file without the functions and classes that neither these nor what they use name."""
    try:
        body = tree_of(code).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return code
    lines = code.split("\n")
    words = {*names}
    kept: dict[int, ast.stmt] = {}
    growing = True
    while growing:
        fresh = {
            place: one for place, one in enumerate(body)
            if place not in kept and getattr(one, "name", None) in {None, *words}
        }
        kept |= fresh
        # A fixture is named by an argument.
        words |= {
            used.id if isinstance(used, ast.Name) else used.arg
            for one in fresh.values() for used in ast.walk(one)
            if isinstance(used, ast.Name | ast.arg)
        }
        growing = bool(fresh)
    shown = []
    for _, one in sorted(kept.items()):
        first = min([one.lineno, *(d.lineno for d in getattr(one, "decorator_list", []))])
        shown.append("\n".join(lines[first - 1 : one.end_lineno]))
    return "\n".join(shown)
