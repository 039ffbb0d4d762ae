"""Decides which passes of a project are believed, from tamper indicators and a double-checked run.

A project's tests share a process with it, so the program could fake pytest's outcomes. The pure
functions here evaluate what a guard observed, and the run in which each check expects another
value (`rewriting.expectations`): a test or a check that passes there passes whatever it expects.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from agent.core.domain import NEUTRAL_STATUSES, Report, Verdict
from agent.core.trees import retry_parse
from agent.verify.belief import STATELESS
from agent.verify.rewriting.expectations import exchanged, instrumented_tests
from agent.verify.tamper_indicators import HOOKS, is_loosened, message_of, reaching_code, uses
from sandbox.types import Json

MAX_ADDITIONAL, MAX_ADDITIONAL_S = 300, 5.0
"""Maximum number and total seconds of additional tests that run again."""
DOUBLE_CHECKED = "tests and program share a process; with other expected values the tests fail"
NOT_DOUBLE_CHECKED = "tests and program share a process; some checks have no value to change"
NOT_RUN_AGAIN = "tests and program share a process; this one of many tests was not run again"
UNREACHED = "tests and program share a process; none of its checks was reached"
PASSED_BY = "it ends without running one of its checks"
LOST = "it passes although one of its checks fails"
NOT_REPEATABLE = "it does not pass if each check is evaluated twice"
_REPORT_MESSAGES = {
    **dict.fromkeys(("held", "lies"), "it passes with any expected value at {}"),
    "changed": "the value that it expects at {} was changed",
    "empty": "the loop at {} has elements, but never runs",
    "lost": "one of its checks fails at {}, and the failure is swallowed",
}
"""Messages of the reports of a check, but for `failed`: it fails with another expectation."""
SKIPPED = "it failed before, and is now skipped or expected to fail"
_DISBELIEVED_RULES = ("changed-runner", "replaced-code", "forged-message", "frames")
"""Rules with which no pass is believed."""
_SUSPICIOUS_RULES = ("collector", "memory", "audit-hook", "test-source", "planted-module")
"""Rules that honest projects may trigger: a test that fails with other expectations is still
believed, one that could not be double-checked is not healed."""
_JUMPS = re.compile(r"\.f_lineno\s*=[^=]")
"""Sets the next line of another frame."""

TamperIndicator = tuple[str, str, str]
"""The running test or "", the rule, and the detail."""


@dataclass(frozen=True)
class WatchedFiles:
    """The files that are watched while a suite runs, and the tests that run."""

    program: tuple[str, ...]
    tests: tuple[str, ...]
    expecting: Mapping[str, str] = field(default_factory=dict)
    """Original texts of test files that run with other expectations."""
    only: tuple[str, ...] = ()
    """The tests that run; all where none is named."""


@dataclass
class CheckReports:
    """What a run reported about its tests, in addition to their outcomes."""

    indicators: list[TamperIndicator] = field(default_factory=list)
    checks: list[Mapping[str, Json]] = field(default_factory=list)
    ends: set[tuple[str, str]] = field(default_factory=set)
    """How tests ended: `passed by` a check without running it, with all checks `unreached`, by an
    exception that it `raises`, or it `fails` as it should. Each with the test."""

    def ended(self, *how: str) -> set[str]:
        return {test for one, test in self.ends if one in how}


def text_indicators(files: Mapping[str, str], watching: WatchedFiles) -> list[TamperIndicator]:
    texts = [files[path] for path in watching.program]
    found = [("", "frames", "it sets the next line of a frame")] if any(
        _JUMPS.search(text) for text in texts
    ) else []
    return found + [("", "reaching", detail) for text in texts if (detail := reaching_code(text))]


def watched_files(files: Mapping[str, str], editable: Sequence[str]) -> WatchedFiles:
    """Splits modules into those of the program (`editable`) and those of its tests."""
    modules = [path for path in files if path.endswith(".py")]
    return WatchedFiles(
        tuple(path for path in modules if path in editable),
        tuple(path for path in modules if path not in editable),
    )


def select_double_checked(report: Report, wanted: Sequence[str]) -> tuple[str, ...]:
    """The passing tests that are double-checked: those to be healed, others of their files, and
    more while time is left. All of them where no test is to be healed, as in a check."""
    passing = [verdict for verdict in report.verdicts if verdict.passed]
    if not wanted:
        return tuple(one.name for one in passing)
    files = {node.partition("::")[0] for node in wanted}
    passing.sort(key=lambda one: (one.name not in wanted, one.name.partition("::")[0] not in files))
    found: list[str] = []
    left_s = MAX_ADDITIONAL_S
    for one in passing:
        if one.name not in wanted:
            left_s -= one.wall_s
            if left_s < 0 or len(found) >= MAX_ADDITIONAL:
                break
        found.append(one.name)
    return tuple(found)


def exchanged_files(files: Mapping[str, str], watching: WatchedFiles) -> dict[str, str]:
    """The test files with exchanged expectations, without those where that is impossible."""
    paths = {node.partition("::")[0] for node in watching.only} & {*watching.tests}
    found = {path: retry_parse(partial(exchanged, files[path])) for path in sorted(paths)}
    return {path: text for path, text in found.items() if text is not None}


def instrumented_nodes(watching: WatchedFiles) -> list[str]:
    """The running tests that are made to fail at their end."""
    names = {
        path: retry_parse(partial(instrumented_tests, text))
        for path, text in watching.expecting.items()
    }
    return [
        node for node in watching.only
        if node.partition("[")[0].partition("::")[2] in names.get(node.partition("::")[0], ())
    ]


@dataclass(frozen=True)
class DoubleCheck:
    """The result of the additional runs of passing tests."""

    sensitive: frozenset[str] = frozenset()
    """Tests that failed with other expectations, by one of their checks."""
    refuted: Mapping[str, str] = field(default_factory=dict)
    unreached: frozenset[str] = frozenset()
    isolated: frozenset[str] = frozenset()
    """Tests all of whose checks hold in a process without tests."""
    vacuous: frozenset[str] = frozenset()
    """Tests that pass whatever the program answers."""
    left_out: frozenset[str] = frozenset()
    """Passing tests that were not run again, to save time."""
    unjudged: Mapping[str, str] = field(default_factory=dict)


def evaluate(
    reports: CheckReports, statuses: Mapping[str, str], texts: str, alone: Collection[str] = (),
    ended: Collection[str] = (),
) -> DoubleCheck:
    """Evaluates the reports of a double-checked run.

    Args:
        statuses: The outcomes of its tests.
        texts: The joined texts of the tests.
        alone: Tests that may fail here because other tests did not run before them.
        ended: Tests that are made to fail at their end.
    """
    named = frozenset(re.findall(r"\w+", texts))
    # Classes that the tests compare with other types are placeholders, which may equal anything.
    meant = {
        kind for row in reports.checks for kind, names, is_other in _program_classes(row)
        if is_other and named & {*names}
    }
    refuted = {
        str(row["test"]): _REPORT_MESSAGES[str(row["how"])].format(row["check"])
        for row in reports.checks if row["how"] != "failed" and not _is_wildcard(row, meant, named)
    }
    refuted |= dict.fromkeys(reports.ended("passed by"), PASSED_BY)
    failing = reports.ended("fails", "raises")
    passing = {node for node, status in statuses.items() if status == "passed"}
    refuted |= dict.fromkeys(passing.intersection(ended) - failing, PASSED_BY)
    refuted |= dict.fromkeys(passing & failing, LOST)
    refuted |= {
        node: refuted.get(node, NOT_REPEATABLE) for node, status in statuses.items()
        if status != "passed" and node not in reports.ended("fails") and node not in alone
    }
    sensitive = {str(row["test"]) for row in reports.checks if row["how"] == "failed"}
    unreached = frozenset(reports.ended("unreached"))
    return DoubleCheck(frozenset(sensitive - refuted.keys()), refuted, unreached)


def _is_wildcard(row: Mapping[str, Json], meant: set[str], named: frozenset[str]) -> bool:
    """Whether the compared object is a placeholder of the tests, which may equal anything."""
    others = row.get("others")
    if isinstance(others, list) and named & {*map(str, others)}:
        return True
    kinds = [kind for kind, _, _ in _program_classes(row)]
    return bool(kinds) and meant.issuperset(kinds)


def _program_classes(row: Mapping[str, Json]) -> list[tuple[str, list[str], bool]]:
    """The program's classes of compared objects, each with its names, and whether the expected
    value has another type."""
    found: list[tuple[str, list[str], bool]] = []
    rows = row.get("own")
    for one in rows if isinstance(rows, list) else ():
        match one:
            case [str(kind), list(names), bool(is_other)]:
                found.append((kind, [*map(str, names)], is_other))
    return found


def with_integrity(
    verdicts: Iterable[Verdict], indicators: Sequence[TamperIndicator], result: DoubleCheck,
    wanted: Sequence[str], texts: str,
) -> list[Verdict]:
    """The verdicts with the integrity of each pass, or the doubt about it."""
    return [_with_integrity(one, indicators, result, one.name in wanted, texts) for one in verdicts]


def _with_integrity(
    verdict: Verdict, indicators: Sequence[TamperIndicator], result: DoubleCheck, is_wanted: bool,
    texts: str,
) -> Verdict:
    if verdict.status in ("skipped", "xfailed") and is_wanted:
        return _disbelieved(verdict, SKIPPED)
    for _, _, detail in (one for one in indicators if one[:2] == (verdict.name, "control-flow")):
        if verdict.status in NEUTRAL_STATUSES:
            return _disbelieved(verdict, message_of("control-flow", detail))
    if not verdict.passed:
        return verdict
    relevant = [indicator for indicator in indicators if indicator[0] in ("", verdict.name)]
    deciding = [
        message_of(rule, detail) for _, rule, detail in relevant
        if _is_disbelieved(rule, detail, texts) or (rule == "expected-data" and is_wanted)
    ]
    if verdict.name in result.refuted:
        deciding.append(result.refuted[verdict.name])
    elif verdict.name in result.unreached - result.isolated and is_wanted:
        deciding.append(UNREACHED)
    others = [message_of(rule, detail) for _, rule, detail in relevant if rule in _SUSPICIOUS_RULES]
    could = [detail for _, rule, detail in relevant if rule == "reaching"]
    asked = verdict.name in result.sensitive | result.isolated
    if deciding or (others and is_wanted and not asked):
        return _disbelieved(verdict, "; ".join(dict.fromkeys(deciding or others)))
    if verdict.name in result.isolated:
        return verdict.model_copy(update={"integrity": "isolated", "reason": ""})
    how = DOUBLE_CHECKED if asked else UNREACHED if verdict.name in result.unreached else (
        NOT_RUN_AGAIN if verdict.name in result.left_out else NOT_DOUBLE_CHECKED
    )
    alone = [result.unjudged[verdict.name]] if is_wanted and verdict.name in result.unjudged else []
    reason = "; ".join(dict.fromkeys([how, *alone, *(others + could)[:1]]))
    return verdict.model_copy(update={
        "integrity": "in-process", "reason": reason, "vacuous": verdict.name in result.vacuous,
    })


def _is_disbelieved(rule: str, detail: str, texts: str) -> bool:
    if rule == "tolerance":
        return is_loosened(detail, texts)
    if rule == "changed-library":
        return uses(detail, texts)
    if rule != "changed-builtin":
        return rule in _DISBELIEVED_RULES
    module, _, name = detail.rpartition(".")
    # A library function counts if a test calls it, and honest programs do not replace it.
    called = name if module in STATELESS else detail
    return not module or (
        module not in HOOKS and detail != "time.sleep"
        and re.search(rf"\b{re.escape(called)}\(", texts) is not None
    )


def _disbelieved(verdict: Verdict, doubt: str) -> Verdict:
    return verdict.model_copy(update={
        "integrity": None, "reason": "", "disbelieved": doubt, "message": f"not believed: {doubt}",
    })
