"""Excludes tests whose failure the program did not cause: environment, test setup, internal error.

A test that fails like this on the original program neither guides a search nor blocks a repair. One
table of patterns for the verdict's message decides.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

from agent.core.domain import (
    NEUTRAL_STATUSES,
    OTHER_TESTS,
    TRUSTED_ORIGINS,
    Report,
    Script,
    Task,
    TestCase,
    Verdict,
)
from agent.target.environment import explain_missing_package
from sandbox.types import DENIAL_MEANINGS

_HEAD = r"^(?:setup: |teardown: )?(?:\w+\.)*"
_NO_PATH = r"(?!: ')"
_NO_FIXTURE = r"^file \S+, line \d+\n.*?\nE +fixture '(\w+)' not found"
_EXCLUDING_MESSAGES: tuple[tuple[str, str], ...] = (
    (r"^setup: fixture '(\w+)' not found",
     "the fixture {0} is not available, because its plugin or conftest.py is missing"),
    # The format of a project's own pytest.
    (_NO_FIXTURE, "the fixture {0} is not available, because its plugin or conftest.py is missing"),
    (r"async def functions are not natively supported",
     "no pytest plugin for coroutines is installed"),
    (r"\[Errno -[23]\] (?:Name or service not known|Temporary failure in name resolution)",
     DENIAL_MEANINGS["network"]),
    (r"\[Errno 101\] Network is unreachable", DENIAL_MEANINGS["network"]),
    (_HEAD + r"PermissionError: \[Errno 13\] Permission denied" + _NO_PATH + ".*; the jail ",
     DENIAL_MEANINGS["network"]),
    (_HEAD + r"PermissionError: \[Errno 1\] Operation not permitted" + _NO_PATH + ".*; the jail ",
     f"{DENIAL_MEANINGS['processes']}, and no signals to other processes"),
    (_HEAD + r"BlockingIOError: \[Errno 11\] .*; the jail ", DENIAL_MEANINGS["processes"]),
    # A semaphore has no path.
    (_HEAD + r"FileNotFoundError: \[Errno 2\] No such file or directory(?!:)",
     DENIAL_MEANINGS["processes"]),
    # Anchored at the exception: a missing program does not excuse a wrong result.
    (_HEAD + r"(?:FileNotFound|Permission)Error: .*; (the jail can run only Python)$", "{0}"),
    (_HEAD + r"PermissionError: \[Errno 13\] Permission denied: '/.*; the jail ",
     DENIAL_MEANINGS["files"]),
    (_HEAD + r"OSError: \[Errno 30\] Read-only file system", DENIAL_MEANINGS["files"]),
    (_HEAD + r"TclError: (?:no display name|couldn't connect to display|Can't find a usable \w+\.)",
     "the sandbox has no display"),
    (r"^(a test file needs files, and at this level .*)", "internal error: {0}"),
    (r"^it did not run$", "internal error: it did not run"),
)
"""Patterns of a verdict's message, and why such tests are excluded."""
_NO_MODULE = re.compile(_HEAD + r"ModuleNotFoundError: No module named '([\w.]+)'")
_DOCTEST = "beside other tests, failing doctests count only with --doctests"
_LISTED = 3


def exclusion_reason(verdict: Verdict, task: Task) -> str:
    """Why the program did not cause a failure, in words; empty if it may have."""
    for pattern, words in _EXCLUDING_MESSAGES:
        if found := re.search(pattern, verdict.message, re.DOTALL):
            return "" if _is_own_fixture(pattern, found, task) else words.format(
                *found.groups()
            )
    if found := _NO_MODULE.search(verdict.message):
        return explain_missing_package(found.group(1).partition(".")[0], task)
    has_other_tests = any(one.origin in TRUSTED_ORIGINS - {"doctest"} for one in task.tests)
    if verdict.origin == "doctest" and has_other_tests and not task.doctests:
        return _DOCTEST
    return ""


def _is_own_fixture(pattern: str, found: re.Match[str], task: Task) -> bool:
    """Whether the program, itself a plugin, mentions the missing fixture."""
    return pattern == _NO_FIXTURE and task.solution is not None and any(
        re.search(rf"\b{found[1]}\b", file.text) for file in task.solution.files
    )


def with_exclusions(report: Report, task: Task) -> Report:
    """The report of the original program with a reason at each failure it did not cause."""
    # All tests of a file often fail with one message, and to look for a package is slow.
    failing = {(one.origin, one.message): one for one in report.verdicts if one.fails}
    reasons = {key: exclusion_reason(verdict, task) for key, verdict in failing.items()}
    return report.model_copy(update={"verdicts": tuple(
        one.model_copy(update={"excluded": reasons[one.origin, one.message]}) if one.fails else one
        for one in report.verdicts
    )})


def without_excluded_tests(
    tests: Sequence[TestCase], report: Report, watched: Collection[str] = (),
) -> tuple[TestCase, ...]:
    """The tests without those that a report excludes, and without `OTHER_TESTS` that matched none.

    The `watched` tests stay, because a repair may fix them too.
    """
    excluded: dict[str, list[str]] = {}
    for verdict in report.verdicts:
        if verdict.excluded and verdict.name not in watched:
            excluded.setdefault(verdict.test, []).append(verdict.name)
    judged = {verdict.test for verdict in report.verdicts if not verdict.excluded}
    collected = {
        test.code for test in tests if any(
            v.test == test.name and v.status != "error" for v in report.verdicts
        )
    }
    counting: list[TestCase] = []
    for test in tests:
        if isinstance(test, Script) and test.node == OTHER_TESTS and test.name not in judged:
            if test.code not in collected:
                counting.append(test)
        elif test.name not in excluded:
            counting.append(test)
        elif isinstance(test, Script) and test.name in judged:
            nodes = [_node(test, name) for name in excluded[test.name]]
            counting.append(
                test.model_copy(update={"excluded_nodes": (*test.excluded_nodes, *nodes)})
            )
    return tuple(counting)


def _node(test: Script, name: str) -> str:
    return name if test.node == OTHER_TESTS else test.node + name.removeprefix(test.name)


def exclusion_words(report: Report) -> str:
    """Lists the excluded tests with their reasons; empty where there are none."""
    by_reason: dict[str, list[str]] = {}
    for verdict in report.verdicts:
        if verdict.excluded:
            by_reason.setdefault(verdict.excluded, []).append(f"`{verdict.name}`")
    sentences = []
    for reason, names in by_reason.items():
        more = f" and {len(names) - _LISTED} more" if len(names) > _LISTED else ""
        verb = "is" if len(names) == 1 else "are"
        sentences.append(f"{', '.join(names[:_LISTED])}{more} {verb} excluded: {reason}")
    return ". ".join(sentence.rstrip(".") for sentence in sentences)


def with_lost_tests(report: Report, first: Report, tests: Sequence[TestCase]) -> Report:
    """A repair's report in which newly skipped tests, and tests no longer found, do not pass.

    `first` is the report of the original program.
    """
    before = {verdict.name: verdict for verdict in first.verdicts}
    verdicts = [
        verdict.model_copy(update={"disbelieved": f"it is {verdict.status} now but was not before"})
        if verdict.status in ("skipped", "xfailed") and verdict.name in before
        and before[verdict.name].status not in NEUTRAL_STATUSES else verdict
        for verdict in report.verdicts
    ]
    rests = {test.name for test in tests if isinstance(test, Script) and test.node == OTHER_TESTS}
    found = {verdict.name.partition("[")[0] for verdict in report.verdicts}
    missing = [] if report.untested else [
        verdict.model_copy(update={
            "status": "error", "integrity": None, "message": "pytest no longer finds this test",
        })
        for verdict in first.verdicts
        if verdict.test in rests and verdict.passed and verdict.name.partition("[")[0] not in found
    ]
    return report.model_copy(update={"verdicts": (*verdicts, *missing)})
