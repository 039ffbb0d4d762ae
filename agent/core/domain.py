"""The frozen, strict values of all packages: tasks, tests, solutions, verdicts, proofs."""

from __future__ import annotations

import difflib
import hashlib
import json
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal, Self

from pydantic import AliasChoices, BaseModel, BeforeValidator, ConfigDict, Field

Origin = Annotated[
    Literal[
        "user", "doctest", "task", "held-out", "required", "confirmed", "spec", "contested",
        "adversarial",
    ],
    BeforeValidator(lambda value: "required" if value == "urged" else value),  # of older runs
]
"""`task`: an example in the task description; `spec`: derived from the description; `confirmed`:
derived and validated; `required`: confirmed, and to pass while another repair is tried;
`contested`: the validation stayed undecided."""

FULL_WEIGHT = 1.0
WEIGHTS: dict[Origin, float] = {
    "user": FULL_WEIGHT, "doctest": FULL_WEIGHT, "task": FULL_WEIGHT, "held-out": FULL_WEIGHT,
    "required": FULL_WEIGHT, "confirmed": 0.7, "spec": 0.4, "contested": 0.1, "adversarial": 0.0,
}
VETO_WEIGHT = 0.6
"""The weight at which failing derived tests forbid success: one confirmed test, or two others."""

TRUSTED_ORIGINS: frozenset[Origin] = frozenset(
    one for one, weight in WEIGHTS.items() if weight >= FULL_WEIGHT
)
SPECIFYING_ORIGINS: frozenset[Origin] = frozenset({"user", "doctest"})
DERIVED_ORIGINS: frozenset[Origin] = frozenset(
    one for one, weight in WEIGHTS.items() if 0 < weight < FULL_WEIGHT
)
MIN_TESTS_TO_HOLD_OUT = 4

Status = Literal["passed", "failed", "error", "timeout", "skipped", "xfailed", "xpassed"]
"""The result of a test in pytest's terms, plus `timeout`."""
Integrity = Literal["isolated", "in-process"]
INTEGRITY_ORDER: tuple[Integrity, ...] = ("in-process", "isolated")
OTHER_TESTS = "*"
"""The node that represents all other tests that pytest collects from a file."""
NEUTRAL_STATUSES: frozenset[Status] = frozenset({"skipped", "xfailed", "xpassed"})
"""Results that count neither for nor against a program."""
VerdictStatus = Literal[Status, "vacuous", "not believed", "excluded"]
"""The status of a verdict: the test result, unless it counts for less."""
ProofLevel = Literal["E0", "E1", "E2", "E3", "E4"]
Strategy = Literal["memory", "search", "model", "person"]
"""Who made a patch. In contrast, an `Approach` is what an iteration does to find one."""
Approach = Literal["search", "minimal", "tournament", "rewrite", "fresh"]
"""What an iteration does to find a repair, cheapest first: search, or a kind of model request."""
Category = Literal[
    "syntax", "import", "name", "crash", "wrong_result", "endless", "missing_package",
    "input_exhausted", "deliberate_exit", "invalid_tests", "flaky_tests",
    "environment", "unknown",
]
RunOutcome = Literal[
    "healthy", "healed", "proposed", "crash_stopped", "unresolved", "not_fixable", "needs_model",
    "model_failed", "budget", "cancelled", "awaiting_review",
]
"""How a run ended; an `awaiting_review` run continues after a person's answer."""
NotHeldOut = Literal["", "together", "no value", "known", "seen", "edited"]
"""Why no test is held out although there are enough tests."""
PROOF_ORDER: tuple[ProofLevel, ...] = ("E0", "E1", "E2", "E3", "E4")


def claim(level: ProofLevel, integrity: Integrity | None, reason: str = "") -> str:
    """Proof and integrity in one line, as `E2 · isolated` or `E2 · in-process: uses caplog`."""
    if integrity is None:
        return level
    return f"{level} · {integrity}" + (f": {reason}" if reason else "")


class Value(BaseModel):
    """A frozen value that compares by content and rejects unknown fields."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    @property
    def id(self) -> str:
        """The content address: 16 hex digits of the SHA-256 of its JSON."""
        return digest(self.to_json())

    def to_json(self) -> str:
        """The value as ASCII JSON, which can hold lone surrogates, unlike pydantic's own."""
        return json.dumps(self.model_dump(), separators=(",", ":"))

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Reads what `to_json` wrote; raises `ValueError` for any other text."""
        return cls.model_validate(json.loads(text))


def renamed_field(name: str, old: str, default: Any) -> Any:
    """A field that stored runs of the version before call `old`."""
    return Field(default, validation_alias=AliasChoices(name, old))


def digest(text: str) -> str:
    """16 hex digits of the SHA-256 of `text`; lone surrogates are allowed."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


class File(Value):
    """A file of a program by relative POSIX path; bytes outside UTF-8 are lone surrogates."""

    path: str
    text: str


class FileChange(Value):
    """A file of a program before and after a repair; the text of a missing file is empty."""

    path: str
    before: str
    after: str


class Example(Value):
    """`call` must equal `expected`; both are Python expressions, `expected` a literal."""

    kind: Literal["example"] = "example"
    name: str
    origin: Origin
    call: str
    expected: str

    @property
    def code(self) -> str:
        return f"assert {self.call} == {self.expected}"


class Raises(Value):
    """`call` must raise `exception`, a dotted class name."""

    kind: Literal["raises"] = "raises"
    name: str
    origin: Origin
    call: str
    exception: str

    @property
    def code(self) -> str:
        return (
            f"try:\n    {self.call}\nexcept {self.exception}:\n    pass\n"
            f"else:\n    assert False, 'did not raise {self.exception}'"
        )


class Property(Value):
    """`predicate`, an expression over `result`, must hold for the value of `call`."""

    kind: Literal["property"] = "property"
    name: str
    origin: Origin
    call: str
    predicate: str

    @property
    def code(self) -> str:
        return f"result = {self.call}\nassert {self.predicate}"


class Script(Value):
    """Assert code. With `node`, `code` is a whole pytest file and `node` one function of it.

    `node` is a pytest node id without the file name, as `TestStack::test_pop`; `OTHER_TESTS` is any
    other test that pytest collects, except `excluded_nodes`. `uses_output` marks code that reads
    `output`, the program's standard output. `file` is the path of its file; empty for pasted code.
    """

    kind: Literal["script"] = "script"
    name: str
    origin: Origin
    code: str
    node: str = ""
    excluded_nodes: tuple[str, ...] = renamed_field("excluded_nodes", "without", ())
    uses_output: bool = False
    file: str = ""


TestCase = Annotated[Example | Raises | Property | Script, Field(discriminator="kind")]


LEAST_CHANCE, MAX_LOG_ODDS = 1e-6, 30.0


class Estimate(Value):
    """The probability that a patch is right, given that it passes its tests."""

    log_odds: float  # natural logarithm
    reason: str = ""
    features: Mapping[str, float] = Field(default_factory=dict)

    @classmethod
    def of(cls, probability: float, reason: str = "") -> Estimate:
        """The estimate with this probability, clipped to stay strictly between 0 and 1."""
        clipped = min(1 - LEAST_CHANCE, max(LEAST_CHANCE, probability))
        return cls(log_odds=math.log(clipped / (1 - clipped)), reason=reason)

    @property
    def probability(self) -> float:
        return 1 / (1 + math.exp(-max(-MAX_LOG_ODDS, min(MAX_LOG_ODDS, self.log_odds))))


class Solution(Value):
    """A program: its editable files, its entry file and its origin."""

    files: tuple[File, ...]
    entry: str
    origin: Literal["user", "memory", "search", "model", "draft"] = "user"
    note: str = ""
    """The change from the parent: the edit, the lesson or the model's summary."""
    parent: str | None = None
    # Excluded when absent, so that addresses of stored programs without it do not change.
    estimate: Estimate | None = Field(default=None, exclude_if=lambda one: one is None)
    """The probability that the patch is right, from the search or the fix memory."""

    @property
    def text(self) -> str:
        return next(file.text for file in self.files if file.path == self.entry)

    def with_text(self, text: str, **changes: object) -> Solution:
        """The program with another entry text; `changes` replace other fields."""
        files = tuple(
            File(path=file.path, text=text) if file.path == self.entry else file
            for file in self.files
        )
        return self._changed(files=files, **changes)

    def with_file(self, path: str, text: str, **changes: object) -> Solution:
        """The program with another text of one file, which becomes the entry."""
        texts = {one.path: one.text for one in self.files} | {path: text}
        files = tuple(File(path=one, text=code) for one, code in texts.items())
        return self._changed(files=files, entry=path, **changes)

    def with_texts(self, texts: Mapping[str, str], **changes: object) -> Solution:
        """The program with other texts of some files, the first of which becomes the entry."""
        files = tuple(File(path=one.path, text=texts.get(one.path, one.text)) for one in self.files)
        entry = next(iter(texts), self.entry)
        return self._changed(files=files, entry=entry, **changes)

    def _changed(self, **changes: object) -> Solution:
        return self.model_copy(update={"parent": self.id, "estimate": None, **changes})

    def changed_from(self, base: Solution) -> tuple[FileChange, ...]:
        """The files whose text differs from `base`, sorted by path."""
        before = {file.path: file.text for file in base.files}
        after = {file.path: file.text for file in self.files}
        return tuple(
            FileChange(path=path, before=before.get(path, ""), after=after.get(path, ""))
            for path in sorted(before.keys() | after.keys())
            if before.get(path) != after.get(path)
        )

    def with_entry(self, entry: str) -> Solution:
        """The program with another of its files as the entry."""
        return self if entry == self.entry else self.model_copy(update={"entry": entry})

    def diff(self, base: Solution) -> str:
        """The unified diff from `base` to this program, as `git apply` reads it."""
        return "".join(unified(one.path, one.before, one.after) for one in self.changed_from(base))


def unified(path: str, before: str, after: str) -> str:
    """A unified diff of one file; a missing newline at the end is marked as in git."""
    if before == after:
        return ""  # saves the slow comparison of long texts
    lines: list[str] = []
    for line in difflib.unified_diff(_lines(before), _lines(after), f"a/{path}", f"b/{path}"):
        lines.append(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n")
    return "".join(lines)


def _lines(text: str) -> list[str]:
    return [part + "\n" for part in text.split("\n")[:-1]] + (
        [text.rsplit("\n", 1)[-1]] if text and not text.endswith("\n") else []
    )


class Project(Value):
    """A repository; its files are the `support` of its task."""

    root: str
    name: str
    import_roots: tuple[str, ...] = ("",)
    """Folders that modules are imported from, the likeliest first; "" is the project root."""
    arguments: tuple[str, ...] = ()
    editable: tuple[str, ...] = ()
    excluded: tuple[str, ...] = renamed_field("excluded", "aside", ())
    """Node ids of tests that failed before and are not to be repaired."""
    tests: tuple[str, ...] = ()
    """Node ids of its suite before the repair; a repair must not lose any of them."""
    loopback: bool = False
    python: str = ""
    """The path of the interpreter for its suite; empty for the current one."""
    environment: tuple[str, ...] = ()
    readable: tuple[str, ...] = ()
    test_s: float = 0.0
    """The wall time limit of one test; 0 for the default."""
    only: tuple[str, ...] = ()
    """The only tests that are run if the whole suite would take too long; else empty."""
    changed: tuple[tuple[str, tuple[int, ...]], ...] = ()
    """Recently changed files with their changed lines."""
    command: tuple[str, ...] = ()
    """The arguments of Python for a suite that is run by a command instead of pytest."""
    command_words: str = ""
    """The command as entered by the user; it is the name of the suite's only test."""

    @property
    def suite_size(self) -> int:
        """The number of tests of its suite; 0 if some of them are left out for lack of time."""
        return 0 if self.only else len(self.tests)


class Task(Value):
    """The user's input: a description, a program, tests, and the program's environment."""

    text: str = ""
    solution: Solution | None = None
    tests: tuple[TestCase, ...] = ()
    support: tuple[File, ...] = ()
    stdin: str = ""
    argv: tuple[str, ...] = ()
    site_dirs: tuple[str, ...] = renamed_field("site_dirs", "sites", ())
    project: Project | None = None
    doctests: bool = False
    """Doctests count in addition to other tests even if they failed before the repair."""
    snippets: tuple[str, ...] = ()
    """The texts that asserts were given in, apart from the program."""


class Ending(Value):
    """How one run of the program as a script ended, observed from outside its process."""

    kind: Literal["completed", "raised", "exited", "timeout", "killed"]
    exit_code: int | None = None
    exception: str = ""
    message: str = ""
    """The exception's or exit's message, else the last line of the error stream."""
    line: int | None = None
    """The last line of the entry file on the traceback."""
    traceback: str = ""
    stdout: str = ""
    stderr: str = ""
    truncated: bool = False
    limit: str = ""
    """The limit that stopped the program, in words, if any."""
    refused: tuple[str, ...] = ()
    """What the sandbox refused, in words; reported by the program itself, so only a hint."""

    @property
    def crashed(self) -> bool:
        """Whether it ended by an exception, a limit or a signal; `sys.exit` is no crash."""
        return self.kind in ("raised", "timeout", "killed")

    @property
    def message_suffix(self) -> str:
        """The message after a colon, as a suffix; empty without a message."""
        return f": {self.message}" if self.message else ""


class JailLayer(Value):
    """One layer of the sandbox and whether it was observed to hold."""

    name: str
    holds: bool
    observed: str = renamed_field("observed", "seen", ...)


class JailStatus(Value):
    """The sandbox protection that was observed on this machine."""

    words: str
    """The backend, its level and what that means, for users."""
    level: str = ""
    layers: tuple[JailLayer, ...] = ()


class Verdict(Value):
    """The result of one check. `name` is unique in a report; `test` names its test case."""

    name: str
    test: str
    origin: Origin
    status: Status
    integrity: Integrity | None = None
    """How a pass was established; `None` for a test that does not pass."""
    reason: str = ""
    """Why a pass is not `isolated`."""
    disbelieved: str = renamed_field("disbelieved", "doubt", "")
    """Why the pass or skip is not believed; empty if it is."""
    excluded: str = renamed_field("excluded", "aside", "")
    """Why the test is excluded, so that its failure does not count; empty if it counts."""
    vacuous: bool = False
    """The test passes even when the program returns wrong values, so it is no evidence."""
    call: str = ""
    expected: str = ""
    got: str = ""
    message: str = ""
    type_differs: bool = False
    """The values are equal but of different types, such as 3 and 3.0."""
    wall_s: float = 0.0

    @property
    def passed(self) -> bool:
        """Whether it passes and the pass is believed."""
        return self.status == "passed" and not self.disbelieved

    @property
    def is_evidence(self) -> bool:
        """Whether it passes, the pass is believed, and it is not vacuous."""
        return self.passed and not self.vacuous

    @property
    def evidence_status(self) -> VerdictStatus:
        """The status shown to users."""
        if self.disbelieved:
            return "not believed"
        if self.excluded:
            return "excluded"
        return "vacuous" if self.passed and self.vacuous else self.status

    @property
    def fails(self) -> bool:
        """Whether it neither passes nor is skipped or excluded."""
        if self.excluded or (self.status in NEUTRAL_STATUSES and not self.disbelieved):
            return False
        return not self.passed


class Report(Value):
    """The verdicts on one solution."""

    solution: str
    verdicts: tuple[Verdict, ...] = ()
    ending: Ending | None = None
    wrong_file: str = renamed_field("wrong_file", "astray", "")
    """The file that the tests imported instead of the program, in words; else empty."""
    untested: int = 0
    """Tests of a project that were not run, for lack of time."""

    @property
    def passed(self) -> bool:
        """Whether no deciding test fails; if no trusted one passes, it must also not crash."""
        if self.failing or self.wrong_file:
            return False
        decided = any(verdict.passed for verdict in self.trusted)
        return decided or self.ending is None or not self.ending.crashed

    @property
    def trusted(self) -> tuple[Verdict, ...]:
        """Verdicts of the tests that forbid success on their own."""
        return tuple(v for v in self.verdicts if v.origin in TRUSTED_ORIGINS)

    @property
    def is_specified(self) -> bool:
        """Whether user tests specify the program, so that derived tests cannot block success."""
        return any(verdict.origin in SPECIFYING_ORIGINS for verdict in self.verdicts)

    @property
    def deciding_verdicts(self) -> tuple[Verdict, ...]:
        """The deciding verdicts: trusted tests, and derived ones if no user test exists."""
        if self.is_specified:
            return self.trusted
        deciding = TRUSTED_ORIGINS | DERIVED_ORIGINS
        return tuple(one for one in self.verdicts if one.origin in deciding)

    @property
    def failing(self) -> tuple[Verdict, ...]:
        """Verdicts that forbid success; derived ones if their weights reach `VETO_WEIGHT`."""
        failing = tuple(verdict for verdict in self.deciding_verdicts if verdict.fails)
        derived = sum(WEIGHTS[one.origin] for one in failing if one.origin in DERIVED_ORIGINS)
        if derived >= VETO_WEIGHT:
            return failing
        return tuple(one for one in failing if one.origin in TRUSTED_ORIGINS)

    @property
    def derived_failures(self) -> tuple[Verdict, ...]:
        """Failing derived tests that forbid nothing; they are shown and limit a proof to E1."""
        forbidding = self.failing
        return tuple(
            one for one in self.verdicts
            if one.origin in DERIVED_ORIGINS and one.fails and one not in forbidding
        )

    @property
    def is_contested(self) -> bool:
        """Whether `derived_failures` would forbid success if each weighed as a `spec` test."""
        return not self.is_specified and WEIGHTS["spec"] * len(self.derived_failures) >= VETO_WEIGHT

    @property
    def weakest(self) -> Verdict | None:
        """The deciding pass with the lowest integrity; `None` where there is none."""
        deciding = self.deciding_verdicts
        return min(
            (one for one in deciding if one.is_evidence and one.integrity is not None),
            key=lambda one: (
                INTEGRITY_ORDER.index(one.integrity or "in-process"),
                len(one.reason), one.reason,
            ),
            default=None,
        )

    @property
    def integrity(self) -> Integrity | None:
        """The lowest integrity of the deciding passes."""
        weakest = self.weakest
        return None if weakest is None else weakest.integrity

    @property
    def integrity_reason(self) -> str:
        """Why the integrity is not `isolated`; empty where it is."""
        weakest = self.weakest
        return "" if weakest is None else weakest.reason

    @property
    def score(self) -> tuple[int, int]:
        """The number of passing deciding tests, then of all passing tests."""
        return sum(v.passed for v in self.deciding_verdicts), sum(v.passed for v in self.verdicts)


def counted(number: int, noun: str, plural: str = "") -> str:
    """A number with its noun, as `1 test` or `2 tests`."""
    return f"{number:,} {noun if number == 1 else plural or f'{noun}s'}"


def passed_words(passed: int, of: int, noun: str = "test", plural: str = "") -> str:
    """The share that passes, as `1 of 1 test passes`."""
    return f"{passed:,} of {counted(of, noun, plural)} {'passes' if of == 1 else 'pass'}"


def tally(verdicts: Sequence[Verdict], noun: str = "test", plural: str = "") -> str:
    """Counts verdicts, as `2 of 4 tests pass, 1 skipped, 1 not believed`."""
    counts = Counter(verdict.evidence_status for verdict in verdicts)
    others = [
        f"{counts[one]} {one}"
        for one in ("vacuous", "skipped", "xfailed", "xpassed", "excluded", "not believed")
        if counts[one]
    ]
    return ", ".join([passed_words(counts["passed"], len(verdicts), noun, plural), *others])


class SuspiciousLine(Value):
    """A suspicious line, its suspicion from 0 to 1, and its values in a failing run."""

    line: int
    suspicion: float
    text: str = ""
    values: tuple[tuple[str, str], ...] = ()


class SuspectFunction(Value):
    """A function that may contain the fault, with its suspicion from 0 to 1."""

    name: str
    line: int
    suspicion: float


class SuspectFile(Value):
    """A project file that may contain the fault, with its most suspicious functions."""

    file: str
    suspicion: float
    functions: tuple[SuspectFunction, ...] = ()
    line: int | None = None
    """Its last line executed before the failure."""
    values: tuple[tuple[str, str], ...] = ()


class Behaviour(Value):
    """One of several repairs that pass the tests and differ on other calls."""

    label: str
    """A, B or C; A is the chosen repair."""
    gives: str = ""
    """The `repr` of its result for the distinguishing call; empty where it `raises`."""
    raises: str = ""
    solution: Solution
    note: str = ""
    diff: str = ""

    @property
    def outcome(self) -> str:
        """The result of the call in words."""
        return f"raises {self.raises}" if self.raises else f"gives {self.gives}"


class CompetingPatches(Value):
    """Repairs that the tests do not distinguish, and the smallest call that does."""

    call: str
    """Empty if no distinguishing call is known; then no question can be asked."""
    behaviours: tuple[Behaviour, ...]


class Alternative(Value):
    """One repair that represents all repairs with the same behaviour."""

    solution: Solution
    note: str = ""
    answers: tuple[str, ...] = ()
    """Its result for each call, in words; empty where it was not run or did not finish."""
    confirmed: bool = False
    """It passed the judge, and not only the pre-check."""


class Alternatives(Value):
    """Repairs that the tests do not distinguish, the chosen one first."""

    calls: tuple[str, ...]
    """The additional calls on which they were compared."""
    behaviours: tuple[Alternative, ...]


class Diagnosis(Value):
    """Why the program fails, or why no edit can repair it (`fixable` is false)."""

    category: Category
    fixable: bool = True
    cause: str
    evidence: tuple[str, ...] = ()
    suspicious_lines: tuple[SuspiciousLine, ...] = renamed_field("suspicious_lines", "blamed", ())
    confidence: float = 0.5
    suggests: Approach | None = None


class Lesson(Value):
    text: str
    category: str = ""


class Evidence(Value):
    """Evidence collected in addition to the verdicts of the tests."""

    probes: int = 0
    """Changed inputs on which the repaired program raised no new error."""
    new_failures: tuple[str, ...] = ()
    """Inputs on which it raises or hangs although the original program returned a value."""
    inconsistent: tuple[str, ...] = renamed_field("inconsistent", "wavering", ())
    """Calls of the tests that give another result when run together with changed inputs."""
    competing_patches: int = renamed_field("competing_patches", "others", 0)
    refuted: int = 0
    """Competing patches that pass the tests shown to the search and fail a held-out one."""
    variants_tried: int = renamed_field("variants_tried", "siblings", 0)
    """Variants of the repair that were tried."""
    uncovered: tuple[str, ...] = renamed_field("uncovered", "unwatched", ())
    """Changed conditions of which the tests cover only one branch."""
    newly_accepted: tuple[str, ...] = renamed_field("newly_accepted", "doubts", ())
    """Changed inputs that the program rejected before and accepts now, in words."""
    inconclusive: str = renamed_field("inconclusive", "unsettled", "")
    """Which of the checks above ran out of time, in words."""
    mutants: int = 0
    """Mutants of the repaired lines, without equivalent ones and the original program."""
    killed: int = 0
    survivors: tuple[str, ...] = ()
    """The mutants that no test detected, in words."""
    equivalent: int = 0
    """Undetected mutants that give the same results as the repair on all changed inputs."""
    whole_function: bool = renamed_field("whole_function", "around", False)
    """The mutants are of the whole function, because the repaired lines have too few."""
    reruns: int = 0
    disagreeing: tuple[str, ...] = ()
    cut: str = ""
    """Which mutants and re-runs ran out of time, in words."""


class Proof(Value):
    """How well a repair is shown to be right, and why."""

    level: ProofLevel
    why: str
    missing: str = renamed_field("missing", "lacks", "")
    """The part of `why` that prevents the next level."""
    not_held_out: NotHeldOut = renamed_field("not_held_out", "unheld", "")
    """Why no test was held out, if that prevents the next level."""
    evidence: Evidence | None = None

    def limited(
        self, missing: str, *, at_most: ProofLevel = "E4", evidence: Evidence | None = None
    ) -> Proof:
        """The proof limited to a level, with the reason added."""
        return Proof(
            level=min(self.level, at_most), why=f"{self.why}; {missing}", missing=missing,
            not_held_out=self.not_held_out, evidence=evidence or self.evidence,
        )
