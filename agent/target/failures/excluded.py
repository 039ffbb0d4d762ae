"""Failures that say nothing against the program: of its surroundings, of the tests', or of ours.

A test that fails so on the program as it came is set aside with its reason: it drives no search
and vetoes no repair. What decides is the word of the verdict alone, by one table.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

from agent.core.domain import (
    EXCLUDED,
    REST,
    VETOING_ORIGINS,
    Report,
    Script,
    Task,
    TestCase,
    Verdict,
)
from agent.target.environment import absent_package
from sandbox.types import DENIAL_MEANINGS

_HEAD = r"^(?:setup: |teardown: )?(?:\w+\.)*"
_NO_PATH = r"(?!: ')"
_NO_FIXTURE = r"^file \S+, line \d+\n.*?\nE +fixture '(\w+)' not found"
_OUTSIDE: tuple[tuple[str, str], ...] = (
    (r"^setup: fixture '(\w+)' not found",
     "the fixture {0} is not here, since its plugin or its conftest is missing"),
    # As a project's own pytest has it.
    (_NO_FIXTURE, "the fixture {0} is not here, since its plugin or its conftest is missing"),
    (r"async def functions are not natively supported",
     "no plugin that runs coroutines is here"),
    (r"\[Errno -[23]\] (?:Name or service not known|Temporary failure in name resolution)",
     DENIAL_MEANINGS["network"]),
    (r"\[Errno 101\] Network is unreachable", DENIAL_MEANINGS["network"]),
    (_HEAD + r"PermissionError: \[Errno 13\] Permission denied" + _NO_PATH + ".*; the jail ",
     DENIAL_MEANINGS["network"]),
    (_HEAD + r"PermissionError: \[Errno 1\] Operation not permitted" + _NO_PATH + ".*; the jail ",
     f"{DENIAL_MEANINGS['processes']}, and no signal to another"),
    (_HEAD + r"BlockingIOError: \[Errno 11\] .*; the jail ", DENIAL_MEANINGS["processes"]),
    # A semaphore, which has no path.
    (_HEAD + r"FileNotFoundError: \[Errno 2\] No such file or directory(?!:)",
     DENIAL_MEANINGS["processes"]),
    # A wrong answer is wrong, whatever was to be started meanwhile.
    (_HEAD + r"(?:FileNotFound|Permission)Error: .*; (the jail has no program but Python)$", "{0}"),
    (_HEAD + r"PermissionError: \[Errno 13\] Permission denied: '/.*; the jail ",
     DENIAL_MEANINGS["files"]),
    (_HEAD + r"OSError: \[Errno 30\] Read-only file system", DENIAL_MEANINGS["files"]),
    (_HEAD + r"TclError: (?:no display name|couldn't connect to display|Can't find a usable \w+\.)",
     "the jail has no display"),
    (r"^(a test file needs files, and at this level .*)", "that is for us to mend: {0}"),
    (r"^it did not run$", "a fault of ours: it did not run"),
)
"""What a verdict's message has in it, and why such tests are set aside, be it one or many."""
_NO_MODULE = re.compile(_HEAD + r"ModuleNotFoundError: No module named '([\w.]+)'")
_DOCTEST = "doctests that failed before count with --doctests alone"
_LISTED = 3


def outside(verdict: Verdict, task: Task) -> str:
    """Why a failure is not the program's, in words; empty where it may be."""
    for pattern, words in _OUTSIDE:
        if found := re.search(pattern, verdict.message, re.DOTALL):
            return "" if _is_a_fixture_of_its_own(pattern, found, task) else words.format(
                *found.groups()
            )
    if found := _NO_MODULE.search(verdict.message):
        return absent_package(found.group(1).partition(".")[0], task)
    beside = any(one.origin in VETOING_ORIGINS - {"doctest"} for one in task.tests)
    if verdict.origin == "doctest" and beside and not task.doctests:
        return _DOCTEST
    return ""


def _is_a_fixture_of_its_own(pattern: str, found: re.Match[str], task: Task) -> bool:
    """Whether a fixture that is missing is one that the program, itself a plugin, speaks of."""
    return pattern == _NO_FIXTURE and task.solution is not None and any(
        re.search(rf"\b{found[1]}\b", file.text) for file in task.solution.files
    )


def with_outside_failures(report: Report, task: Task) -> Report:
    """A report of the program as it came, with a reason at each failure that is not its own."""
    # A whole file often fails alike, and to look for a package takes a while.
    failing = {(one.origin, one.message): one for one in report.verdicts if one.fails}
    reasons = {key: outside(verdict, task) for key, verdict in failing.items()}
    return report.model_copy(update={"verdicts": tuple(
        one.model_copy(update={"aside": reasons[one.origin, one.message]}) if one.fails else one
        for one in report.verdicts
    )})


def still_counting_tests(
    tests: Sequence[TestCase], report: Report, watched: Collection[str] = (),
) -> tuple[TestCase, ...]:
    """The tests without what a report sets aside, and without the rests of files in which pytest
    has found no more. Those that are `watched` stay: a repair may mend them too."""
    aside: dict[str, list[str]] = {}
    for verdict in report.verdicts:
        if verdict.aside and verdict.name not in watched:
            aside.setdefault(verdict.test, []).append(verdict.name)
    judged = {verdict.test for verdict in report.verdicts if not verdict.aside}
    collected = {
        test.code for test in tests if any(
            v.test == test.name and v.status != "error" for v in report.verdicts
        )
    }
    kept: list[TestCase] = []
    for test in tests:
        if isinstance(test, Script) and test.node == REST and test.name not in judged:
            if test.code not in collected:
                kept.append(test)
        elif test.name not in aside:
            kept.append(test)
        elif isinstance(test, Script) and test.name in judged:
            nodes = [_node(test, name) for name in aside[test.name]]
            kept.append(test.model_copy(update={"without": (*test.without, *nodes)}))
    return tuple(kept)


def _node(test: Script, name: str) -> str:
    """The pytest node of a verdict of a test."""
    return name if test.node == REST else test.node + name.removeprefix(test.name)


def outside_failure_words(report: Report) -> str:
    """What is told of all that is set aside; empty where nothing is."""
    found: dict[str, list[str]] = {}
    for verdict in report.verdicts:
        if verdict.aside:
            found.setdefault(verdict.aside, []).append(f"`{verdict.name}`")
    sentences = []
    for reason, names in found.items():
        more = f" and {len(names) - _LISTED} more" if len(names) > _LISTED else ""
        verb = "is" if len(names) == 1 else "are"
        sentences.append(f"{', '.join(names[:_LISTED])}{more} {verb} set aside: {reason}")
    return ". ".join(sentence.rstrip(".") for sentence in sentences)


def with_lost_tests(report: Report, first: Report, tests: Sequence[TestCase]) -> Report:
    """A repair's report beside that of the program as it came: a test that is newly set aside, or
    that pytest finds no more, has not passed."""
    before = {verdict.name: verdict for verdict in first.verdicts}
    verdicts = [
        verdict.model_copy(update={"doubt": f"it is {verdict.status} now, and was not before"})
        if verdict.status in ("skipped", "xfailed") and verdict.name in before
        and before[verdict.name].status not in EXCLUDED else verdict
        for verdict in report.verdicts
    ]
    rests = {test.name for test in tests if isinstance(test, Script) and test.node == REST}
    there = {verdict.name.partition("[")[0] for verdict in report.verdicts}
    gone = [
        verdict.model_copy(update={
            "status": "error", "integrity": None, "message": "pytest finds this test no more",
        })
        for verdict in first.verdicts
        if verdict.test in rests and verdict.passed and verdict.name.partition("[")[0] not in there
    ]
    return report.model_copy(update={"verdicts": (*verdicts, *gone)})
