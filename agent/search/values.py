"""The input, questions and answers of a search: plain values."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from agent.core.domain import Estimate

Mode = Literal["early", "full", "fit"]
"""Which tests of a candidate are run.

early  up to the first that fails, once a repair is known
full   all of them
fit    up to the first sign that the candidate is no better than the base, such as the failure of a
       test that the base passes
"""


@dataclass(frozen=True)
class PrecheckResult:
    """The pre-check of one candidate in a shared process: a hint for the search, no verdict."""

    passed: tuple[bool | None, ...]
    """One entry a test, `None` if it was not run; without tests, whether the program succeeded."""
    outcome: Literal["ok", "failed", "syntax", "timeout", "endless", "lost"]
    """`timeout` may only be slow; `endless` repeats a state; `lost` ended its process."""
    exception: str = ""
    message: str = ""
    line: int | None = None
    """The last line of the entry file on the traceback."""
    types: tuple[str, ...] = ()
    """`got/expected` for each comparison of equal values of different types; without tests `silent`
    if nothing was printed after the place of the crash."""
    similarity: tuple[float, ...] = ()
    """The similarity of the result and the expected one for each test, below 1; 0 if unknown."""
    behaviour: str = ""
    """A hash of the failures; empty if unknown."""

    @property
    def score(self) -> int:
        """The number of tests that passed."""
        return sum(bool(one) for one in self.passed)

    def progress(self, base: PrecheckResult, tests: Collection[int]) -> float:
        """How much nearer to passing some tests are than with `base`.

        Each test that was run adds at most 1.
        """
        return sum(
            self._nearness(index) - base._nearness(index)
            for index in tests
            if index < len(self.passed) and self.passed[index] is not None
        )

    def _nearness(self, index: int) -> float:
        if index < len(self.passed) and self.passed[index]:
            return 1.0
        return self.similarity[index] if index < len(self.similarity) else 0.0


@dataclass(frozen=True)
class TracedTest:
    """The trace of one test."""

    passed: bool
    covered: frozenset[int] = frozenset()
    """Lines of the entry file."""
    exception: str = ""
    message: str = ""
    line: int | None = None
    values: tuple[tuple[str, str], ...] = ()
    """Names and their `repr` at the failure."""
    known_names: tuple[str, ...] = ()
    """All names of the type or module that lacks the name in the exception's message."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The plain values of the variables just before a line ran."""

    line: int
    passed: bool
    """Whether the test that ran the line passes."""
    values: tuple[tuple[str, str], ...]
    """Names and their `repr`."""


@dataclass(frozen=True)
class Trace:
    """The traces of all tests of one program."""

    tests: tuple[TracedTest, ...]
    types: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """The names of the types of each variable."""
    snapshots: tuple[Snapshot, ...] = ()
    """A few for each line and test, in the order of the run."""
    order_dependent: bool = False
    """Whether a test fails only after others, its polluters, which were run before it."""

    @property
    def failing(self) -> tuple[int, ...]:
        return tuple(index for index, test in enumerate(self.tests) if not test.passed)


@dataclass(frozen=True)
class Crash:
    """The exception of a run that failed by an exception and not by a wrong answer."""

    exception: str
    message: str
    line: int | None
    known_names: tuple[str, ...] = ()
    """All names of the type or module that lacks the name in the exception's message."""
    values: tuple[tuple[str, str], ...] = ()
    """Names and the start of the `repr` of their values, where it was raised."""


class ExpectedException(NamedTuple):
    """An exception that a test expects."""

    name: str
    message: str = ""
    """A text that its message has to match or equal; empty if the test does not say."""


@dataclass(frozen=True)
class Facts:
    """Facts about the program that are known before the search."""

    tests: tuple[str, ...] = ()
    """The code of each test."""
    protected: tuple[tuple[int, int], ...] = ()
    """First and last lines that are never edited."""
    test_strings: tuple[str, ...] = ()
    """Strings in the failing tests, which the program's tables and patterns may lack."""
    sibling_fields: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """By field name, the fields that classes of other files set together with this field."""


def never() -> bool:
    return False


@dataclass(frozen=True)
class Budget:
    """The limits of a search; within them the result depends on its input only."""

    candidates: int = 20_000
    pairs: int = 12_000
    """The maximum number of extended partial fixes and pairs of edits, per level of the beam."""
    syntax: int = 4_000
    """Texts that may be compiled to repair a syntax error."""
    further_candidates: int = 1_500
    """Candidates still tried after the first that passes every test, to find competing patches."""
    chunk_size: int = 320
    """Candidates in one question, except for the first question."""
    is_over: Callable[[], bool] = never
    """Whether the search was ended from outside; edits are then no longer listed."""


SYNTAX = "syntax"
"""The operator of a repair that makes the text compile."""
TRANSLATED = "translated exception"
REPEATED = "repeated"
"""Precedes the operator of an edit that is made at several places."""


@dataclass(frozen=True)
class Candidate:
    """A whole text of the entry file and its edits."""

    text: str
    cost: float
    operators: tuple[str, ...]
    """The operators of its edits, in the order they were made."""
    note: str = ""
    passed: int = 0
    types: tuple[str, ...] = ()
    blind: bool = False
    """Whether its answer no longer depends on the arguments."""
    idle: bool = False
    """Whether it adds an operation without effect, as `x * 1` or `x + 1 - 1`."""
    answers: tuple[str, ...] = ()
    """Its answer to each of the findings' calls; empty if it was not probed."""
    tried: int = 0
    """The number of candidates that were pre-checked before it."""
    estimate: Estimate | None = None
    """The estimate that it is right; `None` until it is compared with the others that pass."""


@dataclass(frozen=True)
class Findings:
    """What a search has found so far."""

    plausible: tuple[Candidate, ...] = ()
    """Candidates that pass every test, best first."""
    calls: tuple[str, ...] = ()
    """Calls that no test makes, with which plausible candidates were probed."""
    base_answers: tuple[str, ...] = ()
    """The answer of the program under repair to each of these calls."""
    partial: Candidate | None = None
    """The best candidate that passes more tests than the base, but not all."""
    tried: int = 0
    base_passed: int = 0
    total: int = 0


@dataclass(frozen=True)
class TraceRequest:
    """Asks for a `Trace` of a text."""

    text: str
    findings: Findings


@dataclass(frozen=True)
class PrecheckRequest:
    """Asks for a tuple of `PrecheckResult`, one per candidate; `None` for one that was not run."""

    candidates: tuple[str, ...]
    mode: Mode
    findings: Findings
    limit_factor: float = 1.0
    """A factor of a candidate's limits of steps and time, above 1 to try slow ones again."""
    prepare: Callable[[], object] = never
    """Generates the next edits; to be called in a thread while these candidates run."""


@dataclass(frozen=True)
class ProbeRequest:
    """Asks for the answer of each text to each call; answered by `ProbeResult`."""

    texts: tuple[str, ...]
    calls: tuple[str, ...]
    findings: Findings


@dataclass(frozen=True)
class ProbeResult:
    """One row of answers for each text; `None` for a text that ended its process.

    An answer is the description of a value, `!` and an exception's name, `~` for a timeout, or
    empty for a call that was not made.
    """

    rows: tuple[tuple[str, ...] | None, ...]
    steps: tuple[tuple[int, ...], ...] = ()
    """The steps of each answer; empty for a text that ended its process."""


@dataclass(frozen=True)
class JudgeRequest:
    """Submits the findings; answered by whether one was accepted, which ends the search."""

    findings: Findings


SearchRequest = TraceRequest | PrecheckRequest | ProbeRequest | JudgeRequest
SearchReply = None | Trace | tuple[PrecheckResult | None, ...] | ProbeResult | bool
