"""The values that all packages use: tasks, tests, solutions, verdicts, proofs; frozen and
strict."""

from __future__ import annotations

import difflib
import hashlib
import json
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field

Origin = Literal[
    "user", "doctest", "task", "held-out", "urged", "confirmed", "spec", "contested", "adversarial"
]
"""`task`: an example in the task's words; `spec`: derived from them; `confirmed`: stood in a
dispute; `urged`: confirmed, and decisive while another repair is tried; `contested`: a dispute left
open."""

ALONE = 1.0
WEIGHTS: dict[Origin, float] = {
    "user": ALONE, "doctest": ALONE, "task": ALONE, "held-out": ALONE,
    "urged": ALONE, "confirmed": 0.7, "spec": 0.4, "contested": 0.1, "adversarial": 0.0,
}
VETO = 0.6
"""The weight at which failing derived tests forbid success: one confirmed test, or two others."""

VETOING_ORIGINS: frozenset[Origin] = frozenset(one for one, w in WEIGHTS.items() if w >= ALONE)
PINNING_ORIGINS: frozenset[Origin] = frozenset({"user", "doctest"})
DERIVED_ORIGINS: frozenset[Origin] = frozenset(
    one for one, weight in WEIGHTS.items() if 0 < weight < ALONE
)
HOLD_OUT_FROM = 4

Status = Literal["passed", "failed", "error", "timeout", "skipped", "xfailed", "xpassed"]
"""How a test came out, in pytest's classes; `timeout` is ours."""
Integrity = Literal["isolated", "in-process"]
INTEGRITY_ORDER: tuple[Integrity, ...] = ("in-process", "isolated")
REST = "*"
"""The node of a test that stands for whatever else pytest finds in a file."""
EXCLUDED: frozenset[Status] = frozenset({"skipped", "xfailed", "xpassed"})
"""Outcomes that say nothing for a program and nothing against it."""
VerdictStatus = Literal[Status, "vacuous", "not believed", "set aside"]
"""What a verdict comes to: how the test came out, unless that is a pass which counts for less."""
ProofLevel = Literal["E0", "E1", "E2", "E3", "E4"]
Strategy = Literal["memory", "search", "model", "person"]
Approach = Literal["search", "minimal", "tournament", "rewrite", "fresh"]
"""Approaches to a repair, cheapest first."""
Category = Literal[
    "syntax", "import", "name", "crash", "wrong_result", "endless", "missing_package",
    "input_exhausted", "deliberate_exit", "invalid_tests", "flaky_tests",
    "environment", "unknown",
]
RunOutcome = Literal[
    "healthy", "healed", "proposed", "crash_stopped", "unresolved", "not_fixable", "needs_model",
    "model_failed", "budget", "cancelled", "awaiting_review",
]
"""How a run has ended; `awaiting_review` goes on once a person has answered."""

Unheld = Literal["", "together", "no value", "known", "seen", "edited"]
"""Why no test is held out though there are enough."""
PROOF_ORDER: tuple[ProofLevel, ...] = ("E0", "E1", "E2", "E3", "E4")


def claim(level: ProofLevel, integrity: Integrity | None, reason: str = "") -> str:
    """Both axes in one line, as `E2 · isolated` or `E2 · in-process: uses caplog`."""
    if integrity is None:
        return level
    return f"{level} · {integrity}" + (f": {reason}" if reason else "")


class Value(BaseModel):
    """A frozen value: equal by content, refuses unknown fields."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    @property
    def id(self) -> str:
        """The content address of this value: 16 hex digits of its JSON's SHA-256."""
        return address(self.to_json())

    def to_json(self) -> str:
        """This value as ASCII JSON, which also carries lone surrogates, unlike pydantic's own."""
        return json.dumps(self.model_dump(), separators=(",", ":"))

    @classmethod
    def from_json(cls, text: str) -> Self:
        """The value `to_json` wrote; raises `ValueError` for any other text."""
        return cls.model_validate(json.loads(text))


def address(text: str) -> str:
    """16 hex digits of the SHA-256 of `text`; lone surrogates are allowed."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


class File(Value):
    """A file of a program, by its relative POSIX path; bytes that are no UTF-8 are lone
    surrogates."""

    path: str
    text: str


class FileChange(Value):
    """A file of a program before and after a repair; empty where there is none."""

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

    `node` is a pytest node id without the file's name: `test_add`, `TestStack::test_pop`; `REST` is
    every other test that pytest finds. `without` are nodes that it does not stand for.
    `uses_output` marks code that reads `output`, the program's standard output. `file` is the
    name of the file it came from; empty for what was pasted.
    """

    kind: Literal["script"] = "script"
    name: str
    origin: Origin
    code: str
    node: str = ""
    without: tuple[str, ...] = ()
    uses_output: bool = False
    file: str = ""


TestCase = Annotated[Example | Raises | Property | Script, Field(discriminator="kind")]


LEAST_CHANCE, MAX_LOG_ODDS = 1e-6, 30.0


class Estimate(Value):
    """How likely a patch is right, given that it passes its tests."""

    log_odds: float  # natural logarithm
    reason: str = ""
    features: Mapping[str, float] = Field(default_factory=dict)

    @classmethod
    def of(cls, probability: float, reason: str = "") -> Estimate:
        """The estimate with this probability, which is kept off 0 and 1."""
        kept = min(1 - LEAST_CHANCE, max(LEAST_CHANCE, probability))
        return cls(log_odds=math.log(kept / (1 - kept)), reason=reason)

    @property
    def probability(self) -> float:
        return 1 / (1 + math.exp(-max(-MAX_LOG_ODDS, min(MAX_LOG_ODDS, self.log_odds))))


class Solution(Value):
    """A program: its editable files, which one is the entry, and where it came from."""

    files: tuple[File, ...]
    entry: str
    origin: Literal["user", "memory", "search", "model", "draft"] = "user"
    note: str = ""
    """What was done to the parent, in words: the edit, the lesson, the model's summary."""
    parent: str | None = None
    # Left out where it is absent: the address of a program that has none stays what it was.
    estimate: Estimate | None = Field(default=None, exclude_if=lambda one: one is None)
    """How likely it is the right patch, by the search that found it or the memory of it."""

    @property
    def text(self) -> str:
        """The text of the entry file."""
        return next(file.text for file in self.files if file.path == self.entry)

    def with_text(self, text: str, **changes: object) -> Solution:
        """The same program with another entry text; `changes` replace other fields."""
        files = tuple(
            File(path=file.path, text=text) if file.path == self.entry else file
            for file in self.files
        )
        return self._changed(files=files, **changes)

    def with_file(self, path: str, text: str, **changes: object) -> Solution:
        """The same program with another text of one file, which becomes the entry."""
        texts = {one.path: one.text for one in self.files} | {path: text}
        files = tuple(File(path=one, text=code) for one, code in texts.items())
        return self._changed(files=files, entry=path, **changes)

    def with_texts(self, texts: Mapping[str, str], **changes: object) -> Solution:
        """The same program with other texts of some files, the first of which becomes the entry."""
        files = tuple(
            File(path=one.path, text=texts.get(one.path, one.text)) for one in self.files
        )
        entry = next(iter(texts), self.entry)
        return self._changed(files=files, entry=entry, **changes)

    def _changed(self, **changes: object) -> Solution:
        return self.model_copy(update={"parent": self.id, "estimate": None, **changes})

    def changed_from(self, base: Solution) -> tuple[FileChange, ...]:
        """The files whose text is another than that of `base`, by their paths."""
        before = {file.path: file.text for file in base.files}
        after = {file.path: file.text for file in self.files}
        return tuple(
            FileChange(path=path, before=before.get(path, ""), after=after.get(path, ""))
            for path in sorted(before.keys() | after.keys())
            if before.get(path) != after.get(path)
        )

    def seen_at(self, entry: str) -> Solution:
        """The same program with another of its files as the entry."""
        return self if entry == self.entry else self.model_copy(update={"entry": entry})

    def diff(self, base: Solution) -> str:
        """The unified diff from `base` to this, in the form `git apply` takes."""
        return "".join(
            unified(one.path, one.before, one.after) for one in self.changed_from(base)
        )


def unified(path: str, before: str, after: str) -> str:
    """A unified diff of one file; a missing newline at the end is marked as git marks it."""
    if before == after:
        return ""  # a long text is not looked through for what is not there
    lines: list[str] = []
    for line in difflib.unified_diff(
        _lines(before), _lines(after), f"a/{path}", f"b/{path}"
    ):
        lines.append(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n")
    return "".join(lines)


def _lines(text: str) -> list[str]:
    return [part + "\n" for part in text.split("\n")[:-1]] + (
        [text.rsplit("\n", 1)[-1]] if text and not text.endswith("\n") else []
    )


class Project(Value):
    """A repository; its files are the `support` of the task that it belongs to."""

    root: str
    name: str
    import_roots: tuple[str, ...] = ("",)
    """Folders that modules are imported from, the likeliest first; "" is the top."""
    arguments: tuple[str, ...] = ()
    editable: tuple[str, ...] = ()
    aside: tuple[str, ...] = ()
    """Tests that failed before and are not to be healed, by their node ids."""
    tests: tuple[str, ...] = ()
    """Node ids that its suite had before: a repair in which one is missing is none."""
    loopback: bool = False
    python: str = ""
    """The interpreter that its suite runs on, by its path; empty is the one that runs this."""
    environment: tuple[str, ...] = ()
    readable: tuple[str, ...] = ()
    test_s: float = 0.0
    """What one test may take by the wall clock; 0 is the usual."""
    changed: tuple[tuple[str, tuple[int, ...]], ...] = ()
    """Files that changed lately, with their lines that did."""
    command: tuple[str, ...] = ()
    """What Python is given in the place of pytest, where the suite is not pytest's."""
    command_words: str = ""
    """The same as it was typed: the name of the one test that it is."""


class Task(Value):
    """What a user brings: words, a program, tests, and the program's surroundings."""

    text: str = ""
    solution: Solution | None = None
    tests: tuple[TestCase, ...] = ()
    support: tuple[File, ...] = ()
    stdin: str = ""
    argv: tuple[str, ...] = ()
    sites: tuple[str, ...] = ()
    project: Project | None = None
    doctests: bool = False
    """Doctests count beside other tests even where they failed before the repair."""


class Ending(Value):
    """How one run of the program as a script ended, as seen from outside it."""

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
    """Which limit stopped the program, in words, when one did."""
    refused: tuple[str, ...] = ()
    """What the jail refused the program, in words; by its own word, so no more than a hint."""

    @property
    def crashed(self) -> bool:
        """A crash is an unwanted end: an exception, a limit or a signal; not `sys.exit`."""
        return self.kind in ("raised", "timeout", "killed")

    @property
    def said(self) -> str:
        """The message behind a colon, to follow what names the end; empty without one."""
        return f": {self.message}" if self.message else ""


class JailLayer(Value):
    """One layer of a jail and what was seen of it."""

    name: str
    holds: bool
    seen: str


class JailStatus(Value):
    """What was seen to hold untrusted code back on this machine."""

    words: str
    """The backend, its level and what that means, for people."""
    level: str = ""
    layers: tuple[JailLayer, ...] = ()


class Verdict(Value):
    """What one check showed. `name` is unique in a report; `test` names its test case."""

    name: str
    test: str
    origin: Origin
    status: Status
    integrity: Integrity | None = None
    """How far a pass is believed; `None` where a test does not pass."""
    reason: str = ""
    """Why a pass is not `isolated`."""
    doubt: str = ""
    """Why it is not believed that the test passes, or is set aside; empty where it is."""
    aside: str = ""
    """Why a failure says nothing against the program, in words; empty where it does."""
    vacuous: bool = False
    """No changed answer of the program made the test fail: it is no evidence."""
    call: str = ""
    expected: str = ""
    got: str = ""
    message: str = ""
    type_differs: bool = False
    """The values are equal but of other types, as 3 and 3.0 are."""
    wall_s: float = 0.0

    @property
    def passed(self) -> bool:
        """It passes, and that is believed."""
        return self.status == "passed" and not self.doubt

    @property
    def shows(self) -> bool:
        """It passes, that is believed, and a changed answer makes it fail."""
        return self.passed and not self.vacuous

    @property
    def standing(self) -> VerdictStatus:
        """What a reader is told it comes to."""
        if self.doubt:
            return "not believed"
        if self.aside:
            return "set aside"
        return "vacuous" if self.passed and self.vacuous else self.status

    @property
    def fails(self) -> bool:
        """It neither passes nor is set aside, by itself or by us."""
        if self.aside or (self.status in EXCLUDED and not self.doubt):
            return False
        return not self.passed


class Report(Value):
    """All that was seen of one solution."""

    solution: str
    verdicts: tuple[Verdict, ...] = ()
    ending: Ending | None = None
    astray: str = ""
    """What the tests ran in place of the program, in words; then they show nothing of it."""

    @property
    def passed(self) -> bool:
        """No test that decides fails, and where none is trusted, the program ends well."""
        if self.failing or self.astray:
            return False
        decided = any(verdict.passed for verdict in self.trusted)
        return decided or self.ending is None or not self.ending.crashed

    @property
    def trusted(self) -> tuple[Verdict, ...]:
        """Verdicts of the tests that may forbid success alone."""
        return tuple(v for v in self.verdicts if v.origin in VETOING_ORIGINS)

    @property
    def is_specified(self) -> bool:
        """Whether tests of the user say what the program does; derived ones are doubts then."""
        return any(verdict.origin in PINNING_ORIGINS for verdict in self.verdicts)

    @property
    def oracle(self) -> tuple[Verdict, ...]:
        """The verdicts that decide: trusted tests, and derived ones where no test is the user's
        own."""
        if self.is_specified:
            return self.trusted
        deciding = VETOING_ORIGINS | DERIVED_ORIGINS
        return tuple(one for one in self.verdicts if one.origin in deciding)

    @property
    def failing(self) -> tuple[Verdict, ...]:
        """The verdicts that forbid success: derived ones only together."""
        failing = tuple(verdict for verdict in self.oracle if verdict.fails)
        derived = sum(WEIGHTS[one.origin] for one in failing if one.origin in DERIVED_ORIGINS)
        if derived >= VETO:
            return failing
        return tuple(one for one in failing if one.origin in VETOING_ORIGINS)

    @property
    def doubts(self) -> tuple[Verdict, ...]:
        """Derived tests that fail and forbid nothing: they are shown, and hold a proof at E1."""
        forbidding = self.failing
        return tuple(
            one for one in self.verdicts
            if one.origin in DERIVED_ORIGINS and one.fails and one not in forbidding
        )

    @property
    def is_contested(self) -> bool:
        """Whether the doubts would forbid success if they were not contested."""
        return not self.is_specified and WEIGHTS["spec"] * len(self.doubts) >= VETO

    @property
    def weakest(self) -> Verdict | None:
        """The least believed pass of those that decide; `None` where there is none."""
        return min(
            (one for one in self.oracle if one.shows and one.integrity is not None),
            key=lambda one: (
                INTEGRITY_ORDER.index(one.integrity or "in-process"),
                len(one.reason), one.reason,
            ),
            default=None,
        )

    @property
    def integrity(self) -> Integrity | None:
        """How far the passes that decide are believed: a chain is as strong as its weakest."""
        weakest = self.weakest
        return None if weakest is None else weakest.integrity

    @property
    def integrity_reason(self) -> str:
        """Why that is not `isolated`; empty where it is."""
        weakest = self.weakest
        return "" if weakest is None else weakest.reason

    @property
    def score(self) -> tuple[int, int]:
        """Higher is better: tests that decide passed, then all tests passed."""
        return sum(v.passed for v in self.oracle), sum(v.passed for v in self.verdicts)


def counted(number: int, noun: str, plural: str = "") -> str:
    """A number with its noun."""
    return f"{number:,} {noun if number == 1 else plural or f'{noun}s'}"


def passing(passed: int, of: int, noun: str = "test", plural: str = "") -> str:
    """How many of how many pass, as `1 of 1 test passes`."""
    return f"{passed:,} of {counted(of, noun, plural)} {'passes' if of == 1 else 'pass'}"


def tally(verdicts: Sequence[Verdict], noun: str = "test", plural: str = "") -> str:
    """Counts verdicts, as `2 of 4 tests pass, 1 skipped, 1 not believed`."""
    counts = Counter(verdict.standing for verdict in verdicts)
    others = [
        f"{counts[one]} {one}"
        for one in (
            "vacuous", "skipped", "xfailed", "xpassed", "set aside", "not believed"
        ) if counts[one]
    ]
    return ", ".join([passing(counts["passed"], len(verdicts), noun, plural), *others])


class SuspiciousLine(Value):
    """A line under suspicion, 0 to 1, with the values seen there in a failing run."""

    line: int
    suspicion: float
    text: str = ""
    values: tuple[tuple[str, str], ...] = ()


class SuspectFunction(Value):
    """A function in which the fault may lie, and how likely that is, from 0 to 1."""

    name: str
    line: int
    suspicion: float


class SuspectFile(Value):
    """A file of a project in which the fault may lie, with its likeliest functions."""

    file: str
    suspicion: float
    functions: tuple[SuspectFunction, ...] = ()
    line: int | None = None
    """Its last line on the way to the failure."""
    values: tuple[tuple[str, str], ...] = ()


class Behaviour(Value):
    """One of several repairs that pass the tests and answer other calls differently."""

    label: str
    """A, B or C; A is the repair that was chosen."""
    gives: str = ""
    """What it answers to the call that tells them apart: a `repr`; empty where it `raises`."""
    raises: str = ""
    solution: Solution
    note: str = ""
    diff: str = ""

    @property
    def outcome(self) -> str:
        """What the call comes to, in words."""
        return f"raises {self.raises}" if self.raises else f"gives {self.gives}"


class CompetingPatches(Value):
    """Repairs that the tests do not tell apart, and the smallest call that does."""

    call: str
    """Empty where none was looked for: then nobody can be asked by it."""
    behaviours: tuple[Behaviour, ...]


class Alternative(Value):
    """One repair for all that behave as it does."""

    solution: Solution
    note: str = ""
    answers: tuple[str, ...] = ()
    """What it gives for each call, in words; empty where it was not asked or did not end."""
    confirmed: bool = False
    """The judge has passed it; otherwise it was only screened."""


class Alternatives(Value):
    """Repairs that the tests do not tell apart, the chosen one first."""

    calls: tuple[str, ...]
    """Calls beyond the tests', to which they were put."""
    behaviours: tuple[Alternative, ...]


class Diagnosis(Value):
    """Why the program fails, or why no edit of it could help (`fixable` is false)."""

    category: Category
    fixable: bool = True
    cause: str
    evidence: tuple[str, ...] = ()
    blamed: tuple[SuspiciousLine, ...] = ()
    confidence: float = 0.5
    suggests: Approach | None = None


class Lesson(Value):
    """What helped, in words."""

    text: str
    category: str = ""


class Evidence(Value):
    """What was looked at beyond the verdicts of the tests, and what was seen."""

    probes: int = 0
    """Changed inputs on which the repaired program raised nothing new."""
    new_failures: tuple[str, ...] = ()
    """Those on which it raises or does not end, though the program as it came gave a value."""
    wavering: tuple[str, ...] = ()
    """Tests' calls that it answered otherwise among changed inputs than before the judge."""
    others: int = 0
    refuted: int = 0
    """Competing patches that pass the tests shown to the search and fail a held-out one."""
    siblings: int = 0
    """Texts around the repair that were tried in its place."""
    unwatched: tuple[str, ...] = ()
    """Changed conditions, one side of which no test takes."""
    doubts: tuple[str, ...] = ()
    """Changed inputs that the program refused before and accepts now, in words."""
    unsettled: str = ""
    """What of the above there was no time for, in words."""
    mutants: int = 0
    """Mutants of the repaired lines, without equivalent ones and the program as it came."""
    killed: int = 0
    survivors: tuple[str, ...] = ()
    """The mutants that no test noticed, in words."""
    equivalent: int = 0
    """Mutants that no test noticed and that answer all changed inputs as the repair does."""
    around: bool = False
    """The repaired lines have few mutants, so these are of the whole function around them."""
    reruns: int = 0
    disagreeing: tuple[str, ...] = ()
    cut: str = ""
    """What of mutants and re-runs there was no time for, in words."""


class Proof(Value):
    """How far a repair is shown to be right, and by what."""

    level: ProofLevel
    why: str
    lacks: str = ""
    """The part of `why` that keeps it from the next level."""
    unheld: Unheld = ""
    """Why no test of theirs could be held out, where that is what keeps it."""
    evidence: Evidence | None = None

    def but(
        self, lacks: str, *, at_most: ProofLevel = "E4", evidence: Evidence | None = None
    ) -> Proof:
        """The same, with what speaks against more of it."""
        return Proof(
            level=min(self.level, at_most), why=f"{self.why}; {lacks}", lacks=lacks,
            unheld=self.unheld, evidence=evidence or self.evidence,
        )
