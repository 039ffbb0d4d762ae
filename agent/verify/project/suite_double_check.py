"""Whether a project's passes are believed: its tests once more, each expecting something else.

A project's tests share a process with it, so pytest's word alone may be the program's. Two things
are asked beside it, both pure here: what a guard saw the program do to its tests, and how the tests
come out where each check expects another value (`texts.expectations`). A test that passes there, or
one of whose checks holds there, passes whatever it expects.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from agent.core.domain import EXCLUDED, Report, Verdict
from agent.core.trees import undisturbed
from agent.verify.belief import STATELESS
from agent.verify.rewriting.expectations import exchanged, with_an_end
from agent.verify.tamper_indicators import HOOKS, is_loosened, reaching, uses, words
from sandbox.types import Json

MAX_ASKED, MAX_ASKED_S = 300, 5.0
"""Tests that are run once more beside those that are to be healed, and the seconds they took."""
ASKED = "tests and program share a process; with other expectations the tests fail"
UNASKED = "tests and program share a process; some checks have no other expectation to try"
NOT_RUN_AGAIN = "tests and program share a process; of so many tests this one was not run once more"
UNREACHED = "tests and program share a process; none of its checks was reached"
PASSED_BY = "it ends well without one of its checks"
LOST = "it passes although a check of it fails"
AGAIN = "it passes no more where each check is asked twice"
_HOW = {
    **dict.fromkeys(("held", "lies"), "it passes whatever is expected at {}"),
    "changed": "what it expects at {} was changed",
    "empty": "the loop at {} goes over something, and never turns",
    "lost": "a check of it fails at {}, and the failure is suppressed",
}
"""What a check tells, but for `failed`: it fails where it expects something else."""
SKIPPED = "it failed before, and now it is skipped or expected to fail"
_DECIDING = ("changed-runner", "exchanged-code", "forged-word", "frames")
"""Signs with which no pass is believed."""
_READING = ("collector", "memory", "audit-hook", "test-source", "planted-module")
"""Signs that may be honest in a project: a test that fails where it expects something else is
believed beside them, one that could not be asked is not healed."""
_JUMPS = re.compile(r"\.f_lineno\s*=[^=]")
"""Has another frame go on elsewhere."""

TamperIndicator = tuple[str, str, str]
"""The test that ran, or "", the rule, and what was seen."""


@dataclass(frozen=True)
class Watching:
    """What is watched while a suite runs, and which of it runs."""

    program: tuple[str, ...]
    """Modules of the program."""
    tests: tuple[str, ...]
    """Modules of its tests."""
    expecting: Mapping[str, str] = field(default_factory=dict)
    """Files of tests that are laid with other expectations, as they were written."""
    only: tuple[str, ...] = ()
    """The tests that run; all where none is named."""


@dataclass
class Observations:
    """What was observed of the tests apart from their outcomes."""

    indicators: list[TamperIndicator] = field(default_factory=list)
    checks: list[Mapping[str, Json]] = field(default_factory=list)
    """A row for each report of a check."""
    ends: set[tuple[str, str]] = field(default_factory=set)
    """How tests came to their end, and which did: `passed by` a check that stands in their way,
    `unreached` are all their checks, an exception `raises`, or it `fails` as it should."""

    def ended(self, *ways: str) -> set[str]:
        """The tests that came to their end in one of these ways."""
        return {test for how, test in self.ends if how in ways}


def written(files: Mapping[str, str], seen: Watching) -> list[TamperIndicator]:
    """What in the program's text leads tests past their checks, or could read them."""
    texts = [files[path] for path in seen.program]
    found = [("", "frames", "it sets where a frame goes on")] if any(
        _JUMPS.search(text) for text in texts
    ) else []
    return found + [("", "reaching", said) for text in texts if (said := reaching(text))]


def watching(files: Mapping[str, str], editable: Sequence[str]) -> Watching:
    """Which files are the program's, and which are counted as its tests': all other modules."""
    modules = [path for path in files if path.endswith(".py")]
    return Watching(
        tuple(path for path in modules if path in editable),
        tuple(path for path in modules if path not in editable),
    )


def chosen(report: Report, wanted: Sequence[str]) -> tuple[str, ...]:
    """The passing tests that are asked: those to be healed, others of their files, and some more
    as long as they take little time. All of them where no test is to be healed, as in a check."""
    passing = [one for one in report.verdicts if one.passed]
    if not wanted:
        return tuple(one.name for one in passing)
    files = {node.partition("::")[0] for node in wanted}
    passing.sort(key=lambda one: (
        one.name not in wanted, one.name.partition("::")[0] not in files
    ))
    found: list[str] = []
    left_s = MAX_ASKED_S
    for one in passing:
        if one.name not in wanted:
            left_s -= one.wall_s
            if left_s < 0 or len(found) >= MAX_ASKED:
                break
        found.append(one.name)
    return tuple(found)


def exchanged_files(files: Mapping[str, str], seen: Watching) -> dict[str, str]:
    """Those files of the tests that run which can expect something else, doing so."""
    asked = {node.partition("::")[0] for node in seen.only} & {*seen.tests}
    found = {path: undisturbed(partial(exchanged, files[path])) for path in sorted(asked)}
    return {path: text for path, text in found.items() if text is not None}


def ending(seen: Watching) -> list[str]:
    """The tests that run and are made to fail at their end."""
    names = {
        path: undisturbed(partial(with_an_end, text)) for path, text in seen.expecting.items()
    }
    return [
        node for node in seen.only
        if node.partition("[")[0].partition("::")[2] in names.get(node.partition("::")[0], ())
    ]


@dataclass(frozen=True)
class Heard:
    """What came of the tests that expected something else."""

    noticed: frozenset[str] = frozenset()
    """Tests in which a check failed, and that failed."""
    denied: Mapping[str, str] = field(default_factory=dict)
    """Tests that are not believed, and why."""
    unreached: frozenset[str] = frozenset()
    """Tests none of whose checks was reached."""
    isolated: frozenset[str] = frozenset()
    """Tests all of whose checks hold in a process that holds no test."""
    vacuous: frozenset[str] = frozenset()
    """Tests that pass whatever the program answers."""
    left_out: frozenset[str] = frozenset()
    """Passing tests that were not run a second time, since that would take long."""
    unjudged: Mapping[str, str] = field(default_factory=dict)
    """Tests whose file was not judged alone, and why."""


def heard(
    observed: Observations, statuses: Mapping[str, str], texts: str, alone: Collection[str] = (),
    ended: Collection[str] = (),
) -> Heard:
    """What checks reported; `statuses` are how their tests came out, `texts` what they say. Tests
    that ran `alone`, without others that had run before them, may have needed those; those that
    are `ended` come to an end that tells."""
    named = frozenset(re.findall(r"\w+", texts))
    # What its tests compare with other things, as a placeholder, is meant to equal them.
    meant = {
        kind for row in observed.checks for kind, names, is_other in _own(row)
        if is_other and named & {*names}
    }
    denied = {
        str(row["test"]): _HOW[str(row["how"])].format(row["check"])
        for row in observed.checks if row["how"] != "failed" and not _is_meant(row, meant, named)
    }
    denied |= dict.fromkeys(observed.ended("passed by"), PASSED_BY)
    failing = observed.ended("fails", "raises")
    passing = {node for node, status in statuses.items() if status == "passed"}
    denied |= dict.fromkeys(passing.intersection(ended) - failing, PASSED_BY)
    denied |= dict.fromkeys(passing & failing, LOST)
    denied |= {
        node: denied.get(node, AGAIN) for node, status in statuses.items()
        if status != "passed" and node not in observed.ended("fails") and node not in alone
    }
    noticed = {str(row["test"]) for row in observed.checks if row["how"] == "failed"}
    return Heard(frozenset(noticed - denied.keys()), denied, frozenset(observed.ended("unreached")))


def _is_meant(row: Mapping[str, Json], meant: set[str], named: frozenset[str]) -> bool:
    """Whether what was compared may equal anything as its test would have it: a placeholder of a
    library's that the test names, or of the program's."""
    others = row.get("others")
    if isinstance(others, list) and named & {*map(str, others)}:
        return True
    own = [kind for kind, _, _ in _own(row)]
    return bool(own) and meant.issuperset(own)


def _own(row: Mapping[str, Json]) -> list[tuple[str, list[str], bool]]:
    """Classes of the program whose objects were compared: how it is called, and whether what was
    expected is of another kind."""
    found: list[tuple[str, list[str], bool]] = []
    own = row.get("own")
    for one in own if isinstance(own, list) else ():
        match one:
            case [str(kind), list(names), bool(is_other)]:
                found.append((kind, [*map(str, names)], is_other))
    return found


def believed(
    verdicts: Iterable[Verdict],
    indicators: Sequence[TamperIndicator],
    said: Heard,
    wanted: Sequence[str],
    texts: str,
) -> list[Verdict]:
    """The verdicts with how far each pass is believed."""
    return [_believed(one, indicators, said, one.name in wanted, texts) for one in verdicts]


def _believed(
    verdict: Verdict,
    indicators: Sequence[TamperIndicator],
    said: Heard,
    is_wanted: bool,
    texts: str,
) -> Verdict:
    if verdict.status in ("skipped", "xfailed") and is_wanted:
        return _doubted(verdict, SKIPPED)
    for _, _, what in (one for one in indicators if one[:2] == (verdict.name, "control-flow")):
        if verdict.status in EXCLUDED:
            return _doubted(verdict, words("control-flow", what))
    if not verdict.passed:
        return verdict
    seen = [one for one in indicators if one[0] in ("", verdict.name)]
    deciding = [
        words(rule, what) for _, rule, what in seen
        if _decides(rule, what, texts) or (rule == "expected-data" and is_wanted)
    ]
    if verdict.name in said.denied:
        deciding.append(said.denied[verdict.name])
    elif verdict.name in said.unreached - said.isolated and is_wanted:
        deciding.append(UNREACHED)
    others = [words(rule, what) for _, rule, what in seen if rule in _READING]
    could = [what for _, rule, what in seen if rule == "reaching"]
    asked = verdict.name in said.noticed | said.isolated
    if deciding or (others and is_wanted and not asked):
        return _doubted(verdict, "; ".join(dict.fromkeys(deciding or others)))
    if verdict.name in said.isolated:
        return verdict.model_copy(update={"integrity": "isolated", "reason": ""})
    how = ASKED if asked else UNREACHED if verdict.name in said.unreached else (
        NOT_RUN_AGAIN if verdict.name in said.left_out else UNASKED
    )
    alone = [said.unjudged[verdict.name]] if is_wanted and verdict.name in said.unjudged else []
    reason = "; ".join(dict.fromkeys([how, *alone, *(others + could)[:1]]))
    return verdict.model_copy(update={
        "integrity": "in-process", "reason": reason, "vacuous": verdict.name in said.vacuous,
    })


def _decides(rule: str, what: str, texts: str) -> bool:
    if rule == "tolerance":
        return is_loosened(what, texts)
    if rule == "changed-library":
        return uses(what, texts)
    if rule != "changed-builtin":
        return rule in _DECIDING
    module, _, name = what.rpartition(".")
    # A library's function counts where a test calls it, unless programs may well replace it.
    called = name if module in STATELESS else what
    return not module or (
        module not in HOOKS and what != "time.sleep"
        and re.search(rf"\b{re.escape(called)}\(", texts) is not None
    )


def _doubted(verdict: Verdict, doubt: str) -> Verdict:
    return verdict.model_copy(update={
        "integrity": None, "reason": "", "doubt": doubt, "message": f"not believed: {doubt}",
    })
