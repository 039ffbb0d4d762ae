"""What a model is told of a run, in words: tests, how they fail, suspects, lessons."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from agent.core.domain import BlamedLine, Diagnosis, Report, Script, TestCase, Verdict

OUTPUT = "# output: all that the program prints"
"""Before tests that read the program's output."""


def suspects(blamed: Sequence[BlamedLine]) -> str:
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
    told = [_failure(verdict) for verdict in report.failing]
    ending = report.ending
    if ending is not None and ending.crashed:
        place = f" at line {ending.line}" if ending.line else ""
        kind = ending.exception or ending.kind
        told.append(f"the program by itself: {kind}{place}{ending.said}")
        if ending.traceback:
            told.append(ending.traceback.rstrip())
    return "\n".join(told)


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


def repair_question(
    code: str,
    *,
    task: str,
    cases: Iterable[TestCase],
    report: Report,
    found: Diagnosis,
    known: Sequence[str] = (),
    attempts: Sequence[str] = (),
) -> Mapping[str, str]:
    """The variables of the generator's templates for repairs of one file: `cases` are the tests
    that fail, and `attempts` the patches of earlier repairs, the newest last."""
    return {
        "code": code, "task": task, "tests": tests(cases), "failures": failures(report),
        "diagnosis": diagnosis(found), "suspects": suspects(found.blamed),
        "lessons": lessons(known), "attempts": "\n\n".join(attempts),
    }
