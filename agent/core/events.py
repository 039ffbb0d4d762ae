"""What happens in a run, as a closed union of values; a run is the list of its events. A step that
is re-entered after a crash writes the same `task` with a higher `attempt`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Annotated, Literal

from pydantic import Field

from agent.core.domain import (
    Approach,
    CompetingPatches,
    Diagnosis,
    Integrity,
    JailLayer,
    JailStatus,
    Origin,
    Proof,
    ProofLevel,
    Report,
    RunOutcome,
    Solution,
    Strategy,
    SuspectFile,
    Value,
)
from agent.core.state import Ruled, Stop
from llm.types import Finish

Step = Literal[
    "recall", "branch", "specify", "permit", "generate", "attack", "execute", "arbitrate",
    "diagnose", "repair", "attempt", "select", "ask", "help", "simplify", "critique",
    "inspect", "prove",
    "gate", "learn", "finish",
]


class RoleChoice(Value):
    """Who answers a role in this run, and why."""

    role: str
    provider: str
    model: str
    why: str


class Parent(Value):
    """The run that a fork comes from, and the iteration whose program it starts with."""

    run: str
    iteration: int
    edits: tuple[str, ...] = ()


class RunStarted(Value):
    kind: Literal["run_started"] = "run_started"
    title: str
    code: str = ""
    entry: str = ""
    provider: str
    provider_why: str
    sandbox: str
    """The sandbox backend and what it was seen to enforce, in words."""
    level: str = ""
    """The level that was seen to hold; empty where none was looked at."""
    layers: tuple[JailLayer, ...] = ()
    roles: tuple[RoleChoice, ...] = ()
    parent: Parent | None = None
    require_proof: ProofLevel = "E1"
    require_integrity: Integrity | None = None
    limit_s: float = 0.0
    """Seconds after which it ends, or asks for more; 0 where that is not recorded."""
    remembers: bool = True
    project: bool = False
    """Its program is one of a project's, which the project's own suite judges."""

    @property
    def jail(self) -> JailStatus:
        """What held this run's programs back."""
        return JailStatus(words=self.sandbox, level=self.level, layers=self.layers)


class StepStarted(Value):
    kind: Literal["step_started"] = "step_started"
    step: Step
    iteration: int


class StepFinished(Value):
    kind: Literal["step_finished"] = "step_finished"
    step: Step
    iteration: int
    wall_ms: float


class TestInfo(Value):
    """One frozen test as shown to readers."""

    __test__ = False

    name: str
    origin: Origin
    code: str


class TestsFrozen(Value):
    """Tests that joined the suite; the suite only grows."""

    __test__ = False

    kind: Literal["tests_frozen"] = "tests_frozen"
    tests: tuple[TestInfo, ...]


class CodeWritten(Value):
    kind: Literal["code_written"] = "code_written"
    iteration: int
    solution: Solution


class Judged(Value):
    """A report of a solution under the whole suite, at an iteration."""

    kind: Literal["judged"] = "judged"
    iteration: int
    report: Report


class Diagnosed(Value):
    kind: Literal["diagnosed"] = "diagnosed"
    iteration: int
    diagnosis: Diagnosis
    solution: str = ""


class Searched(Value):
    """Progress of a search: candidates screened so far, and the best seen."""

    kind: Literal["searched"] = "searched"
    candidates: int
    plausible: int
    best_passed: int
    total: int
    wall_s: float
    cut_after: float | None = None
    """Seconds after which its budget cut the search; `None` while it runs, or where it ended."""
    note: str = ""
    suspects: tuple[SuspectFile, ...] = ()
    """In a project, the files that were searched, the likeliest first."""


class Recalled(Value):
    kind: Literal["recalled"] = "recalled"
    hit: bool
    replayed: bool = False
    note: str
    lessons: tuple[str, ...] = ()


class IterationEnded(Value):
    """One round of the ladder was judged; it counts as an iteration whatever it brought."""

    kind: Literal["round_ended"] = "round_ended"
    iteration: int
    approach: Approach
    better: bool
    """It has come nearer than all before it."""


class TestRuled(Value):
    """A derived test that the program fails was judged itself, before the program is changed."""

    __test__ = False

    kind: Literal["test_ruled"] = "test_ruled"
    test: str
    ruling: Ruled
    why: str
    quote: str = ""


class Looked(Value):
    """The debugger had something done before it answers, and saw what came of it."""

    kind: Literal["looked"] = "looked"
    tool: str
    arguments: str
    """As JSON text, by the model's word."""
    seen: str


class PatchProposed(Value):
    kind: Literal["patch_proposed"] = "patch_proposed"
    iteration: int
    strategy: Strategy
    note: str
    diff: str


class Outdone(Value):
    """A repair of a tournament that was not taken: another passes more, or changes less."""

    kind: Literal["outdone"] = "outdone"
    iteration: int
    by: str
    """The model."""
    diff: str
    passed: int
    total: int


class PartialFound(Value):
    """The best partial patch of an unresolved run, which is no fix. A result holds it; only logs of
    earlier versions have it as an event."""

    kind: Literal["partial_found"] = "partial_found"
    diff: str
    passed: int
    total: int
    note: str
    code: str = ""
    """The text of its entry file, where a run ends with it."""


class Ambiguous(Value):
    """Several behaviours pass every test that the repair saw."""

    kind: Literal["ambiguous"] = "ambiguous"
    iteration: int
    rivals: CompetingPatches


class Critiqued(Value):
    kind: Literal["critiqued"] = "critiqued"
    verdict: Literal["approve", "reject", "object", "unreviewed"]
    """`object` is a doubt that forbids nothing; `unreviewed`: nobody answered."""
    note: str
    tests: tuple[str, ...] = ()


class Proved(Proof):
    kind: Literal["proved"] = "proved"
    confidence: float | None = None
    """How likely the patch is right, from 0 to 1; `None` where nothing was changed."""
    unsure: str = ""
    features: Mapping[str, float] = Field(default_factory=dict)

    @property
    def settles_competition(self) -> bool:
        """Whether all tests, those held out too, have refuted every other behaviour."""
        seen = self.evidence
        return seen is not None and not seen.others and not seen.unsettled


class LessonLearned(Value):
    kind: Literal["lesson_learned"] = "lesson_learned"
    text: str
    category: str = ""
    stored_fix: bool = False


StepStatus = Literal["pending", "done", "failed", "replaced", "skipped", "refused"]

GONE: tuple[StepStatus, ...] = ("failed", "skipped", "refused")
"""How a step ends that is not to be done."""


class PlanStepped(Value):
    """A step of a plan came out."""

    kind: Literal["plan_stepped"] = "plan_stepped"
    step: int
    what: str
    status: StepStatus
    told: str = ""


class ModelCall(Value):
    """Which model is asked by which role, and what that costs."""

    call: int
    role: str
    provider: str
    model: str
    tokens: int
    cost_usd: float | None  # None: unknown


class ModelAsked(ModelCall):
    """A call of a model is about to be made, and charged with the most it can come to."""

    kind: Literal["model_asked"] = "model_asked"
    prompt: str = ""
    asked: tuple[tuple[str, str], ...] = ()
    """Who says what in the question, keys taken out and long texts cut."""


class ModelCalled(ModelCall):
    """One call of a model that came to an answer."""

    kind: Literal["model_called"] = "model_called"
    wall_s: float
    input: int = 0
    output: int = 0
    read: int = 0
    """Tokens of the question that came from the provider's prompt cache."""
    estimated: bool = False
    """The provider did not count: the tokens are our own estimate."""
    first_s: float | None = None
    """Seconds to the first piece of the answer."""
    finish: Finish = "stop"
    attempts: int = 1
    cached: bool = False
    """It came from this run's log or a record: nothing was sent."""
    question: str = ""
    said: str = ""
    """The address of the answer's text, which a repeated step uses again."""
    answer: str = ""
    """That text, shortened."""


class ModelFailed(ModelCall):
    """A call of a model that came to no answer; what it may have cost is charged all the same."""

    kind: Literal["model_failed"] = "model_failed"
    error: str
    why: str
    wall_s: float
    answer: str = ""


class FellBack(Value):
    """Another model answers a role than the one that should have, as the user has allowed."""

    kind: Literal["fell_back"] = "fell_back"
    role: str
    provider: str
    to: str
    why: str


class Extended(Value):
    """A person has raised the caps of the run."""

    kind: Literal["extended"] = "extended"
    usd: float = 0.0
    tokens: int = 0
    calls: int = 0
    seconds: float = 0.0


class Notice(Value):
    """Something a reader must know: a fallback, a limit, an advice."""

    kind: Literal["notice"] = "notice"
    level: Literal["info", "warning", "error"]
    text: str
    role: str = ""
    """The role that failed, where the run goes on without it; else empty."""
    again: int | None = None
    """The call that is made again, which counts as one more; `None` where it tells of none."""


class Waiting(Value):
    """The run waits for a person; answer with `interrupt`."""

    kind: Literal["waiting"] = "waiting"
    interrupt: str
    question: str
    diff: str = ""
    rivals: CompetingPatches | None = None
    needs: Literal["answer", "review", "leave", "help", "budget", "key", "visitor"] = "answer"
    """What it waits for."""
    code: str = ""
    """The text of the entry file under review."""
    tried: str = ""
    """A person's text that failed."""
    unhinted: str = ""
    """Why a hint cannot be followed; empty where a model reads it."""
    more: Extended | None = None
    """What is offered at the cap; `None` where nothing is."""


class Answered(Value):
    kind: Literal["answered"] = "answered"
    interrupt: str
    answer: str


class Resumed(Value):
    """The run was taken up again after its process ended."""

    kind: Literal["resumed"] = "resumed"
    note: str


class RunFinished(Value):
    kind: Literal["run_finished"] = "run_finished"
    outcome: RunOutcome
    stopped: Stop | None = None
    proof: ProofLevel | None
    confidence: float | None = None
    unsure: str = ""
    fitting: int = 1
    """How many different repairs fit the tests, this one included."""
    strategy: Strategy | None
    edit: str = ""
    reason: str
    """Why it ended so, without the edit."""
    diff: str
    code: str = ""
    solution: str = ""
    """The address of the program that `code` is the entry of; else empty."""
    stdout: str = ""
    iterations: int
    candidates: int
    tokens: int
    cost_usd: float | None
    seconds: float


class RunFailed(Value):
    """A fault of ours ended the run; the traceback is in the log of the process."""

    kind: Literal["run_failed"] = "run_failed"
    error: str


Event = Annotated[
    RunStarted | StepStarted | StepFinished | TestsFrozen | CodeWritten | Judged | Diagnosed
    | Looked | Searched | Recalled | IterationEnded | TestRuled | PatchProposed | Outdone
    | PartialFound | Ambiguous | Critiqued | Proved | LessonLearned | PlanStepped | ModelAsked
    | ModelCalled | ModelFailed | FellBack | Extended | Notice | Waiting | Answered | Resumed
    | RunFinished | RunFailed,
    Field(discriminator="kind"),
]

FINAL_KINDS = frozenset({"run_finished", "run_failed"})


class Stamped(Value):
    """An event in its place in a run's log; `at` is in seconds since the epoch."""

    run: str
    seq: int
    task: str
    attempt: int
    ordinal: int
    at: float
    event: Event

    @property
    def final(self) -> bool:
        return self.event.kind in FINAL_KINDS


def to_jsonl(log: Iterable[Stamped]) -> str:
    """A run's log as JSON lines, the form `from_jsonl` reads back."""
    return "".join(stamped.to_json() + "\n" for stamped in log)


def from_jsonl(text: str) -> tuple[Stamped, ...]:
    """Reads a log written by `to_jsonl`; raises `ValueError` naming the bad line."""
    return tuple(_parsed(text))


def _parsed(text: str) -> Iterator[Stamped]:
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip():
            try:
                yield Stamped.from_json(line)
            except ValueError as error:
                raise ValueError(f"line {number} is not an event of a run log: {error}") from error


def fold_attempts(log: Iterable[Stamped]) -> tuple[Stamped, ...]:
    """The log without the events of attempts that a later attempt of the same step replaced."""
    entries = tuple(log)
    last: dict[str, int] = {}
    for entry in entries:
        last[entry.task] = max(entry.attempt, last.get(entry.task, 0))
    return tuple(entry for entry in entries if entry.attempt == last[entry.task])


def seconds_spent(log: Iterable[Stamped]) -> float:
    """Wall seconds a run was driven, without the time it waited for a person or a process."""
    spent = 0.0
    before: Stamped | None = None
    for entry in log:
        if before is not None and before.event.kind != "waiting" and entry.event.kind not in (
            "answered", "resumed"
        ):
            spent += entry.at - before.at
        before = entry
    return max(0.0, spent)
