"""The input, questions and answers of a search: plain values."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Literal

from agent.core.domain import Estimate

Mode = Literal["early", "full", "fit"]
"""How far a candidate's tests are run.

early  up to the first that fails
full   all of them
fit    while the candidate may still be better than the base: it must not break what passed
"""


@dataclass(frozen=True)
class Screened:
    """What one candidate did in a shared process: a hint for the search, never a verdict."""

    passed: tuple[bool | None, ...]
    """One entry per test; `None` was not run. Without tests: whether the program ended well."""
    ended: Literal["ok", "failed", "syntax", "timeout", "endless", "lost"]
    """`timeout` may only be slow; `endless` was seen to repeat itself."""
    exception: str = ""
    message: str = ""
    line: int | None = None
    """The last line of the entry file on the traceback."""
    types: tuple[str, ...] = ()
    """`got/expected` for each comparison that held though the types differ; without tests `silent`
    where nothing was printed beyond what was before the crash."""
    near: tuple[float, ...] = ()
    """For each test that failed how near its comparison came to holding, below 1; 0 if unknown."""
    did: str = ""
    """Candidates that failed in the same way have the same; empty where that is not known."""

    @property
    def score(self) -> int:
        return sum(bool(one) for one in self.passed)

    def progress(self, base: Screened, tests: Collection[int]) -> float:
        """How much further some tests came than with `base`: 1 for each that passes now, less for
        one that fails nearer to passing; those that were not run count for nothing."""
        return sum(
            self._came(index) - base._came(index)
            for index in tests
            if index < len(self.passed) and self.passed[index] is not None
        )

    def _came(self, index: int) -> float:
        if index < len(self.passed) and self.passed[index]:
            return 1.0
        return self.near[index] if index < len(self.near) else 0.0


@dataclass(frozen=True)
class Traced:
    """One test's run, seen line by line."""

    passed: bool
    covered: frozenset[int] = frozenset()
    """Lines of the entry file."""
    exception: str = ""
    message: str = ""
    line: int | None = None
    values: tuple[tuple[str, str], ...] = ()
    """Names and their `repr` where the test went wrong."""
    members: tuple[str, ...] = ()
    """What the built-in type or the module has, in which the exception missed a name."""


@dataclass(frozen=True, slots=True)
class Moment:
    """What the variables held just before a line ran, as far as they are plain values."""

    line: int
    passed: bool
    """Whether the test that ran it passes."""
    values: tuple[tuple[str, str], ...]
    """Names and their `repr`."""


@dataclass(frozen=True)
class Trace:
    """All tests' runs of one program."""

    tests: tuple[Traced, ...]
    types: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """Type names seen in each variable."""
    moments: tuple[Moment, ...] = ()
    """A few for each line and test, in the order they came."""
    together: bool = False
    """A test fails beside others alone: its run is that of those it takes, and then its own."""

    @property
    def failing(self) -> tuple[int, ...]:
        return tuple(index for index, test in enumerate(self.tests) if not test.passed)


@dataclass(frozen=True)
class Crash:
    """How a failing run ended, when it was not a wrong answer."""

    exception: str
    message: str
    line: int | None
    members: tuple[str, ...] = ()
    """What the built-in type or the module has, in which a name was missed."""
    values: tuple[tuple[str, str], ...] = ()
    """Names and the start of their values' `repr`, where it arose."""


@dataclass(frozen=True)
class Facts:
    """What is known before the search begins."""

    tests: tuple[str, ...] = ()
    """The code of each test."""
    protected: tuple[tuple[int, int], ...] = ()
    """First and last lines that are never edited."""
    words: tuple[str, ...] = ()
    """Texts that the failing tests write: of them tables and patterns may lack one."""
    beside: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """For the name of a field those that classes of other files set beside it."""


def never() -> bool:
    return False


@dataclass(frozen=True)
class Budget:
    """How much a search may try; within it the result depends on the input alone."""

    candidates: int = 20_000
    pairs: int = 12_000
    """Of these, how many may be pairs of edits."""
    syntax: int = 4_000
    """Texts that may be compiled to repair a syntax error."""
    beyond: int = 1_500
    """How many are still tried after the first that passes every test."""
    chunk: int = 320
    """How many are asked about at once, but for the first."""
    over: Callable[[], bool] = never
    """Whether nobody waits for what is found any more: the listing of edits then stops."""


SYNTAX = "syntax"
"""In the place of an operator: the text was made to compile."""


@dataclass(frozen=True)
class Candidate:
    """A whole text of the entry file, and how it came to be."""

    text: str
    cost: float
    operators: tuple[str, ...]
    """Of its edits, in the order they were made."""
    note: str = ""
    passed: int = 0
    types: tuple[str, ...] = ()
    blind: bool = False
    """Its answer no longer depends on the arguments."""
    idle: bool = False
    """It has an operation more that nobody would write, as `x * 1` or `x + 1 - 1`."""
    answers: tuple[str, ...] = ()
    """What it gives for each of the findings' calls; empty where it was not asked."""
    tried: int = 0
    """How many candidates were screened before it."""
    estimate: Estimate | None = None
    """How likely it is right; `None` until it competes with the others that pass."""


@dataclass(frozen=True)
class Findings:
    """What a search has to show so far."""

    plausible: tuple[Candidate, ...] = ()
    """Pass every test, best first."""
    calls: tuple[str, ...] = ()
    """Calls beyond the tests', to which plausible candidates were put."""
    base_answers: tuple[str, ...] = ()
    """What the program under repair gives for each of these calls."""
    partial: Candidate | None = None
    """The best that passes more tests than the base, but not all."""
    tried: int = 0
    base_passed: int = 0
    total: int = 0


@dataclass(frozen=True)
class Examine:
    """Asks for a `Trace` of a text."""

    text: str
    so_far: Findings


@dataclass(frozen=True)
class Screen:
    """Asks for a tuple of `Screened`, one per candidate; `None` was not run."""

    candidates: tuple[str, ...]
    mode: Mode
    so_far: Findings
    patience: float = 1.0
    """Multiplies the budget of steps, for candidates that may only be slow."""


@dataclass(frozen=True)
class Probe:
    """Asks what each text gives for each call; answered by `Probed`."""

    texts: tuple[str, ...]
    calls: tuple[str, ...]
    so_far: Findings


@dataclass(frozen=True)
class Probed:
    """One row of answers for each text, `None` where it ended its process.

    An answer is a value in words, `!` and an exception's name, `~` for no end, or nothing.
    """

    rows: tuple[tuple[str, ...] | None, ...]
    steps: tuple[tuple[int, ...], ...] = ()
    """The steps each answer took; empty for a text that ended its process."""


@dataclass(frozen=True)
class Offer:
    """Shows the findings; answered by whether one was accepted, and the search goes on if not."""

    so_far: Findings


Question = Examine | Screen | Probe | Offer
Answer = None | Trace | tuple[Screened | None, ...] | Probed | bool
